"""Learning-rate schedules by formulas, with PyTorch's names, arguments and rates.

Composed and adaptive ones are in lr_scheduler.py. Most compute a rate from the previous one, so a
rate that was changed by hand stays changed.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from inspect import isroutine
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.ir.provenance import user_site
from gnomon.optim.numbers import one_each
from gnomon.optim.optimizer import Optimizer
from gnomon.tensor.state import is_capturing, state
from gnomon.tensor.tensor import Tensor


def at_the_end(step: Callable[..., None]) -> Callable[..., None]:
    """Make a schedule's step wait, inside gn.compile, for the end of each run."""

    @functools.wraps(step)
    def waits(self: LRScheduler, *args: Any, **named: Any) -> None:
        measured = any(isinstance(x, Tensor) for x in (*args, *named.values()))
        call = functools.partial(step, self, *args, **named)
        if measured:
            call()
        else:
            state.recorder.at_end(self.optimizer.param_groups, call)

    return waits


class LRScheduler:
    """The base of schedules; get_lr() computes each group's rate at last_epoch."""

    _followed = None
    """Captures need not guard any attribute, since a replay repeats the steps."""
    _is_initial = False
    """Whether the constructor's first step is running; most schedules then keep the rates."""

    def __init_subclass__(cls) -> None:
        if "step" in cls.__dict__:
            cls.step = at_the_end(cls.step)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied_rate(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    "param 'initial_lr' is not specified in param_groups"
                    f"[{number}] when resuming an optimizer"
                )
        self.base_lrs = [copied_rate(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Take the initial step of the constructor."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    @property
    def rates(self) -> list[float]:
        """Each group's current rate, tensors as copies."""
        return [copied_rate(group["lr"]) for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        raise NotImplementedError

    def closed_form(self) -> list[float] | None:
        """Each group's rate at last_epoch from the initial rates; None if there is no formula."""
        return None

    def get_last_lr(self) -> list[float]:
        """The rates that the last step set."""
        if is_capturing():
            raise ArgumentError(
                "get_last_lr: rates are no part of a compiled function. Ask for them outside."
                f"   [{user_site()}]"
            )
        return self._last_lr

    @at_the_end
    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to a given one, and set the rates."""
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        known = None if epoch is None else self.closed_form()
        self._set(self.get_lr() if known is None else known)

    def _set(self, rates: Sequence[float]) -> None:
        """Set each group's rate."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self.rates

    def state_dict(self) -> dict[str, Any]:
        """The schedule's state, without the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load another schedule's state."""
        self.__dict__.update(state_dict)


def copied_rate(rate: float | Tensor) -> float | Tensor:
    """A copy of a rate if it is a tensor, else the rate."""
    return rate.detach().clone() if isinstance(rate, Tensor) else rate


def set_rate(group: dict[str, Any], rate: float | Tensor) -> None:
    """Set a group's rate; a tensor is changed in place."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(copied_rate(rate))
    else:
        group["lr"] = rate


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.lr_lambdas = one_each(optimizer, "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]

    def state_dict(self) -> dict[str, Any]:
        """The schedule's state without the optimizer; callable objects are saved by their state."""
        known = super().state_dict()
        return {**known, "lr_lambdas": [known_to(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load another schedule's state; callable objects get their saved attributes."""
        known = dict(state_dict)
        for function, kept in zip(self.lr_lambdas, known.pop("lr_lambdas", ()), strict=False):
            if kept is not None:
                vars(function).update(kept)
        super().load_state_dict(known)


def known_to(function: Any) -> dict[str, Any] | None:
    """The attributes of a callable object; None for a plain function."""
    return None if isroutine(function) else {**vars(function)}


class MultiplicativeLR(LambdaLR):
    """The previous rate times a function of the epoch."""

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        if self._is_initial:
            return self.rates
        pairs = zip(self.lr_lambdas, self.rates, strict=True)
        return [rate * function(self.last_epoch) for function, rate in pairs]


class StepLR(LRScheduler):
    """The rate is multiplied by gamma every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self.rates
        return [rate * self.gamma for rate in self.rates]

    def closed_form(self) -> list[float]:
        """Each group's rate at last_epoch from the initial rates."""
        return [b * self.gamma ** (self.last_epoch // self.step_size) for b in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate is multiplied by gamma at given epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self.rates]

    def closed_form(self) -> list[float]:
        """Each group's rate at last_epoch from the initial rates."""
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load another schedule's state; older files have milestones as a dict."""
        super().load_state_dict({**state_dict, "milestones": Counter(state_dict["milestones"])})


class ExponentialLR(LRScheduler):
    """The rate is multiplied by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        return self.rates if self._is_initial else [rate * self.gamma for rate in self.rates]

    def closed_form(self) -> list[float]:
        """Each group's rate at last_epoch from the initial rates."""
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate is multiplied by a factor until total_iters, then restored."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ArgumentError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self.rates]
        if self.last_epoch == self.total_iters:
            return [rate / self.factor for rate in self.rates]
        return self.rates

    def closed_form(self) -> list[float]:
        """Each group's rate at last_epoch from the initial rates."""
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that changes linearly until total_iters."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ArgumentError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def factor_at(self, epoch: int) -> float:
        """The factor at an epoch."""
        way = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * way

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self.rates]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self.rates
        change = self.factor_at(self.last_epoch) / self.factor_at(self.last_epoch - 1)
        return [rate * change for rate in self.rates]

    def closed_form(self) -> list[float]:
        """Each group's rate at last_epoch from the initial rates."""
        return [base * self.factor_at(self.last_epoch) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate falls to 0 at total_iters, by a power of the remaining fraction."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return self.rates
        now, before = (1.0 - k / self.total_iters for k in (self.last_epoch, self.last_epoch - 1))
        return [rate * (now / before) ** self.power for rate in self.rates]

    def closed_form(self) -> list[float]:
        """Each group's rate at last_epoch from the initial rates."""
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """The rate follows a cosine that reaches eta_min at T_max."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def height(self, epoch: int) -> float:
        """One plus the cosine at an epoch, from 2 down to 0."""
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        if self._is_initial:
            return self.rates
        if self._step_count == 1 and self.last_epoch > 0:
            return self.closed_form()
        pairs = list(zip(self.rates, self.base_lrs, strict=True))
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for rate, base in pairs]
        change = self.height(self.last_epoch) / self.height(self.last_epoch - 1)
        return [change * (rate - self.eta_min) + self.eta_min for rate, _ in pairs]

    def closed_form(self) -> list[float]:
        """Each group's rate at last_epoch from the initial rates."""
        height = self.height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing with restarts, each period T_mult times as long as the last."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or T_mult < 1:
            raise ArgumentError(f"Expected positive T_0 and T_mult >= 1, but got {T_0}, {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i, self.T_cur = T_0, last_epoch
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        """Advance by one epoch, or to a given one, which may be a fraction."""
        self._step_count += 1
        epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_epoch = math.floor(epoch)
        self.T_i, self.T_cur = self.T_0, epoch % self.T_0 if self.T_mult == 1 else epoch
        while self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self._set(self.get_lr())

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch."""
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]
