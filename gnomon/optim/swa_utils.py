"""Averages of a model over its training: torch.optim.swa_utils' names."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from gnomon.nn.module import Module
from gnomon.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.creation import zeros
from gnomon.tensor.tensor import Tensor

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A running average: it keeps so much of what it was."""

    def average(kept: Tensor, current: Tensor, number: Any) -> Tensor:
        return decay * kept + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """The same for all parameters at once."""
    average = get_ema_avg_fn(decay)

    def averages(kept: Sequence[Tensor], current: Sequence[Tensor], number: Any) -> None:
        for old, new in zip(kept, current, strict=True):
            old.copy_(average(old, new, number))

    return averages


def get_swa_avg_fn() -> Average:
    """The plain mean of all that were seen."""

    def average(kept: Tensor, current: Tensor, number: Any) -> Tensor:
        return kept + (current - kept) / (number + 1)

    return average


class AveragedModel(Module):
    """A copy of a model whose parameters are averages over time; the plain mean by default."""

    def __init__(
        self,
        model: Module,
        device: object = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", zeros((), dtype="int64"))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*inputs, **named)

    def _averaged(self, model: Module) -> list[Tensor]:
        """What is averaged of a model."""
        buffers = model.buffers() if self.use_buffers else ()
        return list(chain(model.parameters(), buffers))

    def update_parameters(self, model: Module) -> None:
        """Take a model's parameters into the averages."""
        with no_grad():
            kept, current = self._averaged(self.module), self._averaged(model)
            if self.multi_avg_fn is not None:
                self.multi_avg_fn(kept, current, self.n_averaged)
            else:
                average = self.avg_fn or get_swa_avg_fn()
                for old, new in zip(kept, current, strict=True):
                    old.copy_(average(old, new, self.n_averaged))
            first = self.n_averaged == 0  # asked in the program: inside gn.compile it is not known
            for old, new in zip(kept, current, strict=True):
                old.copy_(new.where(first, old))
            if not self.use_buffers:
                pairs = zip(self.module.buffers(), model.buffers(), strict=True)
                for old, new in pairs:
                    old.copy_(new)
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: object = None) -> None:
    """Measure the statistics of batch norms anew, by one pass over batches."""
    norms = [m for m in model.modules() if isinstance(m, (BatchNorm1d, BatchNorm2d, BatchNorm3d))]
    momenta = [m.momentum for m in norms]
    training = model.training
    for module in norms:
        module.reset_running_stats()
        module.momentum = None
    model.train()
    with no_grad():
        for batch in loader:
            model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for module, momentum in zip(norms, momenta, strict=True):
        module.momentum = momentum
    model.train(training)
