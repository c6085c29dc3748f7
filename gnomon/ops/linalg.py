"""Products of vectors, matrices and tensors, each as one contraction in canonical order.

einsum is in einsum.py. Axes of size 1 that the other operand lacks or repeats are dropped, not
expanded: a contraction broadcasts by not naming an axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

import numpy as np

from gnomon.dtypes import accumulator, bool_, int8, int32, promote, uint8
from gnomon.errors import DtypeError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, elementwise
from gnomon.lazy import encodings
from gnomon.ops.arguments import check_layer, joint_shape, one_axis
from gnomon.ops.blends import plus
from gnomon.ops.canonical import CONTRACTED, leaves
from gnomon.ops.joining import cat
from gnomon.ops.primitives import contract, expand, reshape
from gnomon.ops.registry import op
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_parts import split


def alike(name: str, *xs: Node) -> list[Node]:
    """The operands in one dtype; raises for booleans."""
    kind = xs[0].dtype
    for x in xs[1:]:
        kind = promote(kind, x.dtype)
    if kind is bool_:
        raise DtypeError(f"{name}: truth values have no products. Cast them first.")
    return [cast(x, kind) for x in xs]


def batch_letters(name: str, x: Node, y: Node, inner: int) -> tuple[Node, str, Node, str, str]:
    """Letters for the axes before the last `inner`; sizes 1 that broadcast are dropped."""
    batches = [v.shape[: v.rank - inner] for v in (x, y)]
    out = joint_shape(name, batches)
    letters = LETTERS[: len(out)]
    kept: list[list[int]] = []
    for batch in batches:
        first = len(out) - len(batch)
        kept.append([k for k in range(first, len(out)) if batch[k - first] == out[k]])
    lowered = [
        reshape(v, (*(out[k] for k in places), *v.shape[v.rank - inner :]))
        for v, places in zip((x, y), kept, strict=True)
    ]
    own = ["".join(letters[k] for k in places) for places in kept]
    return lowered[0], own[0], lowered[1], own[1], letters


@op(reference=np.matmul, autocast="narrow", operator="__matmul__", linalg=True, complex="product")
def matmul(x: Node, y: Node) -> Node:
    """The matrix product; axes before the last two are batches and broadcast.

    Shapes: x (k), y (k) -> (); x (..., n, k), y (k) -> (..., n); x (k), y (..., k, m) -> (..., m);
    x (..., n, k), y (..., k, m) -> (..., n, m)

    A vector on the left is a row, on the right a column; its axis is removed.

    >>> matmul(tensor([[1, 2], [3, 4]]), tensor([1, 1]))
    Tensor([3, 7])
    >>> matmul(ones(2, 3), ones(4, 5))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: matmul: inner sizes differ: left (2, 3) ends in 3, right (4, 5) starts
    with 4.
    """
    if not x.rank or not y.rank:
        raise ShapeError(f"matmul: needs at least one axis each: got {x.shape} and {y.shape}.")
    fitting("matmul", x, y)
    x, y = alike("matmul", x, y)
    left, right = "" if x.rank == 1 else "x", "" if y.rank == 1 else "y"
    if left and right:
        x, a, y, b, out = batch_letters("matmul", x, y, 2)
        return contract(f"{a}xz,{b}zy->{out}xy", x, y)
    a, b = LETTERS[: max(x.rank - 2, 0)], LETTERS[: max(y.rank - 2, 0)]
    return contract(f"{a}{left}z,{b}z{right}->{a or b}{left}{right}", x, y)


def fitting(name: str, x: Node, y: Node) -> None:
    """Refuse a product whose inner sizes differ."""
    inner, side = x.shape[-1], y.shape[-1 if y.rank == 1 else -2]
    if inner != side:
        where = "starts with" if y.rank < 3 else "has"
        raise ShapeError(
            f"{name}: inner sizes differ: left {x.shape} ends in {inner}, "
            f"right {y.shape} {where} {side}."
        )


def exactly(name: str, x: Node, ranks: int, y: Node, also: int) -> None:
    """Refuse operands of other ranks, or with inner sizes that differ."""
    if (x.rank, y.rank) != (ranks, also):
        raise ShapeError(
            f"{name}: needs {ranks} and {also} axes: got {x.shape} and {y.shape}. Use matmul."
        )
    fitting(name, x, y)


@op(inline=True, reference=np.matmul, autocast="narrow", complex="product", spelled="mat2=y")
def mm(x: Node, y: Node) -> Node:
    """The product of two matrices.

    Shapes: x (n, k), y (k, m) -> (n, m)

    >>> mm(tensor([[1, 2], [3, 4]]), tensor([[1, 0], [0, 10]]))
    Tensor([[ 1, 20],
            [ 3, 40]])
    """
    exactly("mm", x, 2, y, 2)
    return matmul(x, y)


@op(reference=lambda x, y: np.matmul(x.astype(np.int32), y.astype(np.int32)))
def int_mm(x: Node, y: Node) -> Node:
    """The product of two int8 or uint8 matrices, summed in int32.

    Shapes: x (n, k), y (k, m) -> (n, m)

    The sum is exact for fewer than 2^15 steps, and wraps beyond int32.

    >>> int_mm(tensor([[100]], dtype="int8"), tensor([[100]], dtype="int8"))
    Tensor([[10000]], dtype=gnomon.int32)
    >>> int_mm(ones(1, 1), ones(1, 1))
    Traceback (most recent call last):
    gnomon.errors.DtypeError: int_mm: needs two of int8 or of uint8: got float32 and float32. Use
    mm.
    """
    exactly("int_mm", x, 2, y, 2)
    if x.dtype is not y.dtype or x.dtype not in (int8, uint8):
        names = f"{x.dtype.name} and {y.dtype.name}"
        raise DtypeError(f"int_mm: needs two of int8 or of uint8: got {names}. Use mm.")
    return contract("xz,zy->xy", x, y, int32)


@op(inline=True, reference=np.matmul, autocast="narrow", complex="product", spelled="vec=y")
def mv(x: Node, y: Node) -> Node:
    """The product of a matrix and a vector.

    Shapes: x (n, k), y (k) -> (n)

    >>> mv(tensor([[1, 2], [3, 4]]), tensor([1, 10]))
    Tensor([21, 43])
    """
    exactly("mv", x, 2, y, 1)
    return matmul(x, y)


@op(inline=True, reference=np.matmul, autocast="narrow", complex="product", spelled="mat2=y")
def bmm(x: Node, y: Node) -> Node:
    """The products of two batches of matrices.

    Shapes: x (b, n, k), y (b, k, m) -> (b, n, m)

    >>> bmm(ones(5, 2, 3), ones(5, 3, 4)).shape
    Size([5, 2, 4])
    >>> bmm(ones(5, 2, 3), ones(1, 3, 4))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: bmm: batches differ: got (5, 2, 3) and (1, 3, 4). Use matmul.
    """
    exactly("bmm", x, 3, y, 3)
    if x.shape[0] != y.shape[0]:
        raise ShapeError(f"bmm: batches differ: got {x.shape} and {y.shape}. Use matmul.")
    return matmul(x, y)


@op(inline=True, reference=np.dot, complex="product", spelled="tensor=y")
def dot(x: Node, y: Node) -> Node:
    """The dot product of two vectors.

    Shapes: x (n), y (n) -> ()

    >>> dot(tensor([1, 2, 3]), tensor([1, 10, 100]))
    Tensor(321)
    """
    exactly("dot", x, 1, y, 1)
    return matmul(x, y)


@op(inline=True, reference=np.vdot, complex="turned product")
def vdot(x: Node, y: Node) -> Node:
    """The dot product of two vectors, with complex elements of the first conjugated.

    Shapes: x (n), y (n) -> ()

    >>> vdot(tensor([1, 2, 3]), tensor([1, 10, 100]))
    Tensor(321)
    """
    return dot(x, y)


@op(reference=np.vecdot, linalg=True, complex="turned product")
def vecdot(x: Node, y: Node, axis: int = -1) -> Node:
    """The dot products along an axis.

    Shapes: x (..., n), y (..., n) -> (...)

    >>> vecdot(tensor([[1, 2], [3, 4]]), tensor([1, 10]))
    Tensor([21, 43])
    >>> vecdot(ones(2), ones(3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: vecdot: sizes differ along the axis: (2,) and (3,).
    """
    x, y = alike("vecdot", *(moved_last("vecdot", v, axis) for v in (x, y)))
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"vecdot: sizes differ along the axis: {x.shape} and {y.shape}.")
    x, a, y, b, out = batch_letters("vecdot", x, y, 1)
    return contract(f"{a}z,{b}z->{out}", x, y)


def moved_last(name: str, x: Node, axis: int) -> Node:
    """x with an axis moved to the end."""
    axis = one_axis(name, axis, x.rank)
    order = (*(k for k in range(x.rank) if k != axis), axis)
    return x if axis == x.rank - 1 else x.arena.node("permute", (x,), order=order)


@op(reference=np.outer, aliases=("ger",), linalg=True, complex="product", spelled="vec2=y")
def outer(x: Node, y: Node) -> Node:
    """The outer product of two vectors.

    Shapes: x (n), y (m) -> (n, m)

    >>> outer(tensor([1, 2]), tensor([3, 4]))
    Tensor([[3, 4],
            [6, 8]])
    """
    x, y = reshape(x, (x.size, 1)), reshape(y, (1, y.size))
    return elementwise("and", x, y) if x.dtype is bool_ and y.dtype is bool_ else x * y


@op(
    reference=lambda x, y, axes=2: np.tensordot(x, y, axes),
    linalg=True,
    complex="product",
    spelled="b=y",
)
def tensordot(x: Node, y: Node, axes: int | Sequence[Sequence[int]] = 2) -> Node:
    """The sum of products over the last axes of x and the first of y, or over the given pairs.

    Shapes: x (*a, *k), y (*k, *b) -> (*a, *b); len(k) == axes; x (*s), y (*t) -> (*p); len(p) ==
    len(s) + len(t) - 2 * len(axes[0])

    >>> tensordot(ones(2, 3, 4), ones(3, 4, 5)).shape
    Size([2, 5])
    >>> tensordot(ones(2, 3), ones(4, 5), 1)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: tensordot: the axes 1 do not fit: (2, 3) and (4, 5).
    """
    if isinstance(axes, int):
        left, right = range(x.rank - axes, x.rank), range(axes)
    else:
        left, right = (
            [one_axis("tensordot", k, v.rank) for k in ([part] if isinstance(part, int) else part)]
            for part, v in zip(axes, (x, y), strict=True)
        )
    x, y = (
        grown_to(v, own, w, other)
        for v, own, w, other in ((x, left, y, right), (y, right, x, left))
    )
    if [x.shape[k] for k in left] != [y.shape[k] for k in right]:
        raise ShapeError(f"tensordot: the axes {axes} do not fit: {x.shape} and {y.shape}.")
    names = list(LETTERS[: x.rank])
    others = iter(LETTERS[x.rank : x.rank + y.rank])
    pairs = dict(zip(right, left, strict=True))
    theirs = [names[pairs[k]] if k in pairs else next(others) for k in range(y.rank)]
    out = [c for k, c in enumerate(names) if k not in pairs.values()]
    out += [c for k, c in enumerate(theirs) if k not in pairs]
    x, y = alike("tensordot", x, y)
    return contract(f"{''.join(names)},{''.join(theirs)}->{''.join(out)}", x, y)


def grown_to(x: Node, axes: Sequence[int], y: Node, others: Sequence[int]) -> Node:
    """x with its axes of size 1 expanded to the sizes of the axes of y that they meet."""
    sizes = {k: y.shape[m] for k, m in zip(axes, others, strict=False) if x.shape[k] == 1}
    return expand(x, tuple(sizes.get(k, n) for k, n in enumerate(x.shape)))


@op(inline=True, reference=np.inner, complex="product")
def inner(x: Node, y: Node) -> Node:
    """The dot products of the last axes of x and y.

    Shapes: x (n), y (n) -> (); x (*s, n), y (*t, n) -> (*s, *t)

    >>> inner(tensor([[1, 2], [3, 4]]), tensor([1, 10]))
    Tensor([21, 43])
    """
    if not x.rank or not y.rank:
        return x * y
    return dot(x, y) if x.rank == y.rank == 1 else tensordot(x, y, ((-1,), (-1,)))


@op(reference=np.kron, complex="product")
def kron(x: Node, y: Node) -> Node:
    """The Kronecker product: every element of x times y, as a block.

    Shapes: x (*s), y (*t) -> (*p); p = s * t

    >>> kron(tensor([[1, 10]]), tensor([[1, 2]]))
    Tensor([[ 1,  2, 10, 20]])
    """
    rank = max(x.rank, y.rank)
    a, b = ((1,) * (rank - v.rank) + v.shape for v in (x, y))
    blocks = reshape(x, tuple(v for n in a for v in (n, 1)))
    inside = reshape(y, tuple(v for n in b for v in (1, n)))
    return reshape(blocks * inside, tuple(n * m for n, m in zip(a, b, strict=True)))


@op(
    reference=lambda x, y, axis=None: np.cross(x, y, axis=(axis, x.shape.index(3))[axis is None]),
    linalg=True,
    standard=(("axis", -1),),
    complex="product",
)
def cross(x: Node, y: Node, axis: int | None = None) -> Node:
    """The cross product of vectors along an axis; None takes the first axis of size 3.

    Shapes: x (...), y (...) -> (...)

    >>> cross(tensor([1, 0, 0]), tensor([0, 1, 0]))
    Tensor([0, 0, 1])
    >>> cross(ones(2), ones(2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: cross: axis 0 must have 3 elements: (2,) and (2,).
    """
    first = x.shape.index(3) if 3 in x.shape else -1
    axis = one_axis("cross", first if axis is None else axis, x.rank)
    if x.shape[axis] != 3 or y.rank != x.rank or y.shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} must have 3 elements: {x.shape} and {y.shape}.")
    a, b = split(x, 1, axis), split(y, 1, axis)
    cycles = ((1, 2), (2, 0), (0, 1))
    return cat([a[i] * b[j] - a[j] * b[i] for i, j in cycles], axis)


# layers


def np_linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None):
    """Compute linear with numpy."""
    return x @ weight.T + (0 if bias is None else bias)


@op(reference=np_linear, autocast="narrow", functional=True, complex="formula", layer="weight")
def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    """x · weightᵀ + bias, rounded once.

    Shapes: x (..., i), weight (o, i), bias (o) -> (..., o)

    >>> linear(tensor([1.0, 2.0]), tensor([[1.0, 0.0], [0.0, 3.0]]), tensor([0.5, 0.5]))
    Tensor([1.5, 6.5])
    >>> linear(ones(3), ones(4, 2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: linear: weight must be (out, 3) for x (3,): got (4, 2).
    """
    check_layer(x, weight.shape, bias)
    x, weight = alike("linear", x, weight)
    names = LETTERS[: x.rank - 1]
    y = contract(f"{names}z,yz->{names}y", x, weight, accumulator(x.dtype))
    return cast(y if bias is None else y + cast(bias, y.dtype), x.dtype)


@op(
    inline=True,
    reference=lambda x, weights, biases=None: tuple(
        np_linear(x, w, None if biases is None else biases[k]) for k, w in enumerate(weights)
    ),
    autocast="narrow",
    functional=True,
    layer="weights",
)
def linears(
    x: Node, weights: Sequence[Node], biases: Sequence[Node] | None = None
) -> tuple[Node, ...]:
    """Several linear layers of the same x as a single product.

    Its gradient is then one sum. Outputs come in as many groups as that sum has leaves, each with a
    part of every layer's, so that a rank with a part of every layer has whole leaves. Weights that
    are stored in blocks are not joined: the join would decode them whole.

    Shapes: x (..., i), weights (o_k, i), biases (o_k) -> (..., o_k)

    >>> [y.shape for y in linears(ones(2, 4), [ones(5, 4), ones(3, 4)])]
    [Size([2, 5]), Size([2, 3])]
    """
    sizes = [w.shape[0] for w in weights]
    given = [None] * len(sizes) if biases is None else biases
    if prod(x.shape[:-1]) < FEW_ROWS or any(map(encodings.is_encoded, weights)):
        return tuple(linear(x, w, b) for w, b in zip(weights, given, strict=True))
    groups = gcd(leaves(sum(sizes), CONTRACTED), *sizes)
    stacked = in_groups(weights, groups)
    y = linear(x, stacked, None if biases is None else in_groups(biases, groups))
    y = reshape(y, (*x.shape[:-1], groups, y.shape[-1] // groups))
    parts = split(y, [n // groups for n in sizes], -1)
    return tuple(reshape(part, (*x.shape[:-1], n)) for part, n in zip(parts, sizes, strict=True))


FEW_ROWS = 16
"""The rows below which a product costs as much as reading its weights, so none are stacked."""


def in_groups(parts: Sequence[Node], groups: int) -> Node:
    """Parts joined along the first axis by groups: the first of each part, then the second."""
    cut = [reshape(x, (groups, x.shape[0] // groups, *x.shape[1:])) for x in parts]
    return reshape(cat(cut, 1), (sum(x.shape[0] for x in parts), *parts[0].shape[1:]))


@op(
    reference=lambda x, y, weight, bias=None: np.einsum("...i,oij,...j->...o", x, weight, y),
    functional=True,
    spelled="input1=x input2=y",
)
def bilinear(x: Node, y: Node, weight: Node, bias: Node | None = None) -> Node:
    """x · weight · y for every output, plus the bias.

    Shapes: x (..., i), y (..., j), weight (o, i, j), bias (o) -> (..., o)

    >>> bilinear(tensor([1.0, 2.0]), tensor([3.0]), tensor([[[1.0], [10.0]]]))
    Tensor([63.])
    """
    x, y, weight = alike("bilinear", x, y, weight)
    names = LETTERS[: x.rank - 1]
    half = contract(f"{names}x,vxz->{names}vz", x, weight)
    z = contract(f"{names}vz,{names}z->{names}v", half, y)
    return z if bias is None else z + bias


@op(
    reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    autocast="narrow",
    complex="formula",
)
def addmm(x: Node, mat1: Node, mat2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (mat1 @ mat2).

    Shapes: x (...), mat1 (n, k), mat2 (k, m) -> (n, m)

    >>> addmm(ones(1), tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]]), beta=10)
    Tensor([[21.]])
    """
    return plus(x, mm(mat1, mat2), beta, alpha)


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b), complex="formula")
def addmv(x: Node, mat: Node, vec: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (mat @ vec).

    Shapes: x (...), mat (n, k), vec (k) -> (n)

    >>> addmv(tensor([1.0]), tensor([[1.0, 2.0]]), tensor([3.0, 4.0]))
    Tensor([12.])
    """
    return plus(x, mv(mat, vec), beta, alpha)


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.outer(a, b), complex="formula")
def addr(x: Node, vec1: Node, vec2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · outer(vec1, vec2).

    Shapes: x (...), vec1 (n), vec2 (m) -> (n, m)

    >>> addr(zeros(2, 2), tensor([1.0, 2.0]), tensor([3.0, 4.0]))
    Tensor([[3., 4.],
            [6., 8.]])
    """
    return plus(x, outer(vec1, vec2), beta, alpha, refusing="addr")


@op(
    reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    autocast="narrow",
    complex="formula",
)
def baddbmm(x: Node, batch1: Node, batch2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (batch1 @ batch2).

    Shapes: x (...), batch1 (b, n, k), batch2 (b, k, m) -> (b, n, m)

    >>> baddbmm(ones(1), ones(2, 1, 3), ones(2, 3, 1)).flatten()
    Tensor([4., 4.])
    """
    return plus(x, bmm(batch1, batch2), beta, alpha)
