"""Python's operators on nodes, and how scalars, dtypes and ranks are brought together.

Only elementwise arithmetic; all other operations for users are in gnomon/ops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import abs  # a user's program may replace the builtin
from typing import TYPE_CHECKING

import numpy as np

from gnomon.dtypes import DType, float32, promote, weak
from gnomon.errors import ArgumentError, ComplexError, ShapeError
from gnomon.ir.memo import Keyed
from gnomon.lazy import sizes, sym_float

if TYPE_CHECKING:
    from gnomon.ir.node import Arena, Node

Scalar = bool | int | float
SCALAR_TYPES = (bool, int, float)
KEPT_CONSTANTS = 256
LOGIC = ("and", "or", "xor")


WRAP = frozenset({"add", "sub", "mul", "and", "or", "xor"} | {f"bitwise_{f}" for f in LOGIC})
"""Functions of integers whose result depends on a number's low bits alone, so it may wrap."""
IN_FLOAT = frozenset({"mul", "div", "floor_divide"})
"""Functions of narrow floats that take a number rounded to float32, as PyTorch's do."""
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
"""Comparison -> the comparison with exchanged sides."""
ABOVE = {"lt": "le", "le": "le", "gt": "gt", "ge": "gt", "eq": "gt", "ne": "le"}
BELOW = {"lt": "lt", "le": "lt", "gt": "ge", "ge": "ge", "eq": "lt", "ne": "ge"}
"""Comparison with a bound beyond a dtype's limit -> the one with the limit itself."""


def constant(arena: Arena, value: Scalar, dtype: DType, name: str = "constant") -> Node:
    """A rank-0 constant with the value that the dtype can hold."""
    shown = value if isinstance(value, Keyed) else value or str(value)  # 0 equals -0.0
    key = (type(value), shown, dtype)
    found = arena.constants.get(key)
    if found is None:
        found = arena.node("const", (), value=value_in_dtype(name, value, dtype), dtype=dtype)
        if len(arena.constants) > KEPT_CONSTANTS:
            arena.constants.clear()
        arena.constants[key] = found
    return found


def value_in_dtype(name: str, value: Scalar, dtype: DType) -> Scalar:
    """The value of a number in a dtype; raises if an integer dtype cannot hold it."""
    if dtype.kind == "bool":
        return bool(value)
    if sizes.is_symbolic(value) and dtype.bits >= 32:
        if is_float(dtype):
            return sym_float.as_float(value, dtype.bits)
        if not isinstance(value, float):
            return value
    if dtype.kind == "float":
        return rounded(name, value, dtype)
    refuse_complex(name, dtype)
    low, high = dtype.limits
    if not low <= value <= high:
        raise ArgumentError(
            f"{name}: {dtype.name} holds {low} to {high}: got {value!r}. Cast the tensor first."
        )
    return int(value)


def is_float(dtype: DType) -> bool:
    """Whether a dtype is a floating-point dtype."""
    return dtype.kind == "float"


def refuse_complex(name: str, dtype: DType) -> None:
    """Refuse nodes of complex dtypes: a complex tensor is a view of a real one."""
    if dtype.kind == "complex":
        raise ComplexError(
            f"{name}: {dtype.name} is not supported here. Take view_as_real(x), or x.real and "
            "x.imag."
        )


def rounded(name: str, value: Scalar, dtype: DType) -> float:
    """A number rounded to a floating-point dtype."""
    if isinstance(value, int) and value.bit_length() > 1023:
        bits = value.bit_length()
        raise ArgumentError(f"{name}: an integer beyond every float: got one of {bits} bits.")
    value = float(value)
    if dtype.bits == 64 or not math.isfinite(value):
        return value
    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value))


def wrapped(value: Scalar, dtype: DType) -> Scalar:
    """A number cast to a dtype of integers: it wraps, a float as in codegen/scalar.py."""
    if not dtype.is_integer:
        return value
    low, high = dtype.limits
    if isinstance(value, float):
        if dtype.kind == "int" and dtype.bits >= 32:
            return 0 if math.isnan(value) else int(min(max(value, low), high))
        most = 1 << (31 if dtype.bits <= 16 else 63)
        value = int(value) if abs(value) < most or most <= value <= high else 0
    return low + (value - low) % (high - low + 1)


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
    """map[f] of a node and a node or number, with fast paths where nothing is converted."""
    if isinstance(other, SCALAR_TYPES):
        if x.dtype.kind == "float" and not (f in IN_FLOAT and is_finer(other, x.dtype)):
            return x.arena.node("map", (x, constant(x.arena, other, x.dtype, f)), f=f)
    elif x.dtype is other.dtype and equal_shapes(x.shape, other.shape):
        return x.arena.node("map", (x, other), f=f)
    return mapped(f, (x, other))


