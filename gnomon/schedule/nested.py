"""Nested strides of a product's operands, so that flattened windows need no memory.

An axis that merges several (channels and kernel, positions of a plane) is a nest of them, outermost
first. An axis with plain strides is a nest of one; access.py computes the strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from gnomon.dtypes import DType, bfloat16, float16, float32
from gnomon.ir.node import Node
from gnomon.ops.primitives import split_spec
from gnomon.ops.registry import facts_of
from gnomon.schedule.access import strided

Nest = tuple[tuple[int, int], ...]
"""The axes that one axis of the viewer merges, as (size, stride in elements), outermost first."""


@dataclass(frozen=True)
class Nested:
    """Elements of a stored node at an offset plus nested strides, for each axis of the viewer."""

    node: Node
    offset: int
    axes: tuple[Nest, ...]


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of contiguous, row-major memory."""
    return tuple(prod(shape[k + 1 :]) for k in range(len(shape)))


def nested(view: Node) -> Nested:
    """The reading of one node through views: by strides, by a reshape of these, or as stored."""
    if view.op != "reshape" or not view.size or strided(view) is not None:
        return by_strides(view)
    found, groups = strided(view.inputs[0]), regrouped(view.inputs[0].shape, view.shape)
    if found is None or groups is None:
        return stored(view)
    axes = (tuple((n, step * found.strides[k]) for n, k, step in group) for group in groups)
    return Nested(found.node, found.offset, tuple(axes))


def regrouped(old: Sequence[int], new: Sequence[int]) -> list[list[tuple[int, int, int]]] | None:
    """Each new axis as digits (size, old axis, stride along it), or None if they do not fit.

    >>> regrouped((4, 3, 5), (2, 30))
    [[(2, 0, 2)], [(2, 0, 1), (3, 1, 1), (5, 2, 1)]]
    """
    digits: list[list[tuple[int, int, int]]] = []
    axis, step = len(old) - 1, 1
    for n in reversed(new):
        group: list[tuple[int, int, int]] = []
        while n > 1:
            left = old[axis] // step
            size = min(n, left)
            if max(n, left) % size:
                return None
            if size > 1:
                group.append((size, axis, step))
            n, step = n // size, step * size
            if step == old[axis] and axis:
                axis, step = axis - 1, 1
        digits.append(group[::-1])
    return digits[::-1]


def factors(node: Node) -> tuple[Nested, Nested]:
    """The operands as a contract reads them: through nests, where those of each letter fit."""
    left, right, _ = split_spec(node.params["spec"])
    a, b = (nested(x) for x in node.inputs)
    shared = ((a.axes[left.index(c)], b.axes[right.index(c)]) for c in left if c in right)
    if any(common(nests) is None for nests in shared):
        a, b = (by_strides(x) for x in node.inputs)
    if any(found.node.size != x.size for found, x in zip((a, b), node.inputs, strict=True)):
        return a, b  # windows overlap, and a convolution's kernel reads them as they are
    return packed_narrow(a), packed_narrow(b)


def packed_narrow(found: Nested) -> Nested:
    """Skip a cast from 16 bits of a product's input: packing widens the elements itself.

    A value computed in 16 bits may never be stored in them, so it is left to other fusions.
    """
    x = found.node
    below = whole_below(x.inputs[0]) if is_widened(x, bfloat16, float16) else x
    return replace(found, node=below) if below.op == "input" else found


def whole_below(x: Node) -> Node:
    """The node below views that show all of its elements in order."""
    while x.op in ("detach", "barrier", "reshape"):
        (x,) = x.inputs
    return x


def by_strides(x: Node) -> Nested:
    """The reading of a node by plain strides, or as it is stored."""
    found = strided(x)
    if found is None:
        return stored(x)
    axes = zip(x.shape, found.strides, strict=True)
    return Nested(found.node, found.offset, tuple((axis,) for axis in axes))


def stored_operands(node: Node) -> tuple[Node, ...]:
    """The operands of a claimed region: bfloat16 where its kernel widens it and gets a copy."""
    claim = facts_of(node).claim
    narrow = () if claim is None else claim.widens(node.inputs[0])
    pairs = enumerate(node.inputs)
    return tuple(x.inputs[0] if k in narrow and is_widened(x, bfloat16) else x for k, x in pairs)


def is_widened(x: Node, *dtypes: DType) -> bool:
    """Whether a value is a float32 copy of one of the dtypes."""
    widens = x.op == "map" and x.params["f"] == "cast" and x.dtype is float32
    return widens and x.inputs[0].dtype in dtypes


def stored(x: Node) -> Nested:
    """The reading of a node as it is stored, row-major."""
    axes = zip(x.shape, row_major(x.shape), strict=True)
    return Nested(x, 0, tuple((axis,) for axis in axes))


def common(nests: Sequence[Nest]) -> list[int] | None:
    """The sizes into which every nest of one axis can be cut; None if there are none.

    >>> common([((6, 5), (5, 1)), ((30, 1),), ((2, 15), (15, 1))])
    [2, 3, 5]
    """
    ends = sorted({prod(n for n, _ in nest[k:]) for nest in nests for k in range(len(nest) + 1)})
    if 0 in ends:
        return [0]
    pairs = list(pairwise(ends))
    return [b // a for a, b in reversed(pairs)] if all(b % a == 0 for a, b in pairs) else None


def cut(nest: Nest, sizes: Sequence[int]) -> list[int]:
    """The strides of an axis that is cut into these finer sizes.

    >>> cut(((30, 2),), [2, 3, 5])
    [30, 10, 2]
    """
    strides: list[int] = []
    axes = list(nest)
    size, stride, done = 1, 0, 1
    for n in reversed(sizes):
        while done == size and axes:
            (size, stride), done = axes.pop(), 1
        strides.append(stride * done)
        done *= n
    return strides[::-1]
