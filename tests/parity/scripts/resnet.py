"""A small residual network with batch normalization; the training step is compiled."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    def __init__(self, inside, outside, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(
                nn.Conv2d(inside, outside, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(outside),
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, classes, widths=(8, 12, 16)):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, widths[0], 3, padding=1),
            nn.BatchNorm2d(widths[0], momentum=0.2),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        self.layer1 = self._make_layer(widths[0], widths[0], 1, 1)
        self.layer2 = self._make_layer(widths[0], widths[1], 1, 2)
        self.layer3 = self._make_layer(widths[1], widths[2], 1, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(widths[-1], classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)

    def _make_layer(self, inside, outside, blocks, stride):
        layers = [BasicBlock(inside, outside, stride)]
        layers.extend(BasicBlock(outside, outside) for _ in range(1, blocks))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.stem(x)
        x = self.layer3(self.layer2(self.layer1(x)))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


def make_data(dtype, count=64, size=16):
    random = np.random.default_rng(7)
    labels = random.integers(0, 4, size=count)
    images = random.normal(size=(count, 3, size, size))
    rows = np.arange(size)[:, None] / size
    for row, label in enumerate(labels):
        images[row, label % 3] += 2.0 * np.sin((label + 1) * 3.0 * rows)
    return torch.tensor(images, dtype=dtype), torch.tensor(labels, dtype=torch.long)


@torch.no_grad()
def evaluate(model, images, labels):
    model.eval()
    logits = model(images)
    loss = F.cross_entropy(logits, labels)
    right = (logits.argmax(dim=1) == labels).sum().item()
    model.train()
    return loss.item(), right / len(labels)


def main(steps, dtype, compile, init):
    images, labels = make_data(dtype)
    loader = DataLoader(TensorDataset(images[:48], labels[:48]), batch_size=16, shuffle=False)
    model = ResNet(4).to(dtype)
    init(model)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[20, 35], gamma=0.5)
    seen = []
    handle = model.avgpool.register_forward_hook(
        lambda module, inputs, output: seen.append(output.detach().abs().max().item())
    )

    def train_step(x, y):
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        return loss

    with torch.no_grad():
        model.eval()
        model(images[:4])
        handle.remove()
        model.train()
    step_function = torch.compile(train_step) if compile else train_step
    losses, held = [], []
    while len(losses) < steps:
        for x, y in loader:
            if len(losses) >= steps:
                break
            loss = step_function(x, y)
            losses.append(loss.item())
            scheduler.step()
        held.extend(evaluate(model, images[48:], labels[48:]))
    assert int(model.stem[1].num_batches_tracked) == steps
    running = model.layer3[0].bn2.running_var.tolist()
    metrics = {"held_out": held, "seen": seen, "running": running}
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": metrics}
