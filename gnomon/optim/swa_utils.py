"""torch.optim.swa_utils' names: averages of a model's weights over training."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from gnomon.optim.numbers import one_each
from gnomon.optim.optimizer import Optimizer
from gnomon.optim.schedules import LRScheduler
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import zeros
from gnomon.tensor.tensor import Tensor

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Make an exponential moving average; decay is the weight of the old average."""

    def average(kept: Tensor, current: Tensor, number: Any) -> Tensor:
        return decay * kept + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Make an exponential moving average of all parameters in one call."""
    average = get_ema_avg_fn(decay)

    def averages(kept: Sequence[Tensor], current: Sequence[Tensor], number: Any) -> None:
        for old, new in zip(kept, current, strict=True):
            old.copy_(average(old, new, number))

    return averages


def get_swa_avg_fn() -> Average:
    """Make an equal-weight average."""

    def average(kept: Tensor, current: Tensor, number: Any) -> Tensor:
        return kept + (current - kept) / (number + 1)

    return average


class AveragedModel(Module):
    """A copy of a model whose parameters are averages over time, with equal weights by default."""

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
        """Call the averaged model."""
        return self.module(*inputs, **named)

    def _averaged(self, model: Module) -> list[Tensor]:
        """The parameters of a model, and its buffers if they are averaged."""
        buffers = model.buffers() if self.use_buffers else ()
        return list(chain(model.parameters(), buffers))

    def update_parameters(self, model: Module) -> None:
        """Add a model's parameters to the averages."""
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
    """Recompute the running statistics of batch norms by one pass over batches."""
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


SHARES: dict[str, Callable[[float], float]] = {
    "cos": lambda way: (1 - math.cos(math.pi * way)) / 2,
    "linear": lambda way: way,
}
"""The weight of swa_lr after a fraction of the annealing."""


class SWALR(LRScheduler):
    """The rate moves to swa_lr within anneal_epochs, and stays there.

    >>> import gnomon as gn
    >>> schedule = SWALR(gn.optim.SGD([gn.ones(1)], 1.0), 0.5, 2, "linear")
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in SHARES:
            raise ArgumentError(
                f"anneal_strategy must be one of {tuple(SHARES)}: got {anneal_strategy!r}."
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentError(f"anneal_epochs must be 0 or more: got {anneal_epochs}.")
        rates = one_each(optimizer, "swa_lr", swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate, even if another schedule has changed it."""
        step = max(self._step_count - 1, int(self.anneal_epochs == 0))
        ways = (min(1, max(0, at) / max(1, self.anneal_epochs)) for at in (step - 1, step))
        before, now = map(SHARES[self.anneal_strategy], ways)
        found = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            found.append(last * now + first * (1 - now))
        return found
