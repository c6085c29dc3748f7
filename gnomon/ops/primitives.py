"""The primitives that compute: inputs, constants, map, reduce, contract.

Scans, views and lookups have files of their own. Each defines, in this order: shape and dtype,
signature, value, gradient.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gnomon.dtypes import DType, accumulator, bool_
from gnomon.errors import DtypeError, ShapeError
from gnomon.ir.node import PRIMITIVES, Node, Primitive, Shape, Signature, primitive, topological
from gnomon.ir.operators import cast, elementwise, equal_shapes
from gnomon.ops.canonical import leaves, role_in_contract, role_in_reduce
from gnomon.ops.index_primitives import ViewPrimitive
from gnomon.ops.scalars import SCALARS, where


def letters(rank: int, stem: str = "i") -> tuple[str, ...]:
    """The axis letters of one tensor, distinct within it."""
    return tuple(f"{stem}{k}" for k in range(rank))


# leaves


@primitive("input")
class Input(Primitive):
    """A value from outside of the program."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return params["shape"], params["dtype"]

    def signature(self, node: Node) -> Signature:
        return Signature((), letters(node.rank))


@primitive("const")
class Const(Primitive):
    """A constant of rank 0."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return (), params["dtype"]

    def signature(self, node: Node) -> Signature:
        return Signature((), ())

    def value(self, node: Node):
        return np.asarray(node.params["value"], node.dtype.numpy)


@primitive("iota")
class Iota(Primitive):
    """The integers 0, 1, 2, ... along one axis."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return (params["size"],), params["dtype"]

    def signature(self, node: Node) -> Signature:
        return Signature((), ("i0",))

    def value(self, node: Node) -> np.ndarray:
        size: int = node.params["size"]
        return np.arange(size).astype(node.dtype.numpy)


# elementwise


@primitive("map")
class Map(Primitive):
    """A scalar function of inputs that broadcast: equal ranks with sizes equal or 1, or rank 0."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        scalar = SCALARS[params["f"]]
        first = inputs[0]
        if scalar.result == "same" and not scalar.others:
            # most maps: one dtype, and one shape beside scalars
            if len(inputs) == scalar.arity == 1:
                return first.shape, first.dtype
            if len(inputs) == scalar.arity == 2 and first.dtype is inputs[1].dtype:
                left, right = first.shape, inputs[1].shape
                if left == right or not right:
                    return left, first.dtype
        assert len(inputs) == scalar.arity, (
            f"{scalar.name}: {scalar.arity} arguments, got {len(inputs)}"
        )
        same = inputs[scalar.others :]
        if any(x.dtype is not same[0].dtype for x in same):
            names = ", ".join(x.dtype.name for x in same)
            raise DtypeError(f"{scalar.name}: dtypes differ: {names}. Cast them to one.")
        dtypes: dict[str, DType] = {"bool": bool_, "cast": params.get("dtype", bool_)}
        dtype = dtypes.get(scalar.result, same[0].dtype)
        return broadcast_shape(scalar.name, [x.shape for x in inputs]), dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)

        def kept(x: Node) -> list[str | None]:
            sizes = zip(names, x.shape, node.shape, strict=True)
            return [a if n == m else None for a, n, m in sizes]

        return Signature([kept(x) if x.shape else () for x in node.inputs], names)

    def value(self, node: Node, *inputs: Any) -> Any:
        if node.params["f"] == "bitcast":
            return inputs[0].view(node.dtype.numpy)
        narrow = any(x.dtype.itemsize < 4 and x.dtype.kind in "fV" for x in inputs)
        wide = [x.astype(np.float32) if narrow and x.dtype.kind in "fV" else x for x in inputs]
        with np.errstate(all="ignore"):
            return np.asarray(SCALARS[node.params["f"]].value(*wide)).astype(node.dtype.numpy)

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        rows = SCALARS[node.params["f"]].gradients
        return tuple(
            sum_to(row(g, node, *node.inputs), x.shape)
            if row and need and x.dtype.is_floating_point
            else None
            for row, x, need in zip(rows, node.inputs, needed, strict=True)
        )


def broadcast_shape(name: str, shapes: list[Shape]) -> Shape:
    """The shape to which these broadcast; ranks are equal or 0."""
    ranked = [s for s in shapes if s]
    if not ranked:
        return ()
    sizes: list[int] = []
    for column in zip(*ranked, strict=True):
        distinct = set(column) - {1}
        if len(distinct) > 1 and any([n != m for n, m in pairwise(distinct)]):
            raise ShapeError(f"{name}: shapes do not broadcast: {' and '.join(map(str, shapes))}.")
        sizes.append(distinct.pop() if distinct else 1)
    return tuple(sizes)


def sum_to(g: Node, shape: Shape) -> Node:
    """Sum g over the axes along which a value of this shape was broadcast."""
    if equal_shapes(g.shape, shape):
        return g
    if not shape:
        return reduce("add", g, tuple(range(g.rank)))
    axes = tuple(k for k, n in enumerate(shape) if n == 1 and g.shape[k] != 1)
    return reshape(reduce("add", g, axes), shape) if axes else expand(g, shape)


# folds

MONOIDS = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}
"""Monoid -> numpy's fold; "add" starts from -0.0, which keeps the bits of what is added."""


