"""Views of a storage: how a chain of view steps is read, and how a write goes back through it.

A step is a view primitive and its parameters; users' views are found by walking from an
operation's result back to what it was given, so no operation says that it is a view.
"""

from __future__ import annotations

from gnomon.dtypes import bool_
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import constant
from gnomon.ops.primitives import expand, flip, reshape
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import pad, permute

Step = tuple[str, dict]
Chain = tuple[Step, ...]
STEPS = frozenset({"permute", "reshape", "slice", "expand"})


def chain_between(result: Node, start: Node) -> Chain | None:
    """The view steps from start to result; None when there is more between them than views."""
    steps = []
    while result is not start:
        if result.op not in STEPS:
            return None
        steps.append((result.op, result.params))
        (result,) = result.inputs
    return tuple(reversed(steps))


def read(node: Node, chain: Chain) -> Node:
    """What a view shows of its storage's node."""
    for op, params in chain:
        node = node.arena.node(op, (node,), **params)
    return node


def write(node: Node, chain: Chain, value: Node) -> Node:
    """The storage's node after the view was given a new value of its own shape."""
    if not chain:
        return value
    (op, params), rest = chain[0], chain[1:]
    inner = write(node.arena.node(op, (node,), **params), rest, value)
    return put_back(node, op, params, inner)


def put_back(old: Node, op: str, params: dict, new: Node) -> Node:
    """The old node with what one view step shows replaced by the new value."""
    if op == "reshape":
        return reshape(new, old.shape)
    if op == "permute":
        order = params["order"]
        return permute(new, tuple(order.index(k) for k in range(len(order))))
    if op == "slice":
        return put_slice(old, params["bounds"], new)
    raise ArgumentError(
        "write: an expanded tensor shows one element in several places, "
        "so a write to it has no meaning. Use clone() first."
    )


def put_slice(old: Node, bounds: tuple[tuple[int, int, int], ...], new: Node) -> Node:
    """old, with new at the places of a slice."""
    backwards = [axis for axis, (_, _, step) in enumerate(bounds) if step < 0]
    for axis in backwards:
        new = flip(new, axis)
    bounds = tuple(map(ascending, bounds))
    low = tuple(start for start, _, _ in bounds)
    between = tuple(step - 1 for _, _, step in bounds)
    reach = [max((n - 1) * step + 1, 0) for n, (_, _, step) in zip(new.shape, bounds, strict=True)]
    high = tuple(n - a - r for n, a, r in zip(old.shape, low, reach, strict=True))
    if 0 in new.shape:
        return old
    if not any((*low, *high, *between)):
        return new
    here = expand(constant(old.arena, True, bool_), new.shape)
    return where(pad(here, low, high, False, between), pad(new, low, high, 0, between), old)


def ascending(bound: tuple[int, int, int]) -> tuple[int, int, int]:
    """The same places of a slice from the lowest up.

    >>> ascending((4, -1, -2)), ascending((0, 4, 3))
    ((0, 5, 2), (0, 4, 3))
    """
    start, stop, step = bound
    places = range(start, stop, step)
    return bound if step > 0 or not places else (places[-1], start + 1, -step)
