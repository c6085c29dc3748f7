"""Products of vectors, matrices and tensors; each is one contraction, its sums in canonical order.

einsum is in einsum.py. Axes of size 1 that the other operand lacks or repeats are dropped, not
expanded: a contraction broadcasts by not naming an axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.dtypes import accumulator, bool_, int8, int32, promote, uint8
from gnomon.errors import DtypeError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast
from gnomon.ops.arguments import joint_shape, one_axis
from gnomon.ops.joining import cat
from gnomon.ops.primitives import contract, reshape
from gnomon.ops.registry import op
from gnomon.ops.scans import LETTERS
from gnomon.ops.views import split


def alike(name: str, *xs: Node) -> list[Node]:
    """The operands in one dtype."""
    kind = xs[0].dtype
    for x in xs[1:]:
        kind = promote(kind, x.dtype)
    if kind is bool_:
        raise DtypeError(f"{name}: truth values have no products. Cast them first.")
    return [cast(x, kind) for x in xs]


def batch_letters(name: str, x: Node, y: Node, inner: int) -> tuple[Node, str, Node, str, str]:
    """Letters for the axes before the last `inner`; sizes 1 that the other grows are dropped."""
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


@op(reference=np.matmul)
def matmul(x: Node, y: Node) -> Node:
    """The product of matrices; axes before the last two are batches and broadcast.

    Shapes: x (?), y (?) -> (?)

    A vector on the left is a row, on the right a column, and its axis goes.

    >>> matmul(tensor([[1, 2], [3, 4]]), tensor([1, 1]))
    Tensor([3, 7])
    """
    if not x.rank or not y.rank:
        raise ShapeError(f"matmul: needs at least one axis each: got {x.shape} and {y.shape}.")
    inner, side = x.shape[-1], y.shape[-1 if y.rank == 1 else -2]
    if inner != side:
        where = "starts with" if y.rank < 3 else "has"
        raise ShapeError(
            f"matmul: inner sizes differ: left {x.shape} ends in {inner}, "
            f"right {y.shape} {where} {side}."
        )
    x, y = alike("matmul", x, y)
    left, right = "" if x.rank == 1 else "x", "" if y.rank == 1 else "y"
    if left and right:
        x, a, y, b, out = batch_letters("matmul", x, y, 2)
        return contract(f"{a}xz,{b}zy->{out}xy", x, y)
    a, b = LETTERS[: max(x.rank - 2, 0)], LETTERS[: max(y.rank - 2, 0)]
    return contract(f"{a}{left}z,{b}z{right}->{a or b}{left}{right}", x, y)


def exactly(name: str, x: Node, ranks: int, y: Node, also: int) -> None:
    """Refuse other numbers of axes."""
    if (x.rank, y.rank) != (ranks, also):
        raise ShapeError(
            f"{name}: needs {ranks} and {also} axes: got {x.shape} and {y.shape}. Use matmul."
        )


@op(inline=True, reference=np.matmul)
def mm(x: Node, y: Node) -> Node:
    """The product of two matrices.

    Shapes: x (n, k), y (k, m) -> (n, m)
    """
    exactly("mm", x, 2, y, 2)
    return matmul(x, y)


@op(reference=lambda x, y: np.matmul(x.astype(np.int32), y.astype(np.int32)))
def int_mm(x: Node, y: Node) -> Node:
    """The product of two matrices of bytes, summed in int32.

    Shapes: x (n, k), y (k, m) -> (n, m)

    It is exact while there are fewer than 2^15 steps, and wraps beyond int32.
    """
    exactly("int_mm", x, 2, y, 2)
    if x.dtype is not y.dtype or x.dtype not in (int8, uint8):
        names = f"{x.dtype.name} and {y.dtype.name}"
        raise DtypeError(f"int_mm: needs two of int8 or of uint8: got {names}. Use mm.")
    if x.shape[1] != y.shape[0]:
        raise ShapeError(f"int_mm: inner sizes differ: got {x.shape} and {y.shape}.")
    return contract("xz,zy->xy", x, y, int32)


@op(inline=True, reference=np.matmul)
def mv(x: Node, y: Node) -> Node:
    """The product of a matrix and a vector.

    Shapes: x (n, k), y (k) -> (n)
    """
    exactly("mv", x, 2, y, 1)
    return matmul(x, y)


@op(inline=True, reference=np.matmul)
def bmm(x: Node, y: Node) -> Node:
    """The products of two batches of matrices.

    Shapes: x (b, n, k), y (b, k, m) -> (b, n, m)
    """
    exactly("bmm", x, 3, y, 3)
    return matmul(x, y)


@op(inline=True, reference=np.dot, aliases=("inner", "vdot"))
def dot(x: Node, y: Node) -> Node:
    """The sum of products of two vectors.

    Shapes: x (n), y (n) -> ()
    """
    exactly("dot", x, 1, y, 1)
    return matmul(x, y)


@op(reference=np.vecdot)
def vecdot(x: Node, y: Node, axis: int = -1) -> Node:
    """The sums of products along an axis.

    Shapes: x (...), y (...) -> (?)
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


@op(reference=np.outer, aliases=("ger",))
def outer(x: Node, y: Node) -> Node:
    """Every element of one vector times every one of the other.

    Shapes: x (n), y (m) -> (n, m)
    """
    x, y = (reshape(v, (v.size,)) for v in alike("outer", x, y))
    return reshape(x, (x.size, 1)) * reshape(y, (1, y.size))


