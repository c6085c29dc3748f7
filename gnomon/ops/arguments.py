"""Reading of arguments that many operations share: axes, shapes, pairs, and dtypes to compute in.

No operation is here; messages begin with the name of the calling operation.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeGuard

from gnomon.dtypes import DType, accumulator, default_float, int64, uint64
from gnomon.errors import ArgumentError, AxisError, DtypeError, ShapeError
from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import SCALAR_TYPES, Scalar, cast, constant, together
from gnomon.ops.primitives import expand, reshape, sum_to

Axes = int | Sequence[int] | None
OfNodes = Callable[[Node], Node] | Callable[[Node, Node], Node] | Callable[[Node, Node, Node], Node]


def one_axis(name: str, axis: object, rank: int) -> int:
    """An axis counted from the front; a tensor of rank 0 is treated as having one axis.

    >>> one_axis("sum", -1, 3)
    2
    """
    if not isinstance(axis, int):
        raise ArgumentError(f"{name}: an axis is an integer: got {axis!r}.")
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise AxisError(f"{name}: no axis {axis} in a tensor of {rank} axes.")
    return axis % max(rank, 1)


def many_axes(name: str, axis: Axes, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, ascending; None is all of them, () is none.

    >>> many_axes("sum", (-1, 0), 3), many_axes("sum", None, 2)
    ((0, 2), (0, 1))
    """
    if axis is None:
        return tuple(range(rank))
    return tuple(sorted(distinct_axes(name, axis, rank))) if rank else ()


