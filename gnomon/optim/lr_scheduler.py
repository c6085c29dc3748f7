"""Learning-rate schedules: after each step() the groups' rates are what the schedule says.

Closed forms are written per class in `rate`; those that follow the rate as it is are in `next`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.optim.optimizer import Optimizer


class LRScheduler:
    """Base: counts steps and writes rates to the optimizer's groups."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._initial_step()

    def _initial_step(self) -> None:
        self.step()

    def step(self, epoch: int | None = None) -> None:
        """Count one step and set the rates."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.put(self.get_lr())

    def put(self, rates: Sequence[float]) -> None:
        """Write rates to the groups."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def rates(self) -> list[float]:
        """The groups' rates now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        """The rates of the step that was counted last."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "optimizer" and not callable(value)
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The first rate times a function of the step."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != count:
            raise ArgumentError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """First rates times the function."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        return {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}


class MultiplicativeLR(LambdaLR):
    """Every rate is the one before times a function of the step."""

    def get_lr(self) -> list[float]:
        """Rates times the function."""
        if self.last_epoch <= 0:
            return self.rates()
        pairs = zip(self.rates(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]


class StepLR(LRScheduler):
    """The rate shrinks every step_size steps."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates, smaller at every multiple."""
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self.rates()
        return [rate * self.gamma for rate in self.rates()]


class MultiStepLR(LRScheduler):
    """The rate shrinks at each milestone."""

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
        """Rates, smaller at a milestone."""
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self.rates()]


class ConstantLR(LRScheduler):
    """A share of the rate for the first steps, then all of it."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates, scaled at the first step and back at the last."""
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self.rates()]
        if self.last_epoch == self.total_iters:
            return [rate / self.factor for rate in self.rates()]
        return self.rates()


class LinearLR(LRScheduler):
    """The rate's share moves along a line."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates times what the line gained."""
        start, end, total = self.start_factor, self.end_factor, self.total_iters
        if self.last_epoch == 0:
            return [rate * start for rate in self.rates()]
        if self.last_epoch > total:
            return self.rates()
        gained = 1 + (end - start) / (total * start + (self.last_epoch - 1) * (end - start))
        return [rate * gained for rate in self.rates()]


class ExponentialLR(LRScheduler):
    """Every rate is the one before times gamma."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates times gamma."""
        if self.last_epoch == 0:
            return self.rates()
        return [rate * self.gamma for rate in self.rates()]


class PolynomialLR(LRScheduler):
    """The rate falls to 0 by a power."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates times what the power lost."""
        here, total = self.last_epoch, self.total_iters
        if here == 0 or here > total:
            return self.rates()
        lost = ((1.0 - here / total) / (1.0 - (here - 1) / total)) ** self.power
        return [rate * lost for rate in self.rates()]


class CosineAnnealingLR(LRScheduler):
    """The rate falls along half a cosine, and rises again after."""

    def __init__(
        self, optimizer: Optimizer, T_max: float, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates times what the cosine changed, so that changes made by others stay."""
        here, period, low = self.last_epoch, self.T_max, self.eta_min
        if here == 0:
            return self.rates()
        pairs = zip(self.base_lrs, self.rates(), strict=True)
        if (here - 1 - period) % (2 * period) == 0:
            rise = (1 - math.cos(math.pi / period)) / 2
            return [rate + (base - low) * rise for base, rate in pairs]
        change = (1 + math.cos(math.pi * here / period)) / (
            1 + math.cos(math.pi * (here - 1) / period)
        )
        return [change * (rate - low) + low for _, rate in pairs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines, each longer than the one before."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: int | None = None) -> None:
        """Count one step; start anew after a half cosine."""
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
        super().step(epoch)

    def get_lr(self) -> list[float]:
        """The cosine's rates."""
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """The rate rises to a peak and falls to almost nothing."""

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
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ArgumentError("OneCycleLR: give total_steps, or epochs and steps_per_epoch.")
        self.total_steps = total_steps or epochs * steps_per_epoch
        self.linear = anneal_strategy == "linear"
        groups = optimizer.param_groups
        peaks = [max_lr] * len(groups) if isinstance(max_lr, (int, float)) else list(max_lr)
        for group, peak in zip(groups, peaks, strict=True):
            group["initial_lr"] = peak / div_factor
            group["max_lr"], group["min_lr"] = peak, peak / div_factor / final_div_factor
        self.turn = float(pct_start * self.total_steps) - 1
        self.momenta = (max_momentum, base_momentum)
        self.cycles = cycle_momentum and any("momentum" in g or "betas" in g for g in groups)
        super().__init__(optimizer, last_epoch)

    def between(self, start: float, end: float, share: float) -> float:
        """A value on the way from start to end."""
        if self.linear:
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[float]:
        """The rates on the way up or down."""
        here = self.last_epoch
        if here >= self.total_steps:
            raise ArgumentError(
                f"OneCycleLR: tried to step {here} times: the specified number of total steps is "
                f"{self.total_steps}."
            )
        rising = here <= self.turn
        share = (
            here / self.turn if rising else (here - self.turn) / (self.total_steps - 1 - self.turn)
        )
        rates = []
        for group in self.optimizer.param_groups:
            ends = ("initial_lr", "max_lr") if rising else ("max_lr", "min_lr")
            rates.append(self.between(group[ends[0]], group[ends[1]], share))
            if self.cycles:
                high, low = self.momenta
                momentum = self.between(*((high, low) if rising else (low, high)), share)
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum
        return rates


class SequentialLR(LRScheduler):
    """One schedule after another, changing at milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError("SequentialLR: needs one milestone between every two schedulers.")
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Count one step of the schedule whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            restart(scheduler)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """The states of all schedules."""
        return {
            "last_epoch": self.last_epoch,
            "_last_lr": self._last_lr,
            "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from saved states."""
        saved = dict(state_dict)
        pairs = zip(self._schedulers, saved.pop("_schedulers"), strict=True)
        for scheduler, its_state in pairs:
            scheduler.load_state_dict(its_state)
        self.__dict__.update(saved)


def restart(scheduler: LRScheduler) -> None:
    """Begin a schedule at its step 0."""
    scheduler.last_epoch = -1
    scheduler.step()


class ChainedScheduler(LRScheduler):
    """Several schedules at once."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self._schedulers = list(schedulers)
        self.optimizer = optimizer or self._schedulers[0].optimizer
        self._last_lr = self.rates()

    def step(self, epoch: int | None = None) -> None:
        """Count one step of all."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self.rates()


class ReduceLROnPlateau(LRScheduler):
    """The rate shrinks when a measure stops to improve."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ArgumentError("Factor should be < 1.0.")
        self.optimizer, self.factor, self.patience = optimizer, factor, patience
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs, self.cooldown_counter, self.last_epoch = 0, 0, 0
        self._last_lr = self.rates()

    def better(self, value: float) -> bool:
        """Whether a measure improves on the best by the threshold."""
        down = self.mode == "min"
        margin = self.threshold if self.threshold_mode == "abs" else abs(self.best) * self.threshold
        if math.isinf(self.best):
            return value < self.best if down else value > self.best
        return value < self.best - margin if down else value > self.best + margin

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # noqa: D102
        self.last_epoch += 1
        value = float(metrics)
        if self.better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.shrink()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.rates()

    def shrink(self) -> None:
        """Lower every rate that would change by more than eps."""
        for group in self.optimizer.param_groups:
            lower = max(group["lr"] * self.factor, self.min_lr)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower
