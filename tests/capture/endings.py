"""Functions that keep tensors somewhere and then end in an error. Not a test."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gnomon as gn
from gnomon import nn

Keep = Callable[[gn.Tensor], None]
Keeper = tuple[Keep, Callable[[], Any]]

KEPT = gn.ones(2)


def ending(keep: Keep, way: str) -> Callable:
    """A function that keeps tensors and ends in one of several ways."""
    at = gn.tensor([7])

    def step(x):
        keep(x)
        if way == "raise":
            raise KeyError("by itself")
        if way == "interrupt":
            raise KeyboardInterrupt
        if way == "generator":
            return (x for _ in range(2))
        if way == "branch" and x.sum() > 0:
            return x
        return x[at]

    return step


def by_nonlocal() -> Keeper:
    """In a variable of a closure."""
    kept = gn.ones(2)

    def keep(x: gn.Tensor) -> None:
        nonlocal kept
        kept = x * 2

    return keep, lambda: kept.tolist()


def by_global() -> Keeper:
    """In a variable of a file."""
    global KEPT
    KEPT = gn.ones(2)

    def keep(x: gn.Tensor) -> None:
        global KEPT
        KEPT = x * 2

    return keep, lambda: KEPT.tolist()


def by_new_global() -> Keeper:
    """In a variable of a file that had none."""
    globals().pop("NEW", None)

    def keep(x: gn.Tensor) -> None:
        global NEW
        NEW = x * 2

    return keep, lambda: NEW.tolist() if "NEW" in globals() else None


def by_attribute() -> Keeper:
    """In attributes, one of them new."""
    box = SimpleNamespace(a=gn.ones(2))

    def keep(x: gn.Tensor) -> None:
        box.a = x * 2
        box.b = x * 3

    return keep, lambda: {name: t.tolist() for name, t in vars(box).items()}


def by_dictionary() -> Keeper:
    """In a dictionary, one of them new."""
    box = {"a": gn.ones(2)}

    def keep(x: gn.Tensor) -> None:
        box["a"] = x * 2
        box["b"] = x * 3

    return keep, lambda: {name: t.tolist() for name, t in box.items()}


def by_list() -> Keeper:
    """In a list, two of them new."""
    box = [gn.ones(2)]

    def keep(x: gn.Tensor) -> None:
        box[0] = x * 2
        box.append(x * 3)
        box.append(x * 4)

    return keep, lambda: [t.tolist() for t in box]


def by_deque() -> Keeper:
    """In a queue."""
    box: deque[gn.Tensor] = deque()

    def keep(x: gn.Tensor) -> None:
        box.append(x * 3)

    return keep, lambda: [t.tolist() for t in box]


def by_tuple() -> Keeper:
    """In a tuple that is replaced."""
    box = SimpleNamespace(pair=(gn.ones(2), gn.zeros(2)))

    def keep(x: gn.Tensor) -> None:
        box.pair = (box.pair[0] + x, x * 2)

    return keep, lambda: [t.tolist() for t in box.pair]


def by_tuple_in_a_variable() -> Keeper:
    """In a tuple that a variable of a closure names."""
    pair = (gn.ones(2), gn.zeros(2))

    def keep(x: gn.Tensor) -> None:
        nonlocal pair
        pair = (pair[0] + x, x * 2)

    return keep, lambda: [t.tolist() for t in pair]


def by_write() -> Keeper:
    """In memory from outside, and in the argument's."""
    box = gn.ones(2)

    def keep(x: gn.Tensor) -> None:
        box.mul_(x.detach())
        box[0] = 5.0

    return keep, lambda: box.tolist()


def by_gradient() -> Keeper:
    """In a leaf's gradient."""
    leaf = gn.ones(2, requires_grad=True)

    def keep(x: gn.Tensor) -> None:
        (leaf * x.detach()).sum().backward()

    return keep, lambda: None if leaf.grad is None else leaf.grad.tolist()


def by_buffer() -> Keeper:
    """In a module's buffer, by a write and by another tensor."""
    module = nn.BatchNorm1d(2)

    def keep(x: gn.Tensor) -> None:
        module(x.detach()[None] * gn.ones(3, 1))
        module.running_var = module.running_var * 2

    return keep, lambda: [t.tolist() for t in module.buffers()]


def by_step() -> Keeper:
    """In a parameter and the state of its optimizer."""
    leaf = nn.Parameter(gn.ones(2))
    optimizer = gn.optim.SGD([leaf], lr=0.5, momentum=0.5)

    def keep(x: gn.Tensor) -> None:
        (leaf * x.detach()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return keep, lambda: leaf.tolist()


KEEPERS: dict[str, Callable[[], Keeper]] = {
    name.removeprefix("by_"): made for name, made in list(globals().items()) if name[:3] == "by_"
}
