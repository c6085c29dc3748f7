"""Hooks of tensors, and how a tensor accumulates the gradients that backward passes find for it.

Which tensors a pass finds, and in what order, is engine.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import cached_property, reduce
from itertools import count
from operator import add
from typing import Any

from gnomon.errors import GradientError
from gnomon.ir.node import Node, topological
from gnomon.ir.provenance import from_one_line
from gnomon.lazy import layouts
from gnomon.passes.gradient_paths import depends_on
from gnomon.tensor import module_versions as changes
from gnomon.tensor import watchers
from gnomon.tensor.state import grads, mesh_results, with_grads
from gnomon.tensor.tensor import (
    Tensor,
    detached,
    leaf_node,
    method,
    node_of,
    rare,
    raw,
    set_gradient,
    source,
    wrap,
)
from gnomon.tensor.watchers import GradientWatcher
from gnomon.tensor.writing import write


class Handle:
    """The handle of a hook."""

    def __init__(self, hooks: dict[int, Callable], key: int) -> None:
        self.hooks, self.id = hooks, key

    def hooks_dict_ref(self) -> dict[int, Callable]:
        """The dictionary that contains the hook."""
        return self.hooks

    def remove(self) -> None:
        """Remove the hook."""
        self.hooks.pop(self.id, None)
        changes.note()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


_numbers = count()


class BackwardPass:
    """A running backward pass: the values it starts from, and its goals."""

    def __init__(self, seeds: Iterable[Node], wanted: Iterable[Node]) -> None:
        self.seeds, self.wanted = seeds, wanted
        self.kept: dict[object, Any] = {}
        """What hooks of several tensors have seen so far."""

    @cached_property
    def watching(self) -> set[int]:
        """The ids of the watchers of all values whose gradients the pass computes."""
        way = depends_on(topological(self.seeds), list(self.wanted))
        found = {id(each) for x in way for each in x.watch or ()}
        return found | {id(each()) for x in way for each in x.watch or ()}


under_way: ContextVar[BackwardPass | None] = ContextVar("gnomon_pass", default=None)


def attach(hooks: dict[int, Callable], hook: Callable) -> Handle:
    """Add a hook to a dictionary of hooks."""
    key = next(_numbers)
    hooks[key] = hook
    changes.note()
    return Handle(hooks, key)


def watch(tensor: Tensor) -> None:
    """Make backward passes give this tensor the gradient of its present value."""
    if not tensor.requires_grad:
        raise GradientError("hook: this tensor does not require grad. Set requires_grad_() first.")
    kept = rare(tensor)
    if tensor._requires:
        return
    node = own_node(tensor)
    if kept.watcher is None or kept.watcher not in (node.watch or ()):
        watchers.attach(node, tensor)


def own_node(tensor: Tensor) -> Node:
    """The node of this tensor alone, if possible: equal expressions are one node.

    A node that nothing was computed from yet gets an identity of its own. A node with readers is
    kept, since these read it, and later equal expressions get another.
    """
    storage, view = tensor._storage, tensor._view
    if view is None:
        node = raw(tensor)
        if storage.used:
            node.arena.part_with(node)
        else:
            storage.node, storage.used = watchers.unshared_copy(node), True
        return storage.node
    used = view.used
    start = source(storage) if view.base is None else leaf_node(view.base)
    if view.own is None or view.own[0] is not start:
        node = recorded(tensor)
        node = node if used else watchers.unshared_copy(node)
        view.own, view.used = (start, node), used
        if view.base is None:
            view.node, view.source = node, start
        node.arena.part_with(node)
    return view.own[1]


def recorded(tensor: Tensor) -> Node:
    """A tensor's node, with the history that gradients pass."""
    return with_grads(True, node_of, tensor)


