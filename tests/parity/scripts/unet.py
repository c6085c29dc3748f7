"""A U-Net that segments discs: skip connections, transposed convolution and interpolation."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, inside, outside, groups=2):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, padding=1, padding_mode="zeros"),
            nn.GroupNorm(groups, outside),
            nn.SiLU(),
            nn.Conv2d(outside, outside, 3, padding="same", bias=False),
            nn.BatchNorm2d(outside),
            nn.Mish(),
        )

    def forward(self, x):
        return self.body(x)


class Up(nn.Module):
    def __init__(self, inside, outside, mode):
        super().__init__()
        self.mode = mode
        if mode == "transposed":
            self.up = nn.ConvTranspose2d(inside, inside // 2, kernel_size=2, stride=2)
        else:
            self.up = nn.Conv2d(inside, inside // 2, kernel_size=1)
        self.conv = DoubleConv(inside // 2 + outside, outside)

    def forward(self, x, skip):
        if self.mode == "transposed":
            x = self.up(x)
        elif self.mode == "bilinear":
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = self.up(x)
        else:
            x = self.up(F.interpolate(x, scale_factor=2, mode="nearest"))
        dy = skip.size(2) - x.size(2)
        dx = skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class UNet(nn.Module):
    def __init__(self, channels=(6, 8, 10, 12)):
        super().__init__()
        a, b, c, d = channels
        self.enter = DoubleConv(2, a)
        self.down1 = DoubleConv(a, b)
        self.down2 = DoubleConv(b, c)
        self.down3 = DoubleConv(c, d)
        self.pool = nn.MaxPool2d(2)
        self.smooth = nn.AvgPool2d(2)
        self.up1 = Up(d, c, "nearest")
        self.up2 = Up(c, b, "bilinear")
        self.up3 = Up(b, a, "transposed")
        self.leave = nn.Conv2d(a, 1, kernel_size=1)

    def forward(self, x):
        first = self.enter(x)
        second = self.down1(self.pool(first))
        third = self.down2(F.max_pool2d(second, 2))
        bottom = self.down3(self.smooth(third))
        x = self.up1(bottom, third)
        x = self.up2(x, second)
        return self.leave(self.up3(x, first))


def dice_loss(logits, target, eps=1.0):
    guess = torch.sigmoid(logits).flatten(start_dim=1)
    target = target.flatten(start_dim=1)
    shared = torch.einsum("bn,bn->b", guess, target)
    total = guess.sum(-1) + target.sum(-1)
    return (1 - (2 * shared + eps) / (total + eps)).mean()


def make_data(dtype, count=24, size=18):
    random = np.random.default_rng(12)
    rows, columns = np.mgrid[0:size, 0:size]
    centres = random.uniform(5, size - 5, size=(count, 2, 1, 1))
    radii = random.uniform(2, 5, size=(count, 1, 1))
    masks = (rows - centres[:, 0]) ** 2 + (columns - centres[:, 1]) ** 2 < radii**2
    images = random.normal(size=(count, 2, size, size))
    images[:, 0] += 1.5 * masks
    return torch.from_numpy(images).type(dtype), torch.from_numpy(masks[:, None]).to(dtype)


def main(steps, dtype, compile, init):
    images, masks = make_data(dtype)
    model = UNet().to(dtype)
    init(model)
    head = list(model.leave.parameters())
    names = {id(p) for p in head}
    body = [p for p in model.parameters() if id(p) not in names]
    optimizer = torch.optim.Adam(
        [{"params": body}, {"params": head, "lr": 1e-2}], lr=2e-3, weight_decay=1e-5
    )
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)

    def loss_of(x, y):
        logits = model(x)
        return F.binary_cross_entropy_with_logits(logits, y) + 0.5 * dice_loss(logits, y)

    if compile:
        loss_of = torch.compile(loss_of)
    losses = []
    for step in range(steps):
        start = (step * 4) % len(images)
        loss = loss_of(images[start : start + 4], masks[start : start + 4])
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(float(loss.detach()))
    model.eval()
    with torch.inference_mode():
        guess = model(images[:4]).sigmoid().gt(0.5)
        wanted = masks[:4].bool()
        overlap = (guess & wanted).sum() / (guess | wanted).sum()
    rates = [group["lr"] for group in optimizer.param_groups]
    metrics = {"overlap": [overlap.item()], "rates": rates}
    return {"losses": losses, "state_keys": sorted(model.state_dict()), "metrics": metrics}
