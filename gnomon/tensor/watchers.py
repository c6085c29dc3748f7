"""Watchers: what a node calls when a backward pass has found its gradient.

A watcher belongs to one value of one tensor. Hooks stay with the value that they were added to; a
kept gradient goes with the tensor, to the values that are written to it. Users' names for them are
in autograd/hooks.py, the calls in autograd/engine.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gnomon.ir.node import Node

if TYPE_CHECKING:
    from gnomon.tensor.tensor import Tensor


class Rare:
    """Rare attributes of a tensor: gradient, hooks, and the leaf's node in graphs."""

    __slots__ = ("accumulated", "ends", "grad", "hooks", "leaf", "retains", "source", "watcher")

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        self.hooks: dict[int, Callable] = {}
        self.accumulated: dict[int, Callable] = {}
        self.ends: Callable[[], None] | None = None
        """What follows a backward pass that gave it a gradient."""
        self.retains = False
        self.watcher: GradientWatcher | None = None
        self.source: Node | None = None
        self.leaf: Node | None = None


class GradientWatcher:
    """A watcher of one value of a tensor, by which a graph's node refers to the tensor."""

    __slots__ = ("hooks", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.hooks: dict[int, Callable] = {}
        self.tensor = tensor

    def __call__(self) -> Tensor:
        """The tensor, as from a weak reference."""
        return self.tensor

    @property
    def is_latest(self) -> bool:
        """Whether it watches the tensor's latest value."""
        return self.tensor._rare.watcher is self

    @property
    def retains(self) -> bool:
        """Whether the tensor retains the gradient of this value."""
        return self.is_latest and self.tensor._rare.retains


def unshared_copy(node: Node) -> Node:
    """A copy of a node that no other tensor shares, although equal expressions are one node."""
    made = node.arena.unique("barrier", node)
    made.value = node.value
    return made


def attach(node: Node, tensor: Tensor) -> None:
    """Watch a node, a tensor's latest value, for its gradient."""
    kept = tensor._rare
    kept.watcher = GradientWatcher(tensor)
    kept.hooks = kept.watcher.hooks
    node.watch = [*(node.watch or ()), kept.watcher]


def retained(node: Node) -> list[Tensor]:
    """The tensors that retain the gradient of a node."""
    return [x.tensor for x in node.watch or () if type(x) is GradientWatcher and x.retains]


def is_watched(node: Node) -> bool:
    """Whether a node's gradient has hooks, or is retained."""
    return any([type(x) is GradientWatcher and (x.hooks or x.retains) for x in node.watch or ()])


def nobody() -> None:
    """Return None: a weak reference to no tensor, which watches a node for the engine."""


FREED: list[Callable[[], Any]] = [nobody]
"""The watcher of a leaf whose history a program's backward pass dropped."""
RELEASED: list[Callable[[], Any]] = [nobody]
"""The watcher of a leaf whose history a backward pass freed."""