@op(reference=lambda x, y, axes=2: np.tensordot(x, y, axes))
def tensordot(x: Node, y: Node, axes: int | Sequence[Sequence[int]] = 2) -> Node:
    """The sum of products over the last axes of x and the first of y, or over pairs that are named.

    Shapes: x (?), y (?) -> (?)
    """
    if isinstance(axes, int):
        left, right = range(x.rank - axes, x.rank), range(axes)
    else:
        left, right = (
            [one_axis("tensordot", k, v.rank) for k in ([part] if isinstance(part, int) else part)]
            for part, v in zip(axes, (x, y), strict=True)
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


@op(reference=np.kron)
def kron(x: Node, y: Node) -> Node:
    """Every element of x times all of y, laid out in blocks.

    Shapes: x (?), y (?) -> (?)
    """
    rank = max(x.rank, y.rank)
    a, b = ((1,) * (rank - v.rank) + v.shape for v in (x, y))
    blocks = reshape(x, tuple(v for n in a for v in (n, 1)))
    inside = reshape(y, tuple(v for n in b for v in (1, n)))
    return reshape(blocks * inside, tuple(n * m for n, m in zip(a, b, strict=True)))


@op(reference=lambda x, y, axis=-1: np.cross(x, y, axis=axis))
def cross(x: Node, y: Node, axis: int = -1) -> Node:
    """The vector at right angles to two vectors of three elements.

    Shapes: x (...), y (...) -> (...)
    """
    axis = one_axis("cross", axis, x.rank)
    if x.shape[axis] != 3 or y.rank != x.rank or y.shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} must have 3 elements: {x.shape} and {y.shape}.")
    a, b = split(x, 1, axis), split(y, 1, axis)
    turns = ((1, 2), (2, 0), (0, 1))
    return cat([a[i] * b[j] - a[j] * b[i] for i, j in turns], axis)


# layers


def np_linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None):
    """linear by numpy."""
    return x @ weight.T + (0 if bias is None else bias)


@op(reference=np_linear)
def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    """x times the transposed weight, plus the bias; rounded once.

    Shapes: x (..., i), weight (o, i) -> (..., o)
    """
    if weight.rank != 2 or not x.rank or x.shape[-1] != weight.shape[1]:
        raise ShapeError(
            f"linear: weight must be (out, {x.shape[-1] if x.rank else 1}) for x {x.shape}: "
            f"got {weight.shape}."
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError(f"linear: bias must be {weight.shape[:1]}: got {bias.shape}.")
    x, weight = alike("linear", x, weight)
    names = LETTERS[: x.rank - 1]
    y = contract(f"{names}z,yz->{names}y", x, weight, accumulator(x.dtype))
    return cast(y if bias is None else y + cast(bias, y.dtype), x.dtype)


@op(
    inline=True,
    reference=lambda x, weights, biases=None: tuple(
        np_linear(x, w, None if biases is None else biases[k]) for k, w in enumerate(weights)
    ),
)
def linears(
    x: Node, weights: Sequence[Node], biases: Sequence[Node] | None = None
) -> tuple[Node, ...]:
    """Several linear layers on one x as a single product, so that its gradient is one sum.

    Shapes: x (..., i), weight (o, i) -> (..., o)
    """
    stacked = cat(list(weights), 0)
    y = linear(x, stacked) if biases is None else linear(x, stacked, cat(list(biases), 0))
    return split(y, [w.shape[0] for w in weights], -1)


@op(reference=lambda x, y, weight, bias=None: np.einsum("...i,oij,...j->...o", x, weight, y))
def bilinear(x: Node, y: Node, weight: Node, bias: Node | None = None) -> Node:
    """x · weight · y for every output, plus the bias.

    Shapes: x (..., i), y (..., j), weight (o, i, j) -> (..., o)
    """
    x, y, weight = alike("bilinear", x, y, weight)
    names = LETTERS[: x.rank - 1]
    half = contract(f"{names}x,vxz->{names}vz", x, weight)
    z = contract(f"{names}vz,{names}z->{names}v", half, y)
    return z if bias is None else z + bias


def plus(start: Node, product: Node, beta: Scalar, alpha: Scalar) -> Node:
    """beta · start + alpha · product."""
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (start if beta == 1 else start * beta) + product


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b))
def addmm(x: Node, mat1: Node, mat2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (mat1 @ mat2).

    Shapes: x (?), mat1 (n, k), mat2 (k, m) -> (n, m)
    """
    return plus(x, mm(mat1, mat2), beta, alpha)


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b))
def addmv(x: Node, mat: Node, vec: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (mat @ vec).

    Shapes: x (?), mat (n, k), vec (k) -> (n)
    """
    return plus(x, mv(mat, vec), beta, alpha)


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.outer(a, b))
def addr(x: Node, vec1: Node, vec2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · outer(vec1, vec2).

    Shapes: x (?), vec1 (n), vec2 (m) -> (n, m)
    """
    return plus(x, outer(vec1, vec2), beta, alpha)


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b))
def baddbmm(x: Node, batch1: Node, batch2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (batch1 @ batch2).

    Shapes: x (?), batch1 (b, n, k), batch2 (b, k, m) -> (b, n, m)
    """
    return plus(x, bmm(batch1, batch2), beta, alpha)