@primitive("reduce")
class Reduce(Primitive):
    """Fold one axis away; `leaves` and `lanes` fix the order of a sum."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,), axis = inputs, params["axis"]
        return x.shape[:axis] + x.shape[axis + 1 :], params["dtype"]

    def signature(self, node: Node) -> Signature:
        names, axis = letters(node.inputs[0].rank), node.params["axis"]
        return Signature(
            [names], names[:axis] + names[axis + 1 :], {names[axis]: node.params["monoid"]}
        )

    def leaves(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[int, ...]:
        (x,) = inputs
        axis: int = params["axis"]
        if params["monoid"] not in ("add", "mul"):
            return (1,)
        # without lanes it was no last axis, and further ones may be folded by now
        return (leaves(x.shape[axis], role_in_reduce(axis, x.rank + (not params["lanes"]))),)

    def value(self, node: Node, x: np.ndarray) -> Any:
        wide = (
            x.astype(accumulator(node.inputs[0].dtype).numpy)
            if node.params["monoid"] in ("add", "mul")
            else x
        )
        fold = MONOIDS[node.params["monoid"]]
        if x.shape[node.params["axis"]] == 0:
            return np.full(
                node.shape, identity_of(node.params["monoid"], node.dtype), node.dtype.numpy
            )
        with np.errstate(all="ignore"):
            return np.asarray(fold.reduce(wide, axis=node.params["axis"])).astype(node.dtype.numpy)

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        (x,), axis, monoid = node.inputs, node.params["axis"], node.params["monoid"]
        g, y = unsqueeze(g, axis), unsqueeze(node, axis)
        if monoid == "add":
            return (cast(expand(g, x.shape), x.dtype),)
        assert monoid in ("max", "min"), (
            f"reduce[{monoid}] has no gradient: write it as a composite"
        )
        # a maximum gives its gradient to the winners, in equal parts when they tie; NaN wins
        won = elementwise("or", elementwise("eq", x, y), elementwise("isnan", x))
        ties = unsqueeze(reduce("add", cast(won, x.dtype), (axis,)), axis)
        return (where(won, expand(g / ties, x.shape), 0.0),)


def identity_of(monoid: str, dtype: DType) -> float | int | bool:
    """The identity of a fold; for a sum +0, as the sum of no elements."""
    if monoid in ("add", "or"):
        return 0
    if monoid in ("mul", "and"):
        return 1
    if dtype.is_floating_point:
        return float("-inf") if monoid == "max" else float("inf")
    if dtype is bool_:
        return monoid == "min"
    limits = np.iinfo(dtype.numpy)
    return int(limits.min if monoid == "max" else limits.max)


def reduce(monoid: str, x: Node, axes: tuple[int, ...], dtype: DType | None = None) -> Node:
    """Fold axes away, the innermost first, each in its canonical order; dtype is the result's."""
    rank, result = x.rank, dtype or x.dtype
    for axis in sorted(axes, reverse=True):
        ordered = monoid in ("add", "mul")
        # between axes a sum stays in its accumulator: it is rounded once, at the end
        last = axis == min(axes)
        kept = result if last or not ordered else accumulator(result)
        params = {"monoid": monoid, "axis": axis, "lanes": axis == rank - 1, "dtype": kept}
        (count,) = PRIMITIVES["reduce"].leaves((x,), params)
        x = x.arena.node("reduce", (x,), leaves=count, **params)
    return x


# products


