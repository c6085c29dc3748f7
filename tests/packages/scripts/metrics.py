"""Metrics of torchmetrics over ten batches, each printed as it stands after the batch."""

import numpy as np
import torch
import torchmetrics
from torchmetrics.classification import MulticlassAUROC, MulticlassConfusionMatrix

rng = np.random.default_rng(5)
kept = torchmetrics.MetricCollection(
    {
        "accuracy": torchmetrics.Accuracy(task="multiclass", num_classes=5),
        "f1": torchmetrics.F1Score(task="multiclass", num_classes=5, average="macro"),
        "auroc": MulticlassAUROC(num_classes=5),
    }
)
table = MulticlassConfusionMatrix(num_classes=5)
error = torchmetrics.MeanSquaredError()
for step in range(10):
    scores = torch.from_numpy(rng.random((20, 5)).astype(np.float32)).softmax(-1)
    y = torch.from_numpy(rng.integers(0, 5, 20))
    kept.update(scores, y)
    table.update(scores, y)
    error.update(scores[:, 0], y.float())
    found = kept.compute()
    for name in ("accuracy", "f1", "auroc"):
        print(f"step {step} {name} as loss {found[name].item():.6f}", flush=True)
print(table.compute().tolist(), f"loss {error.compute().item():.6f}")
print("done")
