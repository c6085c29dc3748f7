"""Views: permute, reshape, expand, slice, pad, window. They dissolve into index arithmetic.

slice bounds are (start, stop, step) per axis, with stop -1 meaning "through 0" for negative steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import abs  # a user's program may replace the builtin
from typing import Any

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import ShapeError
from gnomon.ir.node import Node, Shape, Signature, primitive
from gnomon.ir.operators import constant
from gnomon.ops.index_primitives import IndexPrimitive, ViewPrimitive
from gnomon.ops.primitives import expand, letters, reshape, sum_to

STEPS = frozenset({"permute", "reshape", "slice", "expand", "window"})
"""The primitives of which views of tensors consist."""


@primitive("permute")
class Permute(ViewPrimitive):
    """The axes in another order."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        order: Sequence[int] = params["order"]
        return tuple(inputs[0].shape[k] for k in order), inputs[0].dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        order: Sequence[int] = node.params["order"]
        return Signature([names], [names[k] for k in order])

    def value(self, node: Node, x: np.ndarray) -> Any:
        return x.transpose(node.params["order"])

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        return (permute(g, tuple(int(k) for k in np.argsort(node.params["order"]))),)


@primitive("reshape")
class Reshape(ViewPrimitive):
    """The elements in another shape; a group of axes keeps the letter of its major one."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,), shape = inputs, params["shape"]
        if prod(shape) != x.size:
            raise ShapeError(
                f"reshape: sizes differ: {x.shape} has {x.size} elements, "
                f"{shape} has {prod(shape)}."
            )
        return shape, x.dtype

    def signature(self, node: Node) -> Signature:
        before, after = starts(node.inputs[0].shape), starts(node.shape)
        ins: list[str | None] = [None] * node.inputs[0].rank
        out: list[str | None] = [None] * node.rank
        for place in before.keys() & after.keys():
            ins[before[place]] = out[after[place]] = f"g{place}"
        return Signature([ins], out)

    def value(self, node: Node, x: np.ndarray) -> Any:
        return x.reshape(node.params["shape"])

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        return (reshape(g, node.inputs[0].shape),)


def starts(shape: Shape) -> dict[int, int]:
    """Number of blocks before each axis -> the axis, for axes larger than 1."""
    at: dict[int, int] = {}
    blocks = 1
    for axis, n in enumerate(shape):
        if n > 1:
            at.setdefault(blocks, axis)
        blocks *= n
    return at


@primitive("expand")
class Expand(ViewPrimitive):
    """The value repeated along axes of size 1."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,), shape = inputs, params["shape"]
        if len(shape) != x.rank or any(
            n not in (1, m) for n, m in zip(x.shape, shape, strict=False)
        ):
            raise ShapeError(f"expand: only axes of size 1 can grow: {x.shape} to {shape}.")
        return shape, x.dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        x = node.inputs[0]
        return Signature(
            [[a if n == m else None for a, n, m in zip(names, x.shape, node.shape, strict=True)]],
            names,
        )

    def value(self, node: Node, x: np.ndarray) -> Any:
        return np.broadcast_to(x, node.shape)

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        return (sum_to(g, node.inputs[0].shape),)


def places_of(bounds: Sequence[tuple[int, int, int]]) -> tuple[slice, ...]:
    """Bounds as slices of numpy; a negative stop means no stop."""
    return tuple(
        slice(a, b if b >= 0 else None, step) if a != b else slice(0) for a, b, step in bounds
    )


def length_of(start: int, stop: int, step: int) -> int:
    """The number of positions of a bound."""
    if step == 0:
        raise ValueError("slice: a step is 0")
    way = stop - start if step > 0 else start - stop
    return (way - 1) // abs(step) + 1 if way > 0 else 0


