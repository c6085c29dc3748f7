"""LBFGS: quasi-Newton steps from the last few gradients, with an optional line search.

It decides by values, so a step runs eagerly; its closure may be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.ops.arguments import choice
from gnomon.optim.curvature import Curvature
from gnomon.optim.line_search import Point, strong_wolfe
from gnomon.optim.optimizer import Groups, Optimizer, check_range
from gnomon.optim.step_hooks import call_hooks
from gnomon.tensor.autograd.engine import enable_grad, no_grad
from gnomon.tensor.creation import zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.module_versions import Watched
from gnomon.tensor.state import is_capturing
from gnomon.tensor.tensor import Tensor, pairs_of

Loss = Callable[[], Any]
CURVED = 1e-10
"""The least curvature with which a step is used."""


def dot(x: Tensor, y: Tensor) -> float:
    """The dot product as a float."""
    return FUNCTIONS["dot"](x, y).item()


def largest(x: Tensor) -> float:
    """The largest magnitude as a float."""
    return x.abs().max().item()


class LBFGS(Optimizer):
    """LBFGS, for a smooth loss over all data; a step has up to max_iter iterations.

    >>> import gnomon as gn
    >>> p = gn.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (p * p).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item(), p.abs().max().item() < 1e-5
    (13.0, True)
    """

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_range("learning rate", lr, 0.0)
        check_range("history_size", history_size, 1)
        if line_search_fn is not None:
            choice("LBFGS", "line_search_fn", line_search_fn, ("strong_wolfe",))
        calls = max_iter * 5 // 4 if max_eval is None else max_eval
        bounds = {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        kept = {"history_size": history_size, "line_search_fn": line_search_fn}
        self._past: Curvature | None = None
        super().__init__(
            params, {"lr": lr, "max_iter": max_iter, "max_eval": calls, **bounds, **kept}
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add the only group; a second one is refused."""
        if self.param_groups:
            raise ArgumentError("LBFGS: knows one group of parameters. Make one optimizer each.")
        super().add_param_group(param_group)

    def step(self, closure: Loss | None = None, *, only_if: Tensor | None = None) -> Any:
        """Iterate until convergence or max_iter iterations; return the first loss."""
        if closure is None or only_if is not None or is_capturing():
            raise ArgumentError(
                "LBFGS: step needs a closure that computes the loss and its gradients, and no "
                "gn.compile or gradient scaler around it. Compile what the closure calls."
            )
        call_hooks(self._shared.before, self._before, self, closure)
        with no_grad():
            descent = Descent(self, enable_grad()(closure))
            loss = descent.run()
            self._past = descent.past
        call_hooks(self._after, self._shared.after, self, closure)
        return loss


class Descent:
    """One step of LBFGS, with its state and its curvature estimate."""

    def __init__(self, optimizer: LBFGS, closure: Loss) -> None:
        self.group = optimizer.param_groups[0]
        self.params, self.closure = pairs_of(self.group["params"]), closure
        first = self.group["params"][0]
        if first not in optimizer.state:
            optimizer.state[first] = Watched({"func_evals": 0, "n_iter": 0})
        self.kept = optimizer.state[first]
        past = optimizer._past
        self.past = past if past is not None and past.is_of(self.kept, self._most) else None
        self.evaluations = 0

    @property
    def _most(self) -> int:
        """The maximum number of stored steps."""
        return self.group["history_size"]

    def run(self) -> Any:
        """Iterate until a stopping condition holds; return the loss at the start."""
        first = self._evaluate()
        loss, slope = float(first), self._slope()
        for iteration in range(1, self.group["max_iter"] + 1):
            if largest(slope) <= self.group["tolerance_grad"]:
                break
            direction = self._direction(slope)
            size = self._first_size(slope)
            self.kept.update(d=direction, t=size, prev_flat_grad=slope, prev_loss=loss)
            before, along = loss, dot(slope, direction)
            if along > -self.group["tolerance_change"]:
                break
            start = Point(0.0, loss, slope, along)
            loss, slope = self._move(start, direction, size, iteration)
            if self._settled(loss - before) or iteration == self.group["max_iter"]:
                break
        return first

    def _direction(self, slope: Tensor) -> Tensor:
        """The search direction: minus the inverse Hessian estimate times the gradient."""
        kept = self.kept
        kept["n_iter"] += 1
        if kept["n_iter"] == 1:
            kept.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            self.past = None
            return -slope
        if self.past is None:
            self.past = Curvature.of(kept, self._most, slope)
        self._remember(self.past, slope - kept["prev_flat_grad"], kept["d"] * kept["t"])
        return self.past.direction(slope, kept["H_diag"])

    def _remember(self, past: Curvature, change: Tensor, step: Tensor) -> None:
        """Add a step to the curvature estimate, unless its curvature is too small."""
        curvature = dot(change, step)
        if curvature <= CURVED:
            return
        past.append(change, step, 1.0 / curvature)
        self.kept.update(past.lists())
        self.kept["H_diag"] = curvature / dot(change, change)

    def _first_size(self, slope: Tensor) -> float:
        """The initial step size of the line search."""
        rate = float(self.group["lr"])
        if self.kept["n_iter"] > 1:
            return rate
        return rate / max(1.0, slope.abs().sum().item())

    def _move(
        self, start: Point, direction: Tensor, size: float, iteration: int
    ) -> tuple[float, Tensor]:
        """Move along a direction; return the loss and the gradient at the new point."""
        if self.group["line_search_fn"] is not None:
            left = self.group["max_eval"] - self.evaluations
            origin = [p.clone() for p in self.params]
            found = strong_wolfe(
                self._probe(origin, direction), start, size, largest(direction), left
            )
            self.kept["t"] = found.size
            self._shift(found.size, direction)
            return found.loss, found.slope
        self._shift(size, direction)
        if iteration == self.group["max_iter"]:
            return start.loss, start.slope
        return float(self._evaluate()), self._slope()

    def _probe(self, origin: list[Tensor], direction: Tensor) -> Callable[[float], Point]:
        """Make a function that evaluates a point on the line and restores the parameters."""

        def at(size: float) -> Point:
            self._shift(size, direction)
            loss, slope = float(self._evaluate()), self._slope()
            for p, value in zip(self.params, origin, strict=True):
                p.copy_(value)
            return Point(size, loss, slope, dot(slope, direction))

        return at

    def _settled(self, change: float) -> bool:
        """Whether the last iteration meets a stopping condition."""
        least = self.group["tolerance_change"]
        small = largest(self.kept["d"] * self.kept["t"]) <= least or abs(change) < least
        return small or self.evaluations >= self.group["max_eval"]

    def _evaluate(self) -> Any:
        """Compute the loss and gradients at the current parameters."""
        self.evaluations += 1
        self.kept["func_evals"] += 1
        return self.closure()

    def _slope(self) -> Tensor:
        """The gradients of all parameters as one vector."""
        flat = [
            zeros(prod(p.shape), dtype=p.dtype) if p.grad is None else p.grad.reshape(-1)
            for p in self.params
        ]
        return FUNCTIONS["cat"](flat).detach().clone()

    def _shift(self, size: float, direction: Tensor) -> None:
        """Add `size` times a direction to all parameters."""
        start = 0
        for p in self.params:
            count = prod(p.shape)
            p.add_(direction[start : start + count].reshape(p.shape), alpha=size)
            start += count
