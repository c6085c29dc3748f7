"""torch.optim.lr_scheduler's names: schedules of schedules.py, and composed or adaptive ones.

OneCycleLR has phases, SequentialLR and ChainedScheduler combine other schedules, ReduceLROnPlateau
follows a measured value.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.optim.numbers import one_each
from gnomon.optim.optimizer import Optimizer
from gnomon.optim.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
    set_rate,
)
from gnomon.optim.schedules import LRScheduler as _LRScheduler  # noqa: F401 - an older name

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


def by_cosine(start: float, end: float, way: float) -> float:
    """Interpolate from start to end along half a cosine."""
    return end + (start - end) / 2.0 * (1 + math.cos(math.pi * way))


def by_line(start: float, end: float, way: float) -> float:
    """Interpolate linearly from start to end."""
    return (end - start) * way + start


class OneCycleLR(LRScheduler):
    """The 1cycle schedule: the rate rises to max_lr, then falls; momentum goes the other way."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ArgumentError(
                "You must define either total_steps OR (epochs AND steps_per_epoch)"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not (isinstance(pct_start, float) and 0 <= pct_start <= 1):
            raise ArgumentError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        if not isinstance(self.total_steps, int) or self.total_steps <= 0:
            raise ArgumentError(
                f"OneCycleLR: expected a positive number of steps, got {self.total_steps!r}."
            )
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        self.phases = phases_of(self.total_steps, pct_start, three_phase)
        if last_epoch == -1:
            highest = one_each(optimizer, "max_lr", max_lr)
            lows = one_each(optimizer, "base_momentum", base_momentum)
            highs = one_each(optimizer, "max_momentum", max_momentum)
            for group, top, low, high in zip(
                optimizer.param_groups, highest, lows, highs, strict=True
            ):
                group["max_lr"], group["initial_lr"] = top, top / div_factor
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    group["base_momentum"], group["max_momentum"] = low, high
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch; also sets their momentum."""
        if self.last_epoch > self.total_steps:
            raise ArgumentError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        ends = [phase[0] for phase in self.phases]
        number = min(bisect_left(ends, self.last_epoch), len(ends) - 1)
        start, end = ends[number - 1] if number else 0.0, ends[number]
        _, low, high, first, last = self.phases[number]
        way = (self.last_epoch - start) / (end - start)
        between = by_cosine if self.anneal_strategy == "cos" else by_line
        for group in self.optimizer.param_groups:
            if self.cycle_momentum:
                set_momentum(group, between(group[first], group[last], way))
        return [between(group[low], group[high], way) for group in self.optimizer.param_groups]


def phases_of(total: int, share: float, three: bool) -> list[tuple[float, str, str, str, str]]:
    """The end of each phase, and the group entries between which rate and momentum move."""
    rise = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three:
        fall = ("max_lr", "min_lr", "base_momentum", "max_momentum")
        return [(share * total - 1, *rise), (total - 1, *fall)]
    back = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
    last = ("initial_lr", "min_lr", "max_momentum", "max_momentum")
    return [(share * total - 1, *rise), (2 * share * total - 2, *back), (total - 1, *last)]


def set_momentum(group: dict[str, Any], value: float) -> None:
    """Set a group's momentum, or its first beta."""
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


SCALES: dict[str, Callable[[float, float], float]] = {
    "triangular": lambda gamma, cycle: 1.0,
    "triangular2": lambda gamma, cycle: 1 / 2.0 ** (cycle - 1),
    "exp_range": lambda gamma, step: gamma**step,
}
"""The amplitude of a cycle by mode, given gamma and the cycle's or the step's number."""


