"""Optimizers and learning-rate schedules, with PyTorch's names, arguments and state_dict keys."""

from __future__ import annotations

from gnomon.lazy import modules_below
from gnomon.optim import lr_scheduler, swa_utils
from gnomon.optim.adafactor import Adafactor
from gnomon.optim.adagrad import Adagrad
from gnomon.optim.adam import Adam, AdamW
from gnomon.optim.asgd import ASGD
from gnomon.optim.lbfgs import LBFGS
from gnomon.optim.muon import Muon
from gnomon.optim.optimizer import Optimizer
from gnomon.optim.rmsprop import RMSprop
from gnomon.optim.rprop import Rprop
from gnomon.optim.sgd import SGD
from gnomon.optim.sparse_adam import SparseAdam
from gnomon.optim.step_hooks import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from gnomon.optim.variants import Adadelta, Adamax, NAdam, RAdam

__getattr__ = modules_below(__name__)

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "swa_utils",
]
