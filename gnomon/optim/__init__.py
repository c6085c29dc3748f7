"""Optimizers and schedules of their rates, by PyTorch's names, arguments and state_dict keys."""

from __future__ import annotations

from gnomon.optim import lr_scheduler, swa_utils
from gnomon.optim.adagrad import Adagrad
from gnomon.optim.adam import Adam, AdamW
from gnomon.optim.optimizer import Optimizer
from gnomon.optim.rmsprop import RMSprop
from gnomon.optim.sgd import SGD
from gnomon.optim.variants import Adadelta, Adamax, NAdam, RAdam

__all__ = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "SGD",
    "lr_scheduler",
    "swa_utils",
]