class CyclicLR(LRScheduler):
    """The rate cycles between base_lr and max_lr; momentum goes the other way.

    >>> import gnomon as gn
    >>> schedule = CyclicLR(gn.optim.SGD([gn.ones(1)], 1.0, momentum=0.9), 0.25, 0.75, 2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if mode not in SCALES and scale_fn is None:
            raise ArgumentError(f"mode is invalid: must be one of {tuple(SCALES)}: got {mode!r}.")
        if cycle_momentum and not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ArgumentError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.mode, self.gamma, self.scale_fn = mode, gamma, scale_fn
        by_step = scale_fn is None and mode == "exp_range"
        self.scale_mode = "iterations" if by_step else scale_mode
        self.cycle_momentum = cycle_momentum
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        lowest = one_each(optimizer, "base_lr", base_lr)
        self.max_lrs = one_each(optimizer, "max_lr", max_lr)
        lows = one_each(optimizer, "base_momentum", base_momentum)
        highs = one_each(optimizer, "max_momentum", max_momentum)
        for group, rate, low, high in zip(optimizer.param_groups, lowest, lows, highs, strict=True):
            if last_epoch == -1:
                set_rate(group, rate)
                group["initial_lr"] = rate
            if cycle_momentum:
                group["base_momentum"], group["max_momentum"] = low, high
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale(self, at: float) -> float:
        """The amplitude of a cycle relative to that of the first."""
        return SCALES[self.mode](self.gamma, at) if self.scale_fn is None else self.scale_fn(at)

    def get_lr(self) -> list[float]:
        """Each group's rate at last_epoch; also sets their momentum."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        up = x <= self.step_ratio
        height = x / self.step_ratio if up else (x - 1) / (self.step_ratio - 1)
        top = self.scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                low, high = group["base_momentum"], group["max_momentum"]
                set_momentum(group, high - (high - low) * height * top)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height * top for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """The schedule's state, without the optimizer and a custom scale_fn."""
        return {k: v for k, v in super().state_dict().items() if k != "scale_fn"}


class SequentialLR(LRScheduler):
    """Schedules one after another, switched at milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                "SequentialLR expects number of schedulers provided to be one more than the number "
                f"of milestone points, but got number of schedulers {len(schedulers)} and the "
                f"number of milestones to be equal to {len(milestones)}"
            )
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for scheduler in self._schedulers:
            rewind(scheduler)
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number and self._milestones[number - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """The states of all schedules, without the optimizer."""
        return state_of_parts(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the states of all schedules."""
        load_parts(self, state_dict)


def rewind(scheduler: LRScheduler) -> None:
    """Undo the initial step of a schedule's constructor."""
    scheduler.last_epoch -= 1
    scheduler._step_count = 0
    for part in getattr(scheduler, "_schedulers", ()):
        rewind(part)


def state_of_parts(scheduler: LRScheduler) -> dict[str, Any]:
    """The state of a schedule of schedules."""
    known = {k: v for k, v in scheduler.__dict__.items() if k not in ("optimizer", "_schedulers")}
    return {**known, "_schedulers": [part.state_dict() for part in scheduler._schedulers]}


def load_parts(scheduler: LRScheduler, known: dict[str, Any]) -> None:
    """Load the state of a schedule of schedules."""
    scheduler.__dict__.update({k: v for k, v in known.items() if k != "_schedulers"})
    for part, loaded in zip(scheduler._schedulers, known["_schedulers"], strict=True):
        part.load_state_dict(loaded)


class ChainedScheduler(LRScheduler):
    """Schedules applied together: each changes the rate that the previous one set."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ArgumentError("ChainedScheduler expects at least one scheduler.")
        self.optimizer = optimizer or schedulers[0].optimizer
        self._schedulers = list(schedulers)
        self.last_epoch, self._last_lr = 0, self.rates

    def step(self, epoch: int | None = None) -> None:
        """Advance all schedules to the next epoch."""
        self.last_epoch += 1
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self.rates

    def state_dict(self) -> dict[str, Any]:
        """The states of all schedules, without the optimizer."""
        return state_of_parts(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the states of all schedules."""
        load_parts(self, state_dict)


class ReduceLROnPlateau(LRScheduler):
    """The rate is multiplied by a factor when a metric has stopped improving."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ArgumentError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ArgumentError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.min_lrs = one_each(optimizer, "min_lr", min_lr)
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self.rates

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Take a new value of the metric, and reduce the rate if it has not improved for long."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self.is_better(value, self.best)
        self.best = value if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.rates

    def is_better(self, value: float, best: float) -> bool:
        """Whether a value improves on the best by more than the threshold."""
        sign = 1.0 if self.mode == "max" else -1.0
        if self.threshold_mode == "rel":
            return sign * value > sign * best * (1.0 + sign * self.threshold)
        return sign * value > sign * best + self.threshold

    def _reduce(self) -> None:
        """Reduce each group's rate, unless the change is at most eps."""
        rates = [float(rate) for rate in self.rates]
        if len(rates) != len(self.min_lrs):  # a group was added since
            least = self.min_lrs if self.default_min_lr is None else self.default_min_lr
            self.min_lrs = one_each(self.optimizer, "min_lr", least)
        lower = [
            max(rate * self.factor, least) for rate, least in zip(rates, self.min_lrs, strict=True)
        ]
        pairs = zip(rates, lower, strict=True)
        self._set([new if rate - new > self.eps else rate for rate, new in pairs])
