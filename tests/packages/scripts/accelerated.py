"""Accelerate's loop: prepared model, optimizer, loader and schedule, with gathered metrics."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from steps import images, labels
from torch import nn

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Flatten(), nn.Linear(192, 32), nn.GELU(), nn.Linear(32, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
data = torch.utils.data.TensorDataset(images(40, 8), labels(40, 5))
loader = torch.utils.data.DataLoader(data, batch_size=4)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for number, (x, y) in enumerate(loader):
    with accelerator.accumulate(model):
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    right = accelerator.gather_for_metrics((scores.argmax(-1) == y).float()).sum()
    print(f"step {number} loss {loss.item():.6f} right {right.item():.0f}", flush=True)
print("done")
