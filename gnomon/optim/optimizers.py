"""The optimizers: how one parameter takes a step, in PyTorch's order of operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gnomon.dtypes import float64
from gnomon.errors import ArgumentError
from gnomon.optim.optimizer import Group, Optimizer, counter, narrowed, zeros_of
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor, from_array


def not_negative(**named: Any) -> None:
    """Refuse negative options."""
    for name, value in named.items():
        if not isinstance(value, Tensor) and not value >= 0:
            raise ArgumentError(f"optimizer: Invalid {name}: {value}. It must not be negative.")


class SGD(Optimizer):
    """Steps against the gradient, with momentum where it is asked for."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening}
        defaults |= {"weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize}
        defaults |= {"foreach": foreach, "differentiable": differentiable, "fused": fused}
        super().__init__(params, defaults)

    def first_state(self, p: Tensor, group: Group) -> dict[str, Any]:
        """An empty place for the momentum."""
        return {"momentum_buffer": None} if group["momentum"] else {}

    def update(self, p: Tensor, gradient: Tensor, kept: dict[str, Any], options: Group) -> None:
        """p − lr · (momentum of) gradient."""
        if options["weight_decay"]:
            gradient = gradient + p * options["weight_decay"]
        momentum = options["momentum"]
        if momentum:
            before = kept.get("momentum_buffer")
            if before is None:
                kept["momentum_buffer"] = after = gradient.clone()
            else:
                after = before.mul_(momentum).add_(gradient * (1 - options["dampening"]))
            gradient = gradient + after * momentum if options["nesterov"] else after
        p.sub_(gradient * narrowed(options["lr"], p))


class Adam(Optimizer):
    """Steps scaled by running means of gradients and of their squares."""

    DECOUPLED = False

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        for k, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ArgumentError(f"Invalid beta parameter at index {k}: {beta}")
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}
        defaults |= {"amsgrad": amsgrad, "maximize": maximize, "foreach": foreach}
        defaults |= {"capturable": capturable, "differentiable": differentiable, "fused": fused}
        super().__init__(params, defaults)

    def first_state(self, p: Tensor, group: Group) -> dict[str, Any]:
        """No steps, and means of nothing."""
        kept = {"step": counter(), "exp_avg": zeros_of(p), "exp_avg_sq": zeros_of(p)}
        return kept | ({"max_exp_avg_sq": zeros_of(p)} if group["amsgrad"] else {})

    def update(self, p: Tensor, gradient: Tensor, kept: dict[str, Any], options: Group) -> None:
        """p − lr · mean / (root of mean square + eps), both means corrected for their start."""
        first, second = options["betas"]
        if options["weight_decay"] and self.DECOUPLED:
            p.mul_(narrowed(1 - options["lr"] * options["weight_decay"], p))
        elif options["weight_decay"]:
            gradient = gradient + p * options["weight_decay"]
        step = kept["step"].add_(1).to(float64)
        mean = kept["exp_avg"].lerp_(gradient, 1 - first)
        square = kept["exp_avg_sq"].mul_(second).add_(gradient * gradient * (1 - second))
        if options["amsgrad"]:
            largest = kept["max_exp_avg_sq"]
            square = largest.copy_(FUNCTIONS["maximum"](largest, square))
        root = narrowed((1 - second**step).sqrt(), p)
        size = narrowed(options["lr"] / (1 - first**step), p)
        p.sub_(mean / (square.sqrt() / root + options["eps"]) * size)


class AdamW(Adam):
    """Adam whose weight decay acts on the parameter and not through the means."""

    DECOUPLED = True

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **more)


class Adagrad(Optimizer):
    """Steps scaled by the sum of squared gradients so far."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)
        defaults = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        defaults |= {"initial_accumulator_value": initial_accumulator_value}
        defaults |= {"foreach": foreach, "maximize": maximize}
        defaults |= {"differentiable": differentiable, "fused": fused}
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self.first_state(p, group)

    def first_state(self, p: Tensor, group: Group) -> dict[str, Any]:
        """No steps, and the first sum."""
        start = np.full(tuple(p.shape), group["initial_accumulator_value"], p.dtype.numpy)
        return {"step": counter(), "sum": from_array(start)}

    def update(self, p: Tensor, gradient: Tensor, kept: dict[str, Any], options: Group) -> None:
        """p − lr · gradient / (root of sum + eps)."""
        if options["weight_decay"]:
            gradient = gradient + p * options["weight_decay"]
        step = kept["step"].add_(1).to(float64)
        size = narrowed(options["lr"] / (1 + (step - 1) * options["lr_decay"]), p)
        total = kept["sum"].add_(gradient * gradient)
        p.sub_(gradient / (total.sqrt() + options["eps"]) * size)


class RMSprop(Optimizer):
    """Steps scaled by a running mean of squared gradients."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum)
        defaults = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps}
        defaults |= {"centered": centered, "weight_decay": weight_decay, "foreach": foreach}
        defaults |= {"capturable": capturable, "maximize": maximize}
        super().__init__(params, defaults | {"differentiable": differentiable})

    def first_state(self, p: Tensor, group: Group) -> dict[str, Any]:
        """No steps, and means of nothing."""
        kept = {"step": counter(), "square_avg": zeros_of(p)}
        kept |= {"momentum_buffer": zeros_of(p)} if group["momentum"] > 0 else {}
        return kept | ({"grad_avg": zeros_of(p)} if group["centered"] else {})

    def update(self, p: Tensor, gradient: Tensor, kept: dict[str, Any], options: Group) -> None:
        """p − lr · gradient / (root of mean square + eps)."""
        kept["step"].add_(1)
        if options["weight_decay"]:
            gradient = gradient + p * options["weight_decay"]
        alpha = options["alpha"]
        square = kept["square_avg"].mul_(alpha).add_(gradient * gradient * (1 - alpha))
        if options["centered"]:
            mean = kept["grad_avg"].lerp_(gradient, 1 - alpha)
            square = square - mean * mean
        change = gradient / (square.sqrt() + options["eps"])
        if options["momentum"] > 0:
            change = kept["momentum_buffer"].mul_(options["momentum"]).add_(change)
        p.sub_(change * narrowed(options["lr"], p))
