"""Python's operators on nodes, and how scalars, dtypes and ranks are brought together.

Only elementwise arithmetic; everything else that users call is in gnomon/ops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from gnomon.dtypes import DType, promote, weak
from gnomon.errors import ShapeError

if TYPE_CHECKING:
    from gnomon.ir.node import Arena, Node

Scalar = bool | int | float
SCALAR_TYPES = (bool, int, float)
KEPT_CONSTANTS = 256


def constant(arena: Arena, value: Scalar, dtype: DType) -> Node:
    """A rank-0 constant, kept as the exact value that the dtype can hold."""
    key = (type(value), value, dtype)
    found = arena.constants.get(key) if value else None
    if found is None:
        found = made_constant(arena, value, dtype)
        if value:  # not 0: it equals -0.0
            if len(arena.constants) > KEPT_CONSTANTS:
                arena.constants.clear()
            arena.constants[key] = found
    return found


def made_constant(arena: Arena, value: Scalar, dtype: DType) -> Node:
    """A constant's node, by its exact value."""
    if dtype.kind == "float" and not math.isnan(value):
        value = float(value) if dtype.bits == 64 else float(dtype.numpy.type(value))
    kind = {"bool": bool, "float": float}.get(dtype.kind, int)
    return arena.node("const", (), value=kind(value), dtype=dtype)


def elementwise(f: str, *operands: Node | Scalar) -> Node:
    """map[f] over operands of any rank and dtype: promoted, broadcast, scalars weak."""
    first = operands[0]
    if not isinstance(first, SCALAR_TYPES):
        if len(operands) == 1:
            return first.arena.node("map", (first,), f=f)
        if len(operands) == 2:
            return binary(f, first, operands[1])
    return mapped(f, operands)


def binary(f: str, x: Node, other: Node | Scalar) -> Node:
    """map[f] over a node and another or a number; short ways where nothing has to be changed."""
    if isinstance(other, float):
        if x.dtype.kind == "float":
            return x.arena.node("map", (x, constant(x.arena, other, x.dtype)), f=f)
    elif not isinstance(other, int) and x.dtype is other.dtype and x.shape == other.shape:
        return x.arena.node("map", (x, other), f=f)
    return mapped(f, (x, other))


def mapped(f: str, operands: tuple[Node | Scalar, ...]) -> Node:
    """map[f] over operands that are brought together first."""
    nodes = together(f, operands)
    return nodes[0].arena.node("map", tuple(nodes), f=f)


def together(f: str, operands: tuple[Node | Scalar, ...]) -> list[Node]:
    """The operands as nodes of one dtype and one rank."""
    nodes = [x for x in operands if not isinstance(x, SCALAR_TYPES)]
    assert nodes, f"{f}: at least one operand must be a node"
    dtype = nodes[0].dtype
    for x in nodes[1:]:
        dtype = promote(dtype, x.dtype)
    for x in operands:
        if isinstance(x, SCALAR_TYPES):
            dtype = weak(dtype, x)
    arena = nodes[0].arena
    lifted = [
        constant(arena, x, dtype) if isinstance(x, SCALAR_TYPES) else cast(x, dtype)
        for x in operands
    ]
    return align(f, lifted)


def align(f: str, nodes: list[Node]) -> list[Node]:
    """The nodes with leading axes of size 1, so that ranks agree; rank 0 may stay."""
    rank = max(len(x.shape) for x in nodes)
    aligned = [x if len(x.shape) in (0, rank) else with_leading_axes(x, rank) for x in nodes]
    for axis in range(rank):
        sizes = {x.shape[axis] for x in aligned if x.shape} - {1}
        if len(sizes) > 1:
            shapes = " and ".join(str(x.shape) for x in nodes)
            raise ShapeError(
                f"{f}: shapes do not broadcast: {shapes} differ in axis {axis - rank}."
            )
    return aligned


def with_leading_axes(x: Node, rank: int) -> Node:
    """x with axes of size 1 in front."""
    return x.arena.node("reshape", (x,), shape=(1,) * (rank - len(x.shape)) + x.shape)


def cast(x: Node, dtype: DType) -> Node:
    """x in another dtype; nothing when it has it already."""
    if x.dtype is dtype:
        return x
    if x.op == "const":
        return constant(x.arena, x.params["value"], dtype)
    return x.arena.node("map", (x,), f="cast", dtype=dtype)


def operator(f: str) -> Callable[[Node, Node | Scalar], Node]:
    """Python's operator of a scalar function, with the node on the left."""
    return lambda x, other: binary(f, x, other)


def reflected(f: str) -> Callable[[Node, Scalar], Node]:
    """Python's operator of a scalar function, with a number on the left."""
    return lambda x, other: mapped(f, (other, x))
