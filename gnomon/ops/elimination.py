"""LU factors of matrices, computed by lapack.py, with gradients by triangular solves.

Source of the gradient: F. de Hoog, R. Anderssen and M. Lukas, "Differentiation of matrix
functionals using triangular factorization" (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.dtypes import int32, int64
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.creation import eye, zeros
from gnomon.ops.diagonals import tril, triu
from gnomon.ops.factorizations import Gradients, columns, lines, matrices, triangular, turned
from gnomon.ops.indexing import take_along_axis
from gnomon.ops.joining import cat
from gnomon.ops.lapack import called
from gnomon.ops.linalg import matmul
from gnomon.ops.primitives import expand, reshape, unsqueeze
from gnomon.ops.registry import internal, op
from gnomon.ops.solving import fitting_sides, identity, same_batches
from gnomon.ops.sorting import argsort


def rows_of(pivots: Node, count: int, caller: str = "lu_factor") -> Node:
    """The rows of a matrix in the order of its factors, from the pivots."""
    exchanges = unsqueeze(pivots, pivots.rank - 1)
    gives = [((count,), int64)]
    return called("rows", exchanges, gives=gives, count=count, caller=caller)[0]


def check_pivots(name: str, factors: Node, pivots: Node) -> None:
    """Refuse factors and pivots whose shapes lu_factor does not give."""
    matrices(name, factors)
    wanted = (*factors.shape[:-2], min(factors.shape[-2:]))
    if not pivots.dtype.is_integer or pivots.shape != wanted:
        raise ShapeError(
            f"{name}: pivots of factors of {factors.shape} are int32 of {wanted}: got "
            f"{pivots.dtype.name} of {pivots.shape}. Give both results of lu_factor."
        )


def reordered(x: Node, order: Node) -> Node:
    """The rows of a matrix in a given order."""
    return take_along_axis(x, expand(unsqueeze(order, order.rank), x.shape), x.rank - 2)


def lu_gradient(gs: Gradients, ys: Sequence[Node], x: Node, **_: Any) -> Node | None:
    """P L⁻ᵀ (tril(Lᵀ g_L − g_V Vᵀ) + triu(g_U Uᵀ − Kᵀ g_K)) U⁻ᵀ, K below L and V beside U."""
    (m, n), (both, pivots), g = x.shape[-2:], ys[:2], gs[0]
    if g is None:
        return None
    k = min(m, n)
    square, of_square = (columns(lines(v, 0, k), 0, k) for v in (both, g))
    below, of_below = (columns(lines(v, k, m), 0, k) for v in (both, g))
    right, of_right = (columns(lines(v, 0, k), k, n) for v in (both, g))
    low = tril(square, -1) + eye(x.arena, k, dtype=x.dtype)
    of_low = matmul(turned(low), tril(of_square, -1)) - matmul(of_right, turned(right))
    of_high = matmul(triu(of_square), turned(triu(square))) - matmul(turned(below), of_below)
    inner = tril(of_low, -1) + triu(of_high)

    def over(v: Node) -> Node:
        return turned(triangular(square, turned(v), upper=True))

    corner = over(triangular(turned(square), inner, upper=True, unit=True))
    top = cat([corner, triangular(turned(square), of_right, upper=True, unit=True)], -1)
    whole = cat([top, over(of_below)], -2) if m > n else top
    return reordered(whole, argsort(rows_of(pivots, m)))


@internal(gradient=lu_gradient)
def eliminated(x: Node, *, pivot: bool = True, check: str = "") -> tuple[Node, ...]:
    """L and U in one matrix, the rows exchanged, and the first pivot that is 0, from 1."""
    k = min(x.shape[-2:])
    gives = [(x.shape[-2:], x.dtype), ((k,), int32), ((), int32)]
    return tuple(called("lu", x, gives=gives, pivot=bool(pivot), check=check))


@op(
    linalg=True,
    alone=True,
    prompt=True,
    results=("LU", "pivots", "info"),
    complex="formula",
    spelled="A=x",
)
def lu_factor_ex(
    x: Node, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Node, Node, Node]:
    """Results of lu_factor, and the 1-based number of the first pivot that is 0, or 0.

    Shapes: x (*b, m, n) -> (*b, m, n), (*b, min(m, n)), (*b)

    >>> gn.linalg.lu_factor_ex(zeros(2, 2)).info
    Tensor(1, dtype=gnomon.int32)
    """
    check = "lu_factor_ex" if check_errors else ""
    both, pivots, failed = eliminated(matrices("lu_factor", x), pivot=pivot, check=check)
    return cast(both, x.dtype), pivots, failed


@op(
    linalg=True,
    alone=True,
    prompt=True,
    results=("LU", "pivots"),
    complex="formula",
    spelled="A=x",
)
def lu_factor(x: Node, *, pivot: bool = True) -> tuple[Node, Node]:
    """L and U in one matrix, and the 1-based row that each step exchanged with its own.

    Shapes: x (*b, m, n) -> (*b, m, n), (*b, min(m, n))

    >>> factors, pivots = gn.linalg.lu_factor(tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> factors, pivots
    (Tensor([[2. , 4. ],
             [0.5, 1. ]]), Tensor([2, 2], dtype=gnomon.int32))
    """
    return lu_factor_ex(x, pivot=pivot)[:2]


@op(results=("P", "L", "U"), complex="formula")
def lu_unpack(
    LU_data: Node, LU_pivots: Node, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Node, Node, Node]:
    """P, L and U from the results of lu_factor; empty tensors for those not asked for.

    Shapes: LU_data (*b, m, n), LU_pivots (*b, k) -> (*b, m, m), (*b, m, min(m, n)), (*b, min(m, n),
    n) if unpack_data and unpack_pivots; LU_data (*b, m, n), LU_pivots (*b, k) -> (0), (*b, m,
    min(m, n)), (*b, min(m, n), n) if not unpack_pivots else (*b, m, m), (0), (0)

    >>> lu_unpack(*gn.linalg.lu_factor(tensor([[1.0, 3.0], [2.0, 4.0]]))).L
    Tensor([[1. , 0. ],
            [0.5, 1. ]])
    """
    check_pivots("lu_unpack", LU_data, LU_pivots)
    (m, n), arena, kind = LU_data.shape[-2:], LU_data.arena, LU_data.dtype
    k, nothing = min(m, n), zeros(arena, (0,), kind)
    exchanged, low, high = nothing, nothing, nothing
    if unpack_pivots:
        order = rows_of(LU_pivots, m, "lu_unpack")
        down = reshape(arena.node("iota", (), size=m, dtype=int64), (m, 1))
        exchanged = cast(elementwise("eq", down, unsqueeze(order, order.rank - 1)), kind)
    if unpack_data:
        low = tril(columns(LU_data, 0, k), -1) + eye(arena, m, k, dtype=kind)
        high = triu(lines(LU_data, 0, k))
    return exchanged, low, high


@op(linalg=("lu",), prompt=True, results=("P", "L", "U"), complex="formula", spelled="A=x")
def lu_decomposition(x: Node, *, pivot: bool = True) -> tuple[Node, Node, Node]:
    """P, L and U such that P · L · U = x: a permutation, a unit lower and an upper triangle.

    Shapes: x (*b, m, n) -> (*b, m, m), (*b, m, min(m, n)), (*b, min(m, n), n)

    >>> p, l, u = lu_decomposition(tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> u
    Tensor([[2., 4.],
            [0., 1.]])
    """
    return lu_unpack(*lu_factor(x, pivot=pivot))


@op(linalg=("lu_solve",), complex="formula")
def lu_solution(
    LU: Node, pivots: Node, B: Node, *, left: bool = True, adjoint: bool = False
) -> Node:
    """Solve A · x = B, x · A = B or, with adjoint, Aᵀ · x = B by the results of lu_factor.

    Shapes: LU (*b, n, n), pivots (*b, n), B (*b, n, k) -> (*b, n, k) if left; LU (*b, n, n), pivots
    (*b, n), B (*b, k, n) -> (*b, k, n) if not left

    >>> lu_solution(*gn.linalg.lu_factor(tensor([[0.0, 2.0], [1.0, 0.0]])), tensor([[4.0], [3.0]]))
    Tensor([[3.],
            [2.]])
    """
    if not left:
        return turned(lu_solution(LU, pivots, turned(B), adjoint=not adjoint))
    check_pivots("lu_solve", LU, pivots)
    kind = B.dtype
    both, rows = same_batches("lu_solve", matrices("lu_solve", LU, square=True), B)
    fitting_sides("lu_solve", both, rows, True)
    order = rows_of(expand(pivots, both.shape[:-1]), both.shape[-1], "lu_solve")
    if adjoint:
        half = triangular(turned(both), rows, upper=False)
        made = triangular(turned(both), half, upper=True, unit=True)
        return cast(reordered(made, argsort(order)), kind)
    half = triangular(both, reordered(rows, order), upper=False, unit=True)
    return cast(triangular(both, half, upper=True), kind)


@op(linalg=True, alone=True, prompt=True, results=("result", "info"), complex="formula")
def solve_ex(
    A: Node, B: Node, *, left: bool = True, check_errors: bool = False
) -> tuple[Node, Node]:
    """Result of solve, and the 1-based number of the first pivot that is 0, or 0.

    Shapes: A (*b, n, n), B (*b, n, k) -> (*b, n, k), (*b)

    >>> gn.linalg.solve_ex(tensor([[2.0]]), tensor([[6.0]]))
    solve_ex(result=Tensor([[3.]]), info=Tensor(0, dtype=gnomon.int32))
    """
    check = "solve_ex" if check_errors else ""
    wide_a = matrices("solve_ex", A, square=True)
    both, pivots, failed = eliminated(wide_a, check=check)
    vector = B.rank == 1 or B.shape == A.shape[:-1]
    rows = unsqueeze(B, B.rank) if vector else B
    made = lu_solution(both, pivots, rows, left=left or vector)
    return reshape(made, made.shape[:-1]) if vector else made, failed


@op(
    linalg=True,
    alone=True,
    prompt=True,
    results=("inverse", "info"),
    complex="formula",
    spelled="A=x",
)
def inv_ex(x: Node, *, check_errors: bool = False) -> tuple[Node, Node]:
    """The inverse, and the 1-based number of the first pivot that is 0, or 0.

    Shapes: x (*b, n, n) -> (*b, n, n), (*b)

    >>> gn.linalg.inv_ex(zeros(1, 1)).info
    Tensor(1, dtype=gnomon.int32)
    """
    one = cast(identity(matrices("inv_ex", x, square=True)), x.dtype)
    return solve_ex(x, one, check_errors=check_errors)


@op(linalg=True, aliases=("orgqr",), complex="formula", spelled="input2=tau")
def householder_product(x: Node, tau: Node) -> Node:
    """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it.

    Shapes: x (*b, m, n), tau (*b, k) -> (*b, m, n)

    >>> householder_product(tensor([[5.0], [1.0]]), tensor([1.0]))
    Tensor([[ 0.],
            [-1.]])
    >>> householder_product(ones(1, 2), ones(1))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: linalg.householder_product: needs at least as many rows as columns:
    got (1, 2).
    """
    kind, x = x.dtype, matrices("householder_product", x)
    m, n = x.shape[-2:]
    if m < n:
        raise ShapeError(
            f"linalg.householder_product: needs at least as many rows as columns: got {x.shape}."
        )
    one = eye(x.arena, m, n, dtype=x.dtype)
    low, made = tril(x, -1) + one, expand(one, x.shape)
    tau = cast(tau, x.dtype)
    for k in reversed(range(tau.shape[-1])):
        v = columns(low, k, k + 1)
        share = reshape(columns(unsqueeze(tau, tau.rank - 1), k, k + 1), (*tau.shape[:-1], 1, 1))
        made = made - matmul(v, matmul(turned(v), made)) * share
    return cast(made, kind)