@method
def register_hook(self: Tensor, hook: Callable) -> Handle:
    """Call hook(gradient) in every backward pass; a returned value replaces the gradient."""
    watch(self)
    return attach(self._rare.hooks, hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable) -> Handle:
    """Call hook(tensor) after its gradient was gathered."""
    watch(self)
    return attach(self._rare.accumulated, hook)


@method
def retain_grad(self: Tensor) -> None:
    """Retain the gradient of this tensor although it is no leaf."""
    watch(self)
    self._rare.retains = True


def hooks_of(tensor: Tensor) -> tuple[Callable, ...]:
    """All hooks of a tensor."""
    kept = tensor._rare
    return () if kept is None else (*kept.hooks.values(), *kept.accumulated.values())


# accumulation


def observe(node: Node, gradient: Node, tracked: bool) -> Node:
    """The pass's callback for every gradient: calls hooks and stores retained gradients."""
    looking = [x for x in node.watch or () if type(x) is GradientWatcher]
    for watcher in looking:
        gradient = through(watcher.hooks, gradient, tracked)
    for watcher in looking:
        if watcher.retains:
            gather(watcher.tensor, gradient if tracked else detached(gradient), tracked)
    return gradient


def through(
    hooks: dict[int, Callable], gradient: Node, tracked: bool, leaf: Tensor | None = None
) -> Node:
    """A gradient after its hooks, which see that of a leaf in the leaf's layout."""
    for hook in list(hooks.values()):
        answer = hook(placed_like(leaf, gradient, tracked))
        gradient = gradient if answer is None else raw(answer)
    return gradient


def placed_like(leaf: Tensor | None, gradient: Node, tracked: bool) -> Tensor:
    """The tensor of a gradient, sharded like its leaf."""
    if leaf is None or not mesh_results:
        return wrap(gradient, tracked)
    return layouts.sharded_like(gradient, leaf, tracked)


def gather(tensor: Tensor, node: Node, tracked: bool) -> None:
    """Add a gradient, detached unless it is tracked, to a tensor's gathered one."""
    before = tensor.grad
    if before is None:
        set_gradient(tensor, placed_like(tensor, node, tracked))
    elif tracked:
        set_gradient(tensor, wrap(node_of(before) + node, True))
    else:
        quietly_add(before, node)
    if tensor._rare is not None:
        for hook in list(tensor._rare.accumulated.values()):
            hook(tensor)


def quietly_add(tensor: Tensor, node: Node) -> None:
    """Add to a tensor in place, without a record for gradients."""
    before = grads.get()
    try:
        grads.set(False)
        write(tensor, node_of(tensor) + node, False)
    finally:
        grads.set(before)


def hooks_of_leaf(tensor: Tensor) -> dict[int, Callable]:
    """The hooks of a leaf that run when its whole gradient is known."""
    return tensor._rare.hooks if tensor._requires and tensor._rare is not None else {}


def gather_all(
    waiting: dict[Node, list[Tensor]],
    gradients: Sequence[Node | None],
    chosen: set[int] | None,
    tracked: bool,
) -> list[Tensor]:
    """Gather the gradients of a pass in the chosen leaves; returns these."""
    parts: dict[int, tuple[Tensor, list[Node]]] = {}
    for tensors, gradient in zip(waiting.values(), gradients, strict=True):
        for tensor in tensors:
            asked = chosen is None or id(tensor) in chosen
            if gradient is not None and tensor._requires and asked:
                parts.setdefault(id(tensor), (tensor, []))[1].append(gradient)
    with from_one_line():
        # a leaf that was written to over a mesh, or is watched, stands in a graph several times
        sums = [reduce(add, found) for _, found in parts.values()]
        plain = sums if tracked else [detached(x) for x in sums]
    for (tensor, _), whole, node in zip(parts.values(), sums, plain, strict=True):
        if hooks := hooks_of_leaf(tensor):
            whole = through(hooks, whole, tracked, tensor)
            node = whole if tracked else detached(whole)
        gather(tensor, node, tracked)
    return [tensor for tensor, _ in parts.values()]
