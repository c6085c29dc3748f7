"""Lookups: gather and its transpose scatter, and sort, which gives positions.

gather "vd,bt->btd" reads row x[index[b, t]]; its transpose scatter "btd,bt->vd" folds rows into
place. The letter that x has and the result lacks is the indexed one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import DType, int64
from gnomon.errors import DtypeError, IndexOutOfBounds, ShapeError
from gnomon.ir.node import PRIMITIVES, Node, Primitive, Shape, Signature, primitive
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.canonical import leaves, role_in_contract
from gnomon.ops.index_primitives import IndexPrimitive
from gnomon.ops.primitives import identity_of, letters, split_spec
from gnomon.ops.scalars import where


def sizes_of(op: str, spec: str, left: Node, right: Node) -> dict[str, int]:
    """Letter -> size; raises ShapeError if both operands disagree."""
    a, b, _ = split_spec(spec)
    if (len(a), len(b)) != (left.rank, right.rank):
        raise ShapeError(f"{op}: {spec} does not name the axes of {left.shape} and {right.shape}.")
    size: dict[str, int] = {}
    for letter, n in zip(a + b, left.shape + right.shape, strict=True):
        if size.setdefault(letter, n) != n:
            raise ShapeError(
                f"{op}: axis {letter} of {spec} differs: {left.shape} and {right.shape}."
            )
    return size


def grid(out: str, size: dict[str, int], letter: str) -> np.ndarray:
    """The positions 0..n-1 along one of the axes named by `out`."""
    return np.arange(size[letter]).reshape([-1 if c == letter else 1 for c in out])


def spread(values: np.ndarray, own: str, out: str) -> np.ndarray:
    """The values with axes `own`, permuted to the axes `out`, with size 1 for missing ones."""
    present = [c for c in out if c in own]
    moved = values.transpose([own.index(c) for c in present])
    return moved.reshape([moved.shape[present.index(c)] if c in own else 1 for c in out])


@primitive("gather")
class Gather(IndexPrimitive):
    """The elements of x at given positions."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        x, index = inputs
        if not index.dtype.is_integer:
            raise DtypeError(
                f"gather: positions must be integers: got {index.dtype.name}. Cast them to int64."
            )
        size = sizes_of("gather", params["spec"], x, index)
        return tuple(size[c] for c in split_spec(params["spec"])[2]), x.dtype

    def signature(self, node: Node) -> Signature:
        table, index, out = split_spec(node.params["spec"])
        return Signature([table, index], out, whole=[c for c in table if c not in out])

    def value(self, node: Node, x: np.ndarray, index: np.ndarray) -> Any:
        table, own, out = split_spec(node.params["spec"])
        size = dict(zip(out, node.shape, strict=True))
        looked_up = next(c for c in table if c not in out)
        bound = x.shape[table.index(looked_up)]
        if index.size and (index.min() < 0 or index.max() >= bound):
            bad = index.min() if index.min() < 0 else index.max()
            raise IndexOutOfBounds(f"gather: position {bad} is outside an axis of size {bound}.")
        places = [spread(index, own, out) if c == looked_up else grid(out, size, c) for c in table]
        return np.broadcast_to(x[tuple(places)], node.shape)

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        table, own, out = split_spec(node.params["spec"])
        looked_up = next(c for c in table if c not in out)
        size = node.inputs[0].shape[table.index(looked_up)]
        return scatter("add", f"{out},{own}->{table}", g, node.inputs[1], size), None