@primitive("slice")
class Slice(ViewPrimitive):
    """The slice x[start:stop:step] along every axis; a negative stop means past 0."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        shape = tuple([length_of(*bound) for bound in params["bounds"]])
        for (start, _, step), count, n in zip(
            params["bounds"], shape, inputs[0].shape, strict=True
        ):
            if count and not (0 <= start < n and 0 <= start + (count - 1) * step < n):
                raise ShapeError(f"slice: {params['bounds']} do not fit into {inputs[0].shape}.")
        return shape, inputs[0].dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        sizes = zip(names, node.inputs[0].shape, node.shape, strict=True)
        kept = [a if n == m else None for a, n, m in sizes]
        bounds = zip(kept, node.params["bounds"], strict=True)
        forward = [a if b[2] == 1 else None for a, b in bounds]
        return Signature([forward], forward)

    def value(self, node: Node, x: np.ndarray) -> Any:
        return x[places_of(node.params["bounds"])]

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        bounds, before = node.params["bounds"], node.inputs[0].shape
        steps = tuple(abs(step) for _, _, step in bounds)
        if any(step < 0 for _, _, step in bounds):
            turned = tuple(
                (n - 1, -1, -1) if b[2] < 0 else (0, n, 1)
                for n, b in zip(g.shape, bounds, strict=True)
            )
            g = slice_(g, turned)
        ends = zip(bounds, g.shape, strict=True)
        lows = tuple(
            (a if step > 0 else a + (n - 1) * step) if n else 0 for (a, _, step), n in ends
        )
        spans = tuple(max((n - 1) * s + 1, 0) for n, s in zip(g.shape, steps, strict=True))
        highs = tuple(n - low - span for n, low, span in zip(before, lows, spans, strict=True))
        return (pad(g, lows, highs, 0.0, tuple(s - 1 for s in steps)),)


@primitive("pad")
class Pad(IndexPrimitive):
    """x with a constant around it (`low`, `high`) and `between` its elements, per axis."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,) = inputs
        rows = zip(x.shape, params["low"], params["high"], params["between"], strict=True)
        return tuple(low + max(n + (n - 1) * gap, 0) + high for n, low, high, gap in rows), x.dtype

    def signature(self, node: Node) -> Signature:
        names, p = letters(node.rank), node.params
        kept = [
            a if (lo, hi, b) == (0, 0, 0) else None
            for a, lo, hi, b in zip(names, p["low"], p["high"], p["between"], strict=True)
        ]
        return Signature([kept], kept)

    def value(self, node: Node, x: np.ndarray) -> Any:
        p = node.params
        y = np.full(node.shape, p["value"], node.dtype.numpy)
        places = tuple(
            slice(low, low + max(n + (n - 1) * gap, 0), gap + 1)
            for n, low, gap in zip(x.shape, p["low"], p["between"], strict=True)
        )
        y[places] = x
        return y

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        p, x = node.params, node.inputs[0]
        rows = zip(x.shape, p["low"], p["between"], strict=True)
        return (
            slice_(
                g, tuple((low, low + max(n + (n - 1) * gap, 0), gap + 1) for n, low, gap in rows)
            ),
        )


@primitive("window")
class Window(IndexPrimitive):
    """Overlapping windows of one axis; a window's elements are a new last axis.

    y[..., i, ..., j] = x[..., i * stride + j * dilation, ...]
    """

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,) = inputs
        axis: int = params["axis"]
        reach: int = (params["size"] - 1) * params["dilation"] + 1
        if reach > x.shape[axis]:
            raise ShapeError(f"window: {reach} elements do not fit into axis {axis} of {x.shape}.")
        steps: int = (x.shape[axis] - reach) // params["stride"] + 1
        return (*x.shape[:axis], steps, *x.shape[axis + 1 :], params["size"]), x.dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.inputs[0].rank)
        kept = [None if k == node.params["axis"] else a for k, a in enumerate(names)]
        return Signature([kept], [*kept, None])

    def value(self, node: Node, x: np.ndarray) -> Any:
        p = node.params
        axis: int = p["axis"]
        stride: int = p["stride"]
        dilation: int = p["dilation"]
        size: int = p["size"]
        starts = np.arange(node.shape[axis])[:, None] * stride
        steps = starts + np.arange(size)[None] * dilation
        return np.moveaxis(np.take(x, steps, axis=axis), axis + 1, -1)

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        # each element collects its place in every stretch: they slide past it, spread apart
        (x,), p = node.inputs, node.params
        axis: int = p["axis"]
        size: int = p["size"]
        stride: int = p["stride"]
        dilation: int = p["dilation"]
        size: int = p["size"]
        parts: list[Node] = []
        for j in range(size):
            last = (*((0, n, 1) for n in g.shape[:-1]), (j, j + 1, 1))
            part = reshape(slice_(g, last), g.shape[:-1])
            span = (g.shape[axis] - 1) * stride + 1
            low = tuple(j * dilation if k == axis else 0 for k in range(x.rank))
            high = tuple(
                x.shape[axis] - span - j * dilation if k == axis else 0 for k in range(x.rank)
            )
            parts.append(
                pad(
                    part,
                    low,
                    high,
                    0.0,
                    tuple(stride - 1 if k == axis else 0 for k in range(x.rank)),
                )
            )
        if not parts:
            return (expand(constant(x.arena, 0, x.dtype), x.shape),)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return (total,)


def permute(x: Node, order: tuple[int, ...]) -> Node:
    """x with its axes in this order."""
    return (
        x
        if tuple(order) == tuple(range(x.rank))
        else x.arena.node("permute", (x,), order=tuple(order))
    )


def slice_(x: Node, bounds: tuple[tuple[int, int, int], ...]) -> Node:
    """The slice x[start:stop:step] along every axis."""
    if all(bound == (0, n, 1) for bound, n in zip(bounds, x.shape, strict=True)):
        return x
    return x.arena.node("slice", (x,), bounds=tuple(bounds))


def pad(x: Node, low: Shape, high: Shape, value: float = 0.0, between: Shape | None = None) -> Node:
    """x with a constant around it and between its elements."""
    between = between or (0,) * x.rank
    if not any(low) and not any(high) and not any(between):
        return x
    fill = constant(x.arena, value, x.dtype, "pad").params["value"]
    return x.arena.node(
        "pad", (x,), low=tuple(low), high=tuple(high), between=tuple(between), value=fill
    )


def window(x: Node, axis: int, size: int, stride: int = 1, dilation: int = 1) -> Node:
    """Overlapping windows of an axis; a window's elements are a new last axis."""
    return x.arena.node("window", (x,), axis=axis, size=size, stride=stride, dilation=dilation)
