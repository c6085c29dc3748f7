"""The running fold along an axis; for "argmax" and "argmin", the position of the best so far.

Axes are scanned in ascending order and as a whole: they are never split into leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import DType, accumulator, int64
from gnomon.ir.node import Node, Primitive, Shape, Signature, primitive
from gnomon.ir.operators import cast
from gnomon.ops.primitives import MONOIDS, flip, letters


@primitive("scan")
class Scan(Primitive):
    """The running fold along one axis, in ascending order."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return inputs[0].shape, params["dtype"]

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        axis: int = node.params["axis"]
        return Signature([names], names, whole=[names[axis]])

    def value(self, node: Node, x: np.ndarray) -> Any:
        axis, monoid = node.params["axis"], node.params["monoid"]
        if monoid in ("argmax", "argmin"):
            return running_positions(x, axis, np.maximum if monoid == "argmax" else np.minimum)
        with np.errstate(all="ignore"):
            wide = (
                x.astype(accumulator(node.inputs[0].dtype).numpy) if monoid in ("add", "mul") else x
            )
            return MONOIDS[monoid].accumulate(wide, axis=axis).astype(node.dtype.numpy)

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        axis, monoid = node.params["axis"], node.params["monoid"]
        if monoid in ("argmax", "argmin"):
            return (None,)
        assert monoid == "add", f"scan[{monoid}] has no gradient: write it as a composite"
        return (cast(flip(scan("add", flip(g, axis), axis), axis), node.inputs[0].dtype),)


def running_positions(x: np.ndarray, axis: int, better: Any) -> np.ndarray:
    """The position of the best so far: the latest of equal ones, or of NaN once one has come."""
    best = better.accumulate(x, axis=axis)
    size: int = x.shape[axis]
    here = np.arange(size).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    wins = (x == best) | (x != x)
    return np.maximum.accumulate(np.where(wins, here, 0), axis=axis).astype(np.int64)


def scan(monoid: str, x: Node, axis: int, dtype: DType | None = None) -> Node:
    """Create the running fold of x along an axis; "argmax" and "argmin" give positions."""
    result = int64 if monoid.startswith("arg") else dtype or x.dtype
    return x.arena.node("scan", (x,), monoid=monoid, axis=axis, dtype=result)