@primitive("scatter")
class Scatter(Primitive):
    """Values folded into positions of an axis; positions without values hold the identity."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        values, index = inputs
        if not index.dtype.is_integer:
            raise DtypeError(
                f"scatter: positions must be integers: got {index.dtype.name}. Cast them to int64."
            )
        if index.size and not params["size"]:
            raise IndexOutOfBounds(
                f"scatter: an axis of size 0 has no positions: got {index.shape} of them."
            )
        size = sizes_of("scatter", params["spec"], values, index)
        out = split_spec(params["spec"])[2]
        whole: int = params["size"]
        return tuple(size.get(c, whole) for c in out), values.dtype

    def signature(self, node: Node) -> Signature:
        values, index, out = split_spec(node.params["spec"])
        folded = {c: node.params["monoid"] for c in values if c not in out}
        return Signature([values, index], [c if c in values else None for c in out], folded)

    def leaves(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[int, ...]:
        own, names, out = split_spec(params["spec"])
        return tuple(
            leaves(n, role_in_contract(k, names.find(c), len(own), len(own) + 1))
            for k, (c, n) in enumerate(zip(own, inputs[0].shape, strict=True))
            if c not in out
        )

    def value(self, node: Node, values: np.ndarray, index: np.ndarray) -> Any:
        p = node.params
        own, names, out = split_spec(p["spec"])
        size = dict(zip(own, values.shape, strict=True))
        y = np.full(node.shape, identity_of(p["monoid"], node.dtype), node.dtype.numpy)
        places = [spread(index, names, own) if c not in own else grid(own, size, c) for c in out]
        fold = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}[
            p["monoid"]
        ]
        if index.size and (index.min() < 0 or index.max() >= p["size"]):
            bad = index.min() if index.min() < 0 else index.max()
            raise IndexOutOfBounds(
                f"scatter: position {bad} is outside an axis of size {p['size']}."
            )
        fold.at(y, tuple(np.broadcast_arrays(*places)) if len(places) > 1 else places[0], values)
        return y

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        (values, index), monoid = node.inputs, node.params["monoid"]
        own, names, out = split_spec(node.params["spec"])
        back = f"{out},{names}->{own}"
        if monoid == "add":
            return gather(back, g, index), None
        if monoid == "mul":
            zero, size = elementwise("eq", values, 0), node.params["size"]
            one = where(zero, 1, values)
            other = scatter("mul", node.params["spec"], one, index, size)
            zeros = scatter("add", node.params["spec"], cast(zero, int64), index, size)
            # the product of the others is 0 unless the only 0 is this value
            alone = elementwise("eq", gather(back, zeros, index), cast(zero, int64))
            return where(alone, gather(back, g * other, index) / one, 0), None
        best = elementwise("eq", values, gather(back, node, index))
        found = scatter("add", node.params["spec"], cast(best, int64), index, node.params["size"])
        # those that meet in an extreme share its gradient
        return where(best, gather(back, g / cast(found, g.dtype), index), 0), None


@primitive("sort")
class Sort(Primitive):
    """The positions that sort an axis, stable; NaN counts as largest."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return inputs[0].shape, int64

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        axis: int = node.params["axis"]
        return Signature([names], names, whole=[names[axis]])

    def value(self, node: Node, x: np.ndarray) -> Any:
        axis = node.params["axis"]
        # numpy orders NaN only among its own floats
        x = x.astype(np.float32) if x.dtype.kind == "V" else x
        if not node.params["descending"]:
            return np.argsort(x, axis=axis, kind="stable")
        backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        return np.flip(x.shape[axis] - 1 - backwards, axis)


def gather(spec: str, x: Node, index: Node) -> Node:
    """Elements of x at the positions in index; see the module for the spec."""
    return x.arena.node("gather", (x, index), spec=spec)


def within(index: Node, size: int) -> Node:
    """Positions that are reported, when a program runs, if they exceed an axis of this size.

    Their dtype can count to the axis's end: uint8 becomes int64 if there are more places.
    """
    index = index if size <= index.dtype.limits[1] else cast(index, int64)
    names = "abcdefghijklmnopqrstuvwxy"[: index.rank]
    every = index.arena.node("iota", (), size=size, dtype=index.dtype)
    return gather(f"z,{names}->{names}", every, index)


def scatter(monoid: str, spec: str, values: Node, index: Node, size: int) -> Node:
    """Fold values into an axis of this size, at the positions in index."""
    counts = PRIMITIVES["scatter"].leaves((values, index), {"spec": spec})
    return values.arena.node(
        "scatter", (values, index), monoid=monoid, spec=spec, size=size, leaves=counts
    )


def sort_positions(x: Node, axis: int, descending: bool = False) -> Node:
    """The positions that sort an axis, stable."""
    return x.arena.node("sort", (x,), axis=axis, descending=descending)
