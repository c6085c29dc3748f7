"""Lightning's Trainer over two processes, which it starts itself as commands of this file."""

import lightning
import torch
import torch.nn.functional as F
from steps import images, labels
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(192, 32), nn.ReLU(), nn.Linear(32, 5))
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(torch.linspace(-0.1, 0.1, p.numel()).reshape(p.shape).cos() - 0.997)

    def training_step(self, batch, number):
        x, y = batch
        loss = F.cross_entropy(self.layers(x), y)
        self.log("train_loss", loss, sync_dist=True, on_epoch=True)
        if self.global_rank == 0:
            print(f"step {number} loss {loss.item():.6f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5, momentum=0.9)

    def train_dataloader(self):
        data = TensorDataset(images(80, 8), labels(80, 5))
        sampler = DistributedSampler(data, shuffle=False)
        return DataLoader(data, batch_size=4, sampler=sampler)


if __name__ == "__main__":
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        strategy="ddp",
        devices=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        use_distributed_sampler=False,
    )
    trainer.fit(Classifier())
    if trainer.is_global_zero:
        print(f"done: mean loss {trainer.callback_metrics['train_loss_epoch']:.6f}", flush=True)
