"""Optimizers and learning-rate schedules with PyTorch's names, arguments and states."""

from gnomon.optim import lr_scheduler
from gnomon.optim.optimizer import Optimizer
from gnomon.optim.optimizers import SGD, Adagrad, Adam, AdamW, RMSprop

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
