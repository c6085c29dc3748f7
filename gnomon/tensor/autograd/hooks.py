"""Hooks of tensors: calls with a gradient when a backward pass finds it, and their removal.

The pass itself is engine.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cached_property
from itertools import count
from typing import Any

from gnomon.errors import GradientError
from gnomon.ir.node import Node, topological
from gnomon.passes.gradient_paths import depends_on
from gnomon.tensor import module_versions as changes
from gnomon.tensor import watchers
from gnomon.tensor.state import grads
from gnomon.tensor.tensor import Tensor, leaf_node, method, node_of, rare, raw, source


class Handle:
    """Takes a hook away again."""

    def __init__(self, hooks: dict[int, Callable], key: int) -> None:
        self.hooks, self.id = hooks, key

    def hooks_dict_ref(self) -> dict[int, Callable]:
        """The hooks among which it is."""
        return self.hooks

    def remove(self) -> None:
        """Call the hook no more."""
        self.hooks.pop(self.id, None)
        changes.note()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


_numbers = count()


class BackwardPass:
    """A backward pass that is under way: from which values, and to which."""

    def __init__(self, seeds: Iterable[Node], wanted: Iterable[Node]) -> None:
        self.seeds, self.wanted = seeds, wanted
        self.kept: dict[object, Any] = {}
        """What hooks of several tensors have seen so far."""

    @cached_property
    def watching(self) -> set[int]:
        """Whatever watches a value whose gradient the pass computes, by its id."""
        way = depends_on(topological(self.seeds), list(self.wanted))
        found = {id(each) for x in way for each in x.watch or ()}
        return found | {id(each()) for x in way for each in x.watch or ()}


under_way: ContextVar[BackwardPass | None] = ContextVar("gnomon_pass", default=None)


def attach(hooks: dict[int, Callable], hook: Callable) -> Handle:
    """Add a hook to others."""
    key = next(_numbers)
    hooks[key] = hook
    changes.note()
    return Handle(hooks, key)


def watch(tensor: Tensor) -> None:
    """Have backward passes find this tensor, with the gradient of the value that it has now."""
    if not tensor.requires_grad:
        raise GradientError("hook: this tensor does not require grad. Set requires_grad_() first.")
    kept = rare(tensor)
    if tensor._requires:
        return
    node = own_node(tensor)
    if kept.watcher is None or kept.watcher not in (node.watch or ()):
        watchers.attach(node, tensor)


def own_node(tensor: Tensor) -> Node:
    """The node of this tensor alone, as far as it can be told: equal expressions are one node.

    One that nothing was computed from yet gets an identity of its own. Behind one that was used
    stand the uses, so it is kept, and equal expressions to come are others.
    """
    storage, view = tensor._storage, tensor._view
    if view is None:
        node = raw(tensor)
        if storage.used:
            node.arena.part_with(node)
        else:
            storage.node, storage.used = watchers.apart(node), True
        return storage.node
    used = view.used
    start = source(storage) if view.base is None else leaf_node(view.base)
    if view.own is None or view.own[0] is not start:
        node = recorded(tensor)
        node = node if used else watchers.apart(node)
        view.own, view.used = (start, node), used
        if view.base is None:
            view.node, view.source = node, start
        node.arena.part_with(node)
    return view.own[1]


def recorded(tensor: Tensor) -> Node:
    """A tensor's node, with all that gradients pass behind it."""
    before = grads.get()
    try:
        grads.set(True)
        return node_of(tensor)
    finally:
        grads.set(before)


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