def equal_shapes(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two shapes are equal; sizes of shapes of other ranks are not compared."""
    return len(shape) == len(other) and shape == other


def mapped(f: str, operands: tuple[Node | Scalar, ...]) -> Node:
    """map[f] of operands that are promoted and broadcast first."""
    if f in MIRRORED:
        f, operands = within_limits(f, *operands)
    if f in IN_FLOAT:
        numbers = [x for x in operands if isinstance(x, SCALAR_TYPES)]
        nodes = [x for x in operands if not isinstance(x, SCALAR_TYPES)]
        if numbers and nodes and is_finer(numbers[0], nodes[0].dtype):
            return rounded_once(partial(elementwise, f), *operands)
    nodes = together(f, operands)
    return nodes[0].arena.node("map", tuple(nodes), f=f)


def is_finer(value: Scalar, dtype: DType) -> bool:
    """Whether a narrow floating-point dtype rounds a number, or may round it."""
    if not is_narrow(dtype):
        return False
    return sizes.is_symbolic(value) or rounded("number", value, dtype) != value


def is_narrow(dtype: DType) -> bool:
    """Whether a dtype is a 16-bit float, which is computed with in float32."""
    return dtype.kind == "float" and dtype.bits == 16


def rounded_once(function: Callable[..., Node], *operands: Node | Scalar) -> Node:
    """Apply a function; narrow floats are computed in float32 and rounded once at the end."""
    kinds = {x.dtype for x in operands if not isinstance(x, SCALAR_TYPES)}
    if len(kinds) != 1 or not all(map(is_narrow, kinds)):
        return function(*operands)
    wide = [x if isinstance(x, SCALAR_TYPES) else cast(x, float32) for x in operands]
    return cast(function(*wide), kinds.pop())


def within_limits(
    f: str, left: Node | Scalar, right: Node | Scalar
) -> tuple[str, tuple[Node | Scalar, ...]]:
    """A comparison with a number clamped to the integers' dtype, with the same outcome."""
    if isinstance(left, SCALAR_TYPES) and not isinstance(right, SCALAR_TYPES):
        f, left, right = MIRRORED[f], right, left
    if isinstance(right, int) and not isinstance(left, SCALAR_TYPES) and left.dtype.is_integer:
        low, high = left.dtype.limits
        f = ABOVE[f] if right > high else BELOW[f] if right < low else f
        right = min(max(right, low), high)
    return f, (left, right)


def together(f: str, operands: tuple[Node | Scalar, ...]) -> list[Node]:
    """The operands as nodes of one dtype and one rank: promoted, with leading axes of size 1."""
    nodes = [x for x in operands if not isinstance(x, SCALAR_TYPES)]
    if not nodes:
        raise ArgumentError(f"{f}: needs a tensor: got {', '.join(map(repr, operands))}.")
    dtype = nodes[0].dtype
    for x in nodes[1:]:
        dtype = promote(dtype, x.dtype)
    for x in operands:
        if isinstance(x, SCALAR_TYPES):
            dtype = weak(dtype, x)
    arena = nodes[0].arena
    lifted = [
        number_operand(f, arena, x, dtype) if isinstance(x, SCALAR_TYPES) else cast(x, dtype)
        for x in operands
    ]
    return align(f, lifted)


def number_operand(f: str, arena: Arena, value: Scalar, dtype: DType) -> Node:
    """A Python number as a constant operand of a function."""
    if f in WRAP and dtype.is_integer and abs(value) < 1 << 64:
        value = wrapped(value, dtype)
    return constant(arena, value, dtype, f)


def align(f: str, nodes: list[Node]) -> list[Node]:
    """The nodes with leading axes of size 1, so that ranks agree; nodes of rank 0 stay."""
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
    """x in another dtype; x itself if it has that dtype."""
    if x.dtype is dtype:
        return x
    if x.op == "const":
        return constant(x.arena, wrapped(x.params["value"], dtype), dtype)
    refuse_complex("to", dtype)
    return x.arena.node("map", (x,), f="cast", dtype=dtype)


def operator(f: str) -> Callable[[Node, Node | Scalar], Node]:
    """Python's operator of a scalar function, with the node on the left."""
    return lambda x, other: binary(f, x, other)


def reflected(f: str) -> Callable[[Node, Scalar], Node]:
    """Python's operator of a scalar function, with a number on the left."""
    return lambda x, other: mapped(f, (other, x))
