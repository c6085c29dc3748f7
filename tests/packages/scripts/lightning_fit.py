"""Lightning's Trainer fits a small module and tests it, with a metric of torchmetrics."""

import lightning
import torch
import torch.nn.functional as F
import torchmetrics
from steps import images, labels
from torch import nn


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(192, 32), nn.ReLU(), nn.Linear(32, 5))
        self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=5)

    def training_step(self, batch, number):
        x, y = batch
        loss = F.cross_entropy(self.layers(x), y)
        self.log("train_loss", loss)
        print(f"step {number} loss {loss.item():.6f}", flush=True)
        return loss

    def test_step(self, batch, number):
        x, y = batch
        self.accuracy(self.layers(x), y)
        self.log("accuracy", self.accuracy)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


data = torch.utils.data.TensorDataset(images(40, 8), labels(40, 5))
batches = torch.utils.data.DataLoader(data, batch_size=4)
trainer = lightning.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
)
model = Classifier()
trainer.fit(model, batches)
found = trainer.test(model, batches, verbose=False)
print(f"done: accuracy {found[0]['accuracy']:.4f}")
