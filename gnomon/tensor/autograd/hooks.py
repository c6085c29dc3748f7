"""Hooks of tensors: calls with a gradient when a backward pass finds it, and their removal.

The pass itself is engine.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from gnomon.errors import GradientError
from gnomon.tensor import module_versions as changes
from gnomon.tensor.tensor import Tensor, method, rare, raw


class Handle:
    """Takes a hook away again."""

    def __init__(self, hooks: dict[int, Callable], key: int) -> None:
        self.hooks, self.key = hooks, key

    def remove(self) -> None:
        """Call the hook no more."""
        self.hooks.pop(self.key, None)
        changes.note()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


_numbers = count()


def attach(hooks: dict[int, Callable], hook: Callable) -> Handle:
    """Add a hook to others."""
    key = next(_numbers)
    hooks[key] = hook
    changes.note()
    return Handle(hooks, key)


def watch(tensor: Tensor) -> None:
    """Make backward passes tell this tensor its gradient."""
    if not tensor.requires_grad:
        raise GradientError("hook: this tensor does not require grad. Set requires_grad_() first.")
    rare(tensor)
    if tensor._requires or tensor._rare.watches:
        return
    tensor._rare.watches = True
    storage, node = tensor._storage, raw(tensor)
    if tensor._view is None:
        # equal expressions are one node: this tensor's must be its own
        storage.node = node.arena.unique("barrier", node)
        storage.node.value = node.value
        node = storage.node
    # a hook outlives its tensor's last name: the graph holds the tensor
    node.watch = [*(node.watch or ()), lambda: tensor]


@method
def register_hook(self: Tensor, hook: Callable) -> Handle:
    """Call hook(gradient) in every backward pass; what it returns, if anything, takes its place."""
    watch(self)
    return attach(self._rare.hooks, hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable) -> Handle:
    """Call hook(tensor) after its gradient was gathered."""
    watch(self)
    return attach(self._rare.accumulated, hook)


@method
def retain_grad(self: Tensor) -> None:
    """Gather a gradient although this tensor is no leaf."""
    watch(self)
    self._rare.retains = True


def hooks_of(tensor: Tensor) -> tuple[Callable, ...]:
    """All hooks of a tensor."""
    kept = tensor._rare
    return () if kept is None else (*kept.hooks.values(), *kept.accumulated.values())