def distinct_axes(name: str, axis: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the given order; raises if one is given twice."""
    asked: tuple[object, ...] = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    found = tuple(one_axis(name, k, rank) for k in asked)
    if len(set(found)) != len(found):
        raise ArgumentError(f"{name}: an axis is named twice: {asked}.")
    return found


def flag(name: str, what: str, value: object) -> None:
    """Refuse a value that is not True, False, 0 or 1."""
    if not isinstance(value, int) or value not in (0, 1):
        raise ArgumentError(f"{name}: {what} is True or False: got {value!r}.")


def sizes(shape: int | Sequence[int], more: Sequence[int]) -> Shape:
    """A shape written as one sequence or as several numbers.

    >>> sizes(2, (3,)), sizes((2, 3), ())
    ((2, 3), (2, 3))
    """
    return (shape, *more) if isinstance(shape, int) else (*shape, *more)


def listed(name: str, xs: Sequence[Node | Sequence[Node]]) -> Sequence[Node]:
    """Tensors written as one sequence or as several arguments."""
    several = xs[0] if len(xs) == 1 and isinstance(xs[0], (list, tuple)) else xs
    for x in several:
        if not isinstance(x, Node):
            raise ArgumentError(f"{name}: expected tensors: got {type(x).__name__}.")
    return typing.cast("Sequence[Node]", several)


def completed(name: str, shape: Shape, count: int) -> Shape:
    """The shape with its one -1 replaced by the size that holds `count` elements.

    >>> completed("reshape", (2, -1), 6)
    (2, 3)
    """
    shape = tuple([n + 0 for n in shape])  # True is a 1 from here on
    known = prod(n for n in shape if n != -1)
    if shape.count(-1) > 1 or any(n < -1 for n in shape):
        raise ShapeError(f"{name}: sizes are not negative, and at most one is -1: got {shape}.")
    if -1 in shape and known and count % known == 0:
        return tuple(count // known if n == -1 else n for n in shape)
    if -1 in shape or known != count:
        raise ShapeError(f"{name}: {count} elements do not fill {shape}.")
    return shape


def repeated(
    name: str, value: Any, count: int, what: str = "", least: int | None = None
) -> tuple[int, ...]:
    """One number per axis, from one number for all or from one each; `what` is at least `least`.

    >>> repeated("conv2d", 3, 2), repeated("conv2d", (1, 2), 2)
    ((3, 3), (1, 2))
    """
    if isinstance(value, bytes):
        raise ArgumentError(f"{name}: expected integers: got {value!r}.")
    found = (value,) * count if isinstance(value, int) else tuple(value)
    found = found * count if len(found) == 1 else found
    if len(found) != count:
        raise ArgumentError(f"{name}: expected one number or {count}: got {value!r}.")
    if any(not isinstance(n, int) for n in found):
        raise ArgumentError(f"{name}: expected integers: got {value!r}.")
    if least is not None and min(found, default=least) < least:
        raise ArgumentError(f"{name}: {what} is at least {least}: got {value!r}.")
    return found


def choice(name: str, what: str, value: str, allowed: Sequence[str]) -> str:
    """Return a word if it is among the allowed ones; raises ArgumentError otherwise."""
    if value not in allowed:
        raise ArgumentError(f"{name}: {what} must be one of {', '.join(allowed)}: got {value!r}.")
    return value


def floating(x: Node) -> Node:
    """x as floats; integers and booleans are cast to the default dtype."""
    return x if x.dtype.is_floating_point else cast(x, default_float())


def wide(x: Node) -> Node:
    """x cast to the dtype in which it is summed, at least float32."""
    return cast(x, accumulator(floating(x).dtype))


def in_float(function: OfNodes, *xs: Node) -> Node:
    """Apply a function; narrow floats are computed in float32 and rounded once."""
    return cast(function(*map(wide, xs)), xs[0].dtype)


def floats_only(name: str, *xs: Node | None) -> None:
    """Refuse tensors that are not floats; None is skipped."""
    for x in xs:
        if x is not None and not x.dtype.is_floating_point:
            raise DtypeError(f"{name}: needs floats: got {x.dtype.name}. Use x.astype(float32).")


def positions_only(name: str, index: Node) -> None:
    """Refuse positions that are not integers."""
    if not index.dtype.is_integer:
        raise DtypeError(
            f"{name}: positions must be integers: got {index.dtype.name}. Cast them to int64."
        )


def promoted(name: str, *xs: Node | float) -> list[Node]:
    """The operands in one dtype and one rank, not broadcast yet."""
    return together(name, xs)


def broadcast(name: str, *xs: Node | float) -> list[Node]:
    """The operands in one dtype and one shape."""
    nodes = together(name, xs)
    shape = joint_shape(name, [x.shape for x in nodes])
    return [expand(x, shape) for x in nodes]


def joint_shape(name: str, shapes: Sequence[Shape]) -> Shape:
    """The shape to which all of these broadcast.

    >>> joint_shape("add", [(2, 1), (3,)])
    (2, 3)
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    found: list[int] = []
    for column in zip(*padded, strict=True):
        distinct = set(column) - {1}
        if len(distinct) > 1:
            raise ShapeError(f"{name}: shapes do not broadcast: {' and '.join(map(str, shapes))}.")
        found.append(distinct.pop() if distinct else 1)
    return tuple(found)


def sum_like(g: Node, x: Node) -> Node:
    """A gradient summed over the axes along which x was broadcast."""
    extra = g.rank - x.rank
    lifted = (1,) * extra + x.shape if x.rank else ()
    return cast(reshape(sum_to(g, lifted), x.shape), x.dtype)


def filling_of(name: str, x: Node, value: Node | Scalar) -> Node:
    """A value to fill x with, in the dtype of x."""
    if isinstance(value, Node):
        return cast(value, x.dtype)
    return constant(x.arena, value, x.dtype, name)


def is_number(value: object) -> TypeGuard[Scalar]:
    """Whether a value is a Python number."""
    return isinstance(value, SCALAR_TYPES)


def kept_sizes(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with these axes reduced to size 1."""
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def result_of_sum(x: Node, dtype: DType | None) -> DType:
    """The dtype of a sum: floats keep theirs, integers and booleans use int64, as in PyTorch."""
    if dtype is not None:
        return dtype
    return x.dtype if x.dtype.is_floating_point else int64


def standard_sum(kind: DType, dtype: object) -> object:
    """The dtype of a sum by the array API standard: uint64 of unsigned integers by default."""
    return uint64 if dtype is None and kind.kind == "uint" else dtype


def check_layer(x: Node, weight: Shape, bias: Node | None) -> None:
    """Refuse operands of a linear layer that do not fit the shape of its weight."""
    if len(weight) != 2 or not x.rank or x.shape[-1] != weight[1]:
        raise ShapeError(
            f"linear: weight must be (out, {x.shape[-1] if x.rank else 1}) for x {x.shape}: "
            f"got {weight}."
        )
    if bias is not None and bias.shape != weight[:1]:
        raise ShapeError(f"linear: bias must be {weight[:1]}: got {bias.shape}.")
