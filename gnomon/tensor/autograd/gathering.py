"""Gradients that a backward pass has found: hooks see them, and tensors gather them.

Which tensors a pass finds, and in what order, is engine.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add

from gnomon.ir.node import Node
from gnomon.lazy import layouts
from gnomon.tensor.state import grads, laid
from gnomon.tensor.tensor import Tensor, detached, node_of, raw, wrap
from gnomon.tensor.watchers import GradientWatcher
from gnomon.tensor.writing import write


def observe(node: Node, gradient: Node, tracked: bool) -> Node:
    """The pass's callback for every gradient: hooks change it, results that retain keep it."""
    looking = [x for x in node.watch or () if type(x) is GradientWatcher]
    for watcher in looking:
        gradient = through(watcher.hooks, gradient, tracked)
    for watcher in looking:
        if watcher.retains:
            gather(watcher.tensor, gradient, tracked)
    return gradient


def through(hooks: dict[int, Callable], gradient: Node, tracked: bool) -> Node:
    """A gradient after its hooks."""
    for hook in list(hooks.values()):
        answer = hook(wrap(gradient, tracked))
        gradient = gradient if answer is None else raw(answer)
    return gradient


def gather(tensor: Tensor, gradient: Node, tracked: bool) -> None:
    """Add a gradient to what a tensor has gathered."""
    node = gradient if tracked else detached(gradient)
    before = tensor.grad
    if before is None:
        tensor.grad = layouts.lying_like(node, tensor, tracked) if laid else wrap(node, tracked)
    elif tracked:
        tensor.grad = wrap(node_of(before) + node, True)
    else:
        quietly_add(before, node)
    if tensor._rare is not None:
        for hook in list(tensor._rare.accumulated.values()):
            hook(tensor)


def quietly_add(tensor: Tensor, node: Node) -> None:
    """Add to a tensor in place, unseen by later passes."""
    before = grads.get()
    try:
        grads.set(False)
        write(tensor, node_of(tensor) + node, False)
    finally:
        grads.set(before)


def hooks_of_leaf(tensor: Tensor) -> dict[int, Callable]:
    """The hooks that see a leaf's gradient when all of it is known."""
    return tensor._rare.hooks if tensor._requires and tensor._rare is not None else {}


def gather_all(
    waiting: dict[Node, list[Tensor]],
    gradients: Sequence[Node | None],
    chosen: set[int] | None,
    tracked: bool,
) -> list[Tensor]:
    """Gather the gradients of a pass in the leaves that are asked for, and list these."""
    parts: dict[int, tuple[Tensor, list[Node]]] = {}
    for tensors, gradient in zip(waiting.values(), gradients, strict=True):
        for tensor in tensors:
            asked = chosen is None or id(tensor) in chosen
            if gradient is not None and tensor._requires and asked:
                parts.setdefault(id(tensor), (tensor, []))[1].append(gradient)
    for tensor, found in parts.values():
        hooks = hooks_of_leaf(tensor)
        # a leaf that was written to over a mesh, or is watched, stands in a graph several times
        whole = reduce(add, found)
        gather(tensor, through(hooks, whole, tracked) if hooks else whole, tracked)
    return [tensor for tensor, _ in parts.values()]
