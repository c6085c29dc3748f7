"""Optimizers and schedules of their rates, by PyTorch's names, arguments and state_dict keys."""

from __future__ import annotations

from gnomon.optim import lr_scheduler
from gnomon.optim.adagrad import Adagrad
from gnomon.optim.adam import Adam, AdamW
from gnomon.optim.optimizer import Optimizer
from gnomon.optim.rmsprop import RMSprop
from gnomon.optim.sgd import SGD

__all__ = ["Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "SGD", "lr_scheduler"]
