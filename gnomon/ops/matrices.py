"""Functions of matrices: powers, norms, condition numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import Axes, floats_only, one_axis
from gnomon.ops.elimination import solve_ex
from gnomon.ops.factorizations import columns, lines, matrices, svdvals, turned
from gnomon.ops.histories import unmoved
from gnomon.ops.joining import cat
from gnomon.ops.lapack import called
from gnomon.ops.linalg import matmul
from gnomon.ops.primitives import reshape
from gnomon.ops.reductions import fold
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.solving import identity, inverse
from gnomon.ops.statistics import np_norm, vector_norm
from gnomon.ops.view_primitives import permute

Order = float | str


@op(reference=np.linalg.matrix_power, linalg=True, complex="formula")
def matrix_power(x: Node, n: int) -> Node:
    """The n-th power of a matrix; negative n powers its inverse.

    Shapes: x (*b, m, m) -> (*b, m, m)

    >>> matrix_power(tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    Tensor([[1., 5.],
            [0., 1.]])
    """
    if n == 0:
        return unmoved(cast(identity(matrices("matrix_power", x, square=True)), x.dtype), x)
    square = inverse(x) if n < 0 else x
    powers: list[Node] = []
    for bit in reversed(f"{abs(n):b}"):
        powers += [square] if bit == "1" else []
        square = matmul(square, square)
    return reduce(matmul, powers)


def exponential_gradient(g: Node, y: Node, x: Node) -> Node:
    """The gradient: a block of the exponential of [[xᵀ, g], [0, xᵀ]] (Najfeld and Havel 1995)."""
    n, xt = x.shape[-1], turned(x)
    both = cat([cat([xt, g], -1), cat([xt * 0.0, xt], -1)], -2)
    return columns(lines(exponential(both), 0, n), n, 2 * n)


@internal(gradient=exponential_gradient)
def exponential(x: Node) -> Node:
    """The matrix exponential of float32 or float64 matrices, by a routine of lapack.py."""
    return called("exponential", x, gives=[(x.shape[-2:], x.dtype)])[0]


@op(linalg=True, complex="formula")
def matrix_exp(x: Node) -> Node:
    """The matrix exponential Σ xᵏ / k!, by scaling and squaring in float64.

    Shapes: x (*b, n, n) -> (*b, n, n)

    >>> matrix_exp(tensor([[0.0, 2.0], [0.0, 0.0]]))
    Tensor([[1., 2.],
            [0., 1.]])
    """
    return cast(exponential(matrices("matrix_exp", x, square=True)), x.dtype)


# norms


@op(linalg=True, alone=True, complex="formula")
def matrix_norm(
    x: Node,
    ord: Order = "fro",
    axis: Sequence[int] = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: object = None,
) -> Node:
    """A norm of matrices over two axes.

    ord: "fro", the root of the sum of squares; "nuc", the sum of singular values; 2 and −2, the
    largest and least of them; 1 and −1, the largest and least column sum of |x|; inf and −inf, row
    sum.

    >>> gn.linalg.matrix_norm(tensor([[3.0, 0.0], [4.0, 0.0]]), 1)
    Tensor(7.)
    >>> gn.linalg.matrix_norm(ones(2, 2), 3)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: linalg.matrix_norm: ord is "fro", "nuc", 1, 2, inf or minus one of
    the numbers: got 3.
    """
    x = x if dtype is None else cast(x, dtype_of(dtype))
    floats_only("linalg.matrix_norm", x)
    rows, across = (one_axis("linalg.matrix_norm", k, x.rank) for k in axis)
    kept = tuple(1 if k in (rows, across) else n for k, n in enumerate(x.shape))
    if ord == "fro":
        return vector_norm(x, 2, (rows, across), keepdims)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise ArgumentError(
            'linalg.matrix_norm: ord is "fro", "nuc", 1, 2, inf or minus one of the numbers: '
            f"got {ord!r}."
        )
    rest = [k for k in range(x.rank) if k not in (rows, across)]
    x = permute(x, (*rest, rows, across))
    if ord in ("nuc", 2, -2):
        sizes = svdvals(x)
    else:
        sizes = vector_norm(x, 1, x.rank - 2 if abs(ord) == 1 else x.rank - 1)
    folded = "add" if ord == "nuc" else "max" if ord > 0 else "min"
    made = fold(folded, sizes, (sizes.rank - 1,), False)
    return reshape(made, kept) if keepdims else made


@op(
    inline=True,
    reference=lambda x, p=2, axis=None, keepdims=False: np_norm(x, p, axis, keepdims),
    autocast="wide",
    complex="formula",
    none_is_all=True,
)
def norm(
    x: Node, p: float | str = 2, axis: Axes = None, keepdims: bool = False, *, dtype: object = None
) -> Node:
    """The p-norm of x over axes; p="fro" is 2, "nuc" the sum of a matrix's singular values.

    >>> norm(tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    Tensor([ 5., 10.])
    """
    x = x if dtype is None else cast(x, dtype_of(dtype))
    if p == "nuc":
        return matrix_norm(x, "nuc", (-2, -1) if axis is None else axis, keepdims)
    return vector_norm(x, 2 if p == "fro" else float(p), axis, keepdims)


@op(linalg=("cond",), complex="formula")
def condition_number(x: Node, p: Order | None = None) -> Node:
    """The condition number: the norm of x times the norm of its inverse; ∞ if singular.

    Shapes: x (*b, m, n) -> (*b)

    >>> condition_number(tensor([[2.0, 0.0], [0.0, 0.5]]))
    Tensor(4.)
    """
    if p in (None, 2, -2):
        s = svdvals(x)
        ends = [fold(row, s, (s.rank - 1,), False) for row in ("max", "min")]
        return ends[1] / ends[0] if p == -2 else ends[0] / ends[1]
    wide_x = matrices("cond", x, square=True)
    inverted, failed = solve_ex(wide_x, identity(wide_x))
    made = matrix_norm(wide_x, p) * matrix_norm(inverted, p)
    return cast(where(elementwise("gt", failed, 0), math.inf, made), x.dtype)