@primitive("contract")
class Contract(Primitive):
    """Einstein sum of two tensors by its spec; `leaves` fixes the order of each sum."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        left, right, out = split_spec(params["spec"])
        size: dict[str, int] = {}
        for part, x in zip((left, right), inputs, strict=True):
            if len(part) != x.rank:
                raise ShapeError(
                    f"contract {params['spec']}: {part} does not name the axes of {x.shape}."
                )
            for letter, n in zip(part, x.shape, strict=True):
                if size.setdefault(letter, n) != n:
                    a, b = (x.shape for x in inputs)
                    raise ShapeError(
                        f"contract {params['spec']}: axis {letter} differs: {a} and {b}."
                    )
        if inputs[0].dtype is not inputs[1].dtype:
            a, b = (x.dtype.name for x in inputs)
            raise DtypeError(f"contract: dtypes differ: {a} and {b}. Cast them to one.")
        return tuple(size[letter] for letter in out), params["dtype"]

    def signature(self, node: Node) -> Signature:
        left, right, out = split_spec(node.params["spec"])
        return Signature([left, right], out, dict.fromkeys(summed(left, right, out), "add"))

    def leaves(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[int, ...]:
        left, right, out = split_spec(params["spec"])
        size = dict(zip(left + right, inputs[0].shape + inputs[1].shape, strict=True))
        return tuple(
            leaves(size[c], role_in_contract(left.index(c), right.index(c), len(left), len(right)))
            for c in summed(left, right, out)
        )

    def value(self, node: Node, a: np.ndarray, b: np.ndarray) -> Any:
        wide = accumulator(node.inputs[0].dtype).numpy
        with np.errstate(all="ignore"):
            y = np.einsum(node.params["spec"], a.astype(wide), b.astype(wide), optimize=True)
        return np.asarray(y).astype(node.dtype.numpy)

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        (a, b), (left, right, out) = node.inputs, split_spec(node.params["spec"])
        wide, g = accumulator(g.dtype), before_widening(g, a.dtype)
        return (
            cast(contract(f"{out},{right}->{left}", g, cast(b, g.dtype), wide), a.dtype)
            if needed[0]
            else None,
            cast(contract(f"{out},{left}->{right}", g, cast(a, g.dtype), wide), b.dtype)
            if needed[1]
            else None,
        )


def before_widening(g: Node, dtype: DType) -> Node:
    """The value that was cast from `dtype` to g, if g is such a cast; else g."""
    widened = g.op == "map" and g.params["f"] == "cast" and g.inputs[0].dtype is dtype
    return g.inputs[0] if widened and dtype is not g.dtype else g


def split_spec(spec: str) -> tuple[str, str, str]:
    """The letters of the left operand, the right operand and the result."""
    inputs, out = spec.split("->")
    left, right = inputs.split(",")
    return left, right, out


def summed(left: str, right: str, out: str) -> list[str]:
    """The letters that a contraction sums over, outermost first."""
    return [letter for letter in dict.fromkeys(left + right) if letter not in out]


def contract(spec: str, a: Node, b: Node, dtype: DType | None = None) -> Node:
    """Sum of products over the letters that the result lacks; dtype is the result's."""
    left, right, out = split_spec(spec)
    a, left = drop_lonely(a, left, right + out)
    b, right = drop_lonely(b, right, left + out)
    spec = f"{left},{right}->{''.join([c for c in out if c in left + right])}"
    counts = PRIMITIVES["contract"].leaves((a, b), {"spec": spec})
    return a.arena.node("contract", (a, b), spec=spec, leaves=counts, dtype=dtype or a.dtype)


def leaves_of(result: Node) -> tuple[int, ...]:
    """The leaves of the last contract behind a result: one count per summed letter."""
    *_, last = (x for x in topological([result]) if x.op == "contract")
    return last.params["leaves"]


def drop_lonely(x: Node, own: str, others: str) -> tuple[Node, str]:
    """Sum an operand over letters that only it has."""
    axes = tuple(k for k, letter in enumerate(own) if letter not in others)
    return (reduce("add", x, axes), "".join(c for c in own if c in others)) if axes else (x, own)


# identities with a meaning


@primitive("detach")
class Detach(ViewPrimitive):
    """The value of x, through which no gradient passes."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return inputs[0].shape, inputs[0].dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        return Signature([names], names)

    def value(self, node: Node, x: np.ndarray) -> Any:
        return x


@primitive("barrier")
class Barrier(Detach):
    """The value of x, across which nothing is rewritten; it also keeps recomputed values apart."""

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        return (g,)


# the few views that gradients above need; their primitives are in view_primitives.py


def reshape(x: Node, shape: Shape) -> Node:
    """x with another shape of the same elements in order."""
    shape = tuple(shape)
    return x if equal_shapes(x.shape, shape) else x.arena.node("reshape", (x,), shape=shape)


def unsqueeze(x: Node, axis: int) -> Node:
    """x with an axis of size 1 before `axis`."""
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def expand(x: Node, shape: Shape) -> Node:
    """x broadcast to a shape; leading axes are added."""
    shape = tuple(shape)
    if equal_shapes(x.shape, shape):
        return x
    x = reshape(x, (1,) * (len(shape) - x.rank) + x.shape)
    return x if x.shape == shape else x.arena.node("expand", (x,), shape=shape)


def flip(x: Node, axis: int) -> Node:
    """x reversed along an axis."""
    bounds = tuple((n - 1, -1, -1) if k == axis else (0, n, 1) for k, n in enumerate(x.shape))
    return x.arena.node("slice", (x,), bounds=bounds)
