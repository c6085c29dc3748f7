"""Factorizations of complex matrices, and their gradients; matrices are pairs in a last axis.

A gradient is dL/dre + i dL/dim, as PyTorch's: formulas are those of real matrices with conjugates.
The phases of singular vectors and eigenvectors are arbitrary; a loss that depends on them is
refused. Sources: factorizations.py; C. Boeddeker and others, "On the computation of complex valued
gradients" (2017), for eig.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gnomon.dtypes import int32
from gnomon.ir.node import Node
from gnomon.ops.complex_lapack import called_on_pairs
from gnomon.ops.creation import eye, like
from gnomon.ops.diagonals import diagonal_of, tril, triu
from gnomon.ops.elimination import reordered, rows_of
from gnomon.ops.factorizations import (
    Gradients,
    columns,
    differences,
    lines,
    on_diagonal,
    scaled_columns,
    turned,
)
from gnomon.ops.joining import cat, stack
from gnomon.ops.linalg import matmul
from gnomon.ops.primitives import expand, unsqueeze
from gnomon.ops.registry import internal
from gnomon.ops.scalars import where
from gnomon.ops.sorting import argsort
from gnomon.ops.view_parts import select

__all__ = [
    "complex_cholesky_factor",
    "complex_determinant",
    "complex_eigen",
    "complex_eigen_hermitian",
    "complex_eliminated",
    "complex_log_determinant",
    "complex_orthogonal",
    "complex_singular",
    "complex_solved",
    "complex_triangle",
]


@dataclass(frozen=True, slots=True)
class BothParts:
    """A complex matrix as two real ones."""

    re: Node
    im: Node

    def both(self, function: Callable[..., Node], *args: object) -> BothParts:
        """Apply a function to the real and to the imaginary part."""
        return BothParts(function(self.re, *args), function(self.im, *args))

    def each(self, function: Callable[[Node], Node]) -> BothParts:
        """Apply a function of one node to both parts."""
        return self.both(function)

    @property
    def turned(self) -> BothParts:
        """The conjugate transpose."""
        return BothParts(turned(self.re), -turned(self.im))

    @property
    def pair(self) -> Node:
        """The real and the imaginary part, stacked along a last axis."""
        return stack([self.re, self.im], -1)

    def __neg__(self) -> BothParts:
        return BothParts(-self.re, -self.im)

    def __add__(self, other: BothParts) -> BothParts:
        return BothParts(self.re + other.re, self.im + other.im)

    def __sub__(self, other: BothParts) -> BothParts:
        return BothParts(self.re - other.re, self.im - other.im)

    def __mul__(self, other: BothParts) -> BothParts:
        re = self.re * other.re - self.im * other.im
        return BothParts(re, self.re * other.im + self.im * other.re)

    def __matmul__(self, other: BothParts) -> BothParts:
        re = matmul(self.re, other.re) - matmul(self.im, other.im)
        return BothParts(re, matmul(self.re, other.im) + matmul(self.im, other.re))


def both_parts(pair: Node) -> BothParts:
    """The real and the imaginary part of pairs."""
    return BothParts(select(pair, -1, 0), select(pair, -1, 1))


def gradient_or_zero(g: Node | None, y: Node) -> BothParts:
    """The gradient of a result, or 0 if there is none."""
    return both_parts(like(y, 0.0, None, y.shape) if g is None else g)


def concatenated(*xs: BothParts, axis: int = -1) -> BothParts:
    """Concatenate matrices along an axis: side by side by default."""
    return BothParts(cat([x.re for x in xs], axis), cat([x.im for x in xs], axis))


def by_factor(x: BothParts, s: Node) -> BothParts:
    """The product x · diag(s), for real s."""
    return x.both(scaled_columns, s)


def from_lower(x: BothParts) -> BothParts:
    """The Hermitian matrix with this lower triangle; of the diagonal, only real parts count."""
    return BothParts(tril(x.re), tril(x.im, -1)) + BothParts(tril(x.re, -1), tril(x.im, -1)).turned


def certain(x: BothParts, along: Node, caller: str) -> BothParts:
    """Return x, after a check that its gradient along phases is 0."""
    return both_parts(without_phases(x.pair, along, caller=caller))


def phases_gradient(g: Node, y: Node, x: Node, along: Node, caller: str) -> tuple[Node, None]:
    """The gradient of `without_phases`: it passes unchanged."""
    return g, None


@internal(gradient=phases_gradient)
def without_phases(x: Node, along: Node, caller: str) -> Node:
    """Return x; refused, when it runs, if the second operand is not nearly 0."""
    gives = [(x.shape[-3:], x.dtype)]
    return called_on_pairs("phases", x, along, gives=gives, caller=caller)[0]


# equations


def triangle_gradient(
    g: Node, y: Node, a: Node, b: Node, upper: bool, unit: bool = False
) -> tuple[Node, Node]:
    """The gradients of a and b in y = solve(a, b): a solve with the conjugate transpose of a."""
    gb = over_triangle(both_parts(a).turned, both_parts(g), upper=not upper, unit=unit)
    keep, sign = (triu, 1) if upper else (tril, -1)
    ga = -(gb @ both_parts(y).turned)
    return ga.both(keep, sign if unit else 0).pair, gb.pair


@internal(gradient=triangle_gradient)
def complex_triangle(a: Node, b: Node, upper: bool, unit: bool = False) -> Node:
    """Solve a · x = b for x, where a is a triangle; both have the same batch."""
    gives = [(b.shape[-3:], b.dtype)]
    return called_on_pairs("triangular", a, b, gives=gives, upper=upper, unit=unit)[0]


def over_triangle(a: BothParts, b: BothParts, upper: bool, unit: bool = False) -> BothParts:
    """Solve a · x = b for a triangle a, with matrices in two parts."""
    return both_parts(complex_triangle(a.pair, b.pair, upper=upper, unit=unit))


def from_right(a: BothParts, b: BothParts) -> BothParts:
    """Solve x · aᴴ = b for x, where a is an upper triangle."""
    return over_triangle(a, b.turned, upper=True).turned


def complex_solved_gradient(g: Node, y: Node, a: Node, b: Node) -> tuple[Node, Node]:
    """The gradients of a complex solve: −(A⁻ᴴ g) yᴴ for A, and A⁻ᴴ g for b."""
    gb = both_parts(complex_solved(both_parts(a).turned.pair, g))
    return (-(gb @ both_parts(y).turned)).pair, gb.pair


@internal(gradient=complex_solved_gradient)
def complex_solved(a: Node, b: Node) -> Node:
    """Solve a · x = b for x."""
    return called_on_pairs("solve", a, b, gives=[(b.shape[-3:], b.dtype)])[0]


def inverse_turned(x: Node) -> BothParts:
    """The inverse of the conjugate transpose."""
    one = expand(eye(x.arena, x.shape[-2], dtype=x.dtype), x.shape[:-1])
    return both_parts(complex_solved(both_parts(x).turned.pair, stack([one, one * 0.0], -1)))


def of_each(re: Node, im: Node) -> BothParts:
    """One number for each matrix, as matrices of one element."""
    return BothParts(re, im).each(lambda v: unsqueeze(unsqueeze(v, v.rank), v.rank))


def determinant_gradient(g: Node, y: Node, x: Node) -> Node:
    """The gradient of a determinant: g · conj(det) · A⁻ᴴ."""
    share = both_parts(g) * BothParts(select(y, -1, 0), -select(y, -1, 1))
    return (inverse_turned(x) * of_each(share.re, share.im)).pair


@internal(gradient=determinant_gradient)
def complex_determinant(x: Node) -> Node:
    """The determinant of a complex matrix."""
    return called_on_pairs("det", x, gives=[((2,), x.dtype)])[0]


def log_determinant_gradient(gs: Gradients, ys: Sequence[Node], x: Node) -> Node:
    """The gradient of slogdet: (g_size − i Im(conj(g_sign) · sign)) · A⁻ᴴ."""
    if gs[1] is not None:
        return (inverse_turned(x) * of_each(gs[1], gs[1] * 0.0)).pair
    g, sign = gradient_or_zero(gs[0], ys[0]), both_parts(ys[0])
    angle = g.im * sign.re - g.re * sign.im
    return (inverse_turned(x) * of_each(angle * 0.0, angle)).pair


@internal(gradient=log_determinant_gradient)
def complex_log_determinant(x: Node) -> tuple[Node, Node]:
    """The sign of the determinant, a complex number, and the logarithm of its size."""
    sign, size = called_on_pairs("slogdet", x, gives=[((2,), x.dtype), ((), x.dtype)])
    return sign, size


# factors


def complex_cholesky_gradient(
    gs: Gradients, ys: Sequence[Node], x: Node, check: bool
) -> Node | None:
    """The gradient L⁻ᴴ Φ(Lᴴ g) L⁻¹, Φ half the Hermitian matrix with this lower triangle."""
    if gs[0] is None:
        return None
    low = both_parts(ys[0])
    inner = from_lower(low.turned @ both_parts(gs[0])).each(lambda part: part * 0.5)
    half = over_triangle(low.turned, inner, upper=True)
    return over_triangle(low.turned, half.turned, upper=True).pair


@internal(gradient=complex_cholesky_gradient)
def complex_cholesky_factor(x: Node, check: bool) -> tuple[Node, Node]:
    """The lower factor, and 0 or the order of the first leading minor that is not positive."""
    gives = [(x.shape[-3:], x.dtype), ((), int32)]
    low, failed = called_on_pairs("cholesky", x, gives=gives, check=check)
    return low, failed


def complex_orthogonal_gradient(gs: Gradients, ys: Sequence[Node], x: Node, complete: bool) -> Node:
    """The gradient (g_Q + Q · M) R⁻ᴴ; M: R g_Rᴴ − g_Qᴴ Q's lower triangle, made Hermitian."""
    q, r = map(both_parts, ys)
    gq, gr = (gradient_or_zero(g, y) for g, y in zip(gs, ys, strict=True))
    n, m, a = x.shape[-2], ys[1].shape[-3], both_parts(x)
    if complete and x.shape[-3] > n:
        q, gq = q.both(columns, 0, n), gq.both(columns, 0, n)
        r, gr, m = r.both(lines, 0, n), gr.both(lines, 0, n), n
    right = gr.both(columns, m, n)  # of a wide matrix, the columns that have no part in Q
    gq = gq + a.both(columns, m, n) @ right.turned if m < n else gq
    square = r.both(columns, 0, m)
    inner = square @ gr.both(columns, 0, m).turned - gq.turned @ q
    left = from_right(square, gq + q @ from_lower(inner))
    return (concatenated(left, q @ right) if m < n else left).pair


@internal(gradient=complex_orthogonal_gradient)
def complex_orthogonal(x: Node, complete: bool) -> tuple[Node, Node]:
    """The factors Q and R of complex matrices."""
    m, n = x.shape[-3:-1]
    k = m if complete else min(m, n)
    gives = [((m, k, 2), x.dtype), ((k, n, 2), x.dtype)]
    q, r = called_on_pairs("qr", x, gives=gives, complete=complete)
    return q, r


def complex_singular_gradient(gs: Gradients, ys: Sequence[Node], x: Node, full: bool) -> Node:
    """U (diag(g_S) + (skew(Uᴴ g_U) S + S skew(Vᴴ g_V))/E + skew(Uᴴ g_U)_jj/2S) Vᴴ, and the rest."""
    (m, n), s = x.shape[-3:-1], ys[1]
    k = min(m, n)
    u, v = (
        both_parts(ys[0]).both(lines, *rows).both(columns, 0, k) for rows in ((0, m), (m, m + n))
    )
    if gs[1] is not None:
        return (by_factor(u, gs[1]) @ v.turned).pair
    g = gradient_or_zero(gs[0], ys[0])
    gu, gv = (g.both(lines, *rows).both(columns, 0, k) for rows in ((0, m), (m, m + n)))
    along_u, along_v = u.turned @ gu, v.turned @ gv
    skew_u, skew_v = along_u - along_u.turned, along_v - along_v.turned
    total = unsqueeze(s, s.rank - 1) + unsqueeze(s, s.rank)
    gaps = differences(s, 1.0) * where(on_diagonal(s), 1.0, total)
    down = skew_v.each(lambda part: part * unsqueeze(s, s.rank))
    mixed = (by_factor(skew_u, s) + down).each(lambda part: where(on_diagonal(s), 0.0, part / gaps))
    own = skew_u.each(lambda part: where(on_diagonal(s), part / unsqueeze(s * 2.0, s.rank), 0.0))
    phases = diagonal_of(skew_u.im + skew_v.im, 0, s.rank - 1, s.rank)
    made = u @ certain(mixed + own, phases, "svd") @ v.turned
    made = made + by_factor(gu - u @ along_u, 1.0 / s) @ v.turned if m > k else made
    made = made + u @ by_factor(gv - v @ along_v, 1.0 / s).turned if n > k else made
    return made.pair


@internal(gradient=complex_singular_gradient)
def complex_singular(x: Node, full: bool) -> tuple[Node, Node]:
    """The left singular vectors above the right ones, as columns; the singular values."""
    m, n = x.shape[-3:-1]
    k, count = min(m, n), max(m, n) if full else min(m, n)
    gives = [((m + n, count, 2), x.dtype), ((k,), x.dtype)]
    both, s = called_on_pairs("svd", x, gives=gives, full=full)
    return both, s


def complex_hermitian_gradient(gs: Gradients, ys: Sequence[Node], x: Node, lower: bool) -> Node:
    """The gradient V (diag(g_λ) + skew(Vᴴ g_V) / 2E) Vᴴ, E the differences of eigenvalues."""
    values, v = ys[0], both_parts(ys[1])
    if gs[0] is not None:
        return (by_factor(v, gs[0]) @ v.turned).pair
    along = v.turned @ gradient_or_zero(gs[1], ys[1])
    gaps = differences(values, 1.0) * 2.0
    inner = (along - along.turned).each(lambda part: where(on_diagonal(values), 0.0, part / gaps))
    phases = diagonal_of(along.im, 0, values.rank - 1, values.rank)
    return (v @ certain(inner, phases, "eigh") @ v.turned).pair


@internal(gradient=complex_hermitian_gradient)
def complex_eigen_hermitian(x: Node, lower: bool) -> tuple[Node, Node]:
    """Eigenvalues of a Hermitian matrix, and its eigenvectors as columns."""
    n = x.shape[-2]
    gives = [((n,), x.dtype), ((n, n, 2), x.dtype)]
    values, vectors = called_on_pairs("eigh", x, gives=gives, lower=lower)
    return values, vectors


def complex_eigen_gradient(gs: Gradients, ys: Sequence[Node], x: Node, real: bool) -> Node:
    """The gradient V⁻ᴴ (diag(g_λ) + (Vᴴ g_V − Vᴴ V diag(Re Vᴴ g_V)) / conj(E)) Vᴴ of eig."""
    v, values = both_parts(ys[1]), both_parts(ys[0])
    diagonal = on_diagonal(values.re)
    if gs[0] is not None:
        inner = both_parts(gs[0]).each(lambda g: where(diagonal, unsqueeze(g, g.rank), 0.0))
    else:
        along = v.turned @ gradient_or_zero(gs[1], ys[1])
        kept, phases = (
            diagonal_of(part, 0, part.rank - 2, part.rank - 1) for part in (along.re, along.im)
        )
        rest = certain(along - by_factor(v.turned @ v, kept), phases, "eig")
        re, im = differences(values.re, 1.0), differences(values.im, 0.0)
        size = re * re + im * im
        inner = (rest * BothParts(re, im)).each(lambda part: where(diagonal, 0.0, part / size))
    return complex_solved(v.turned.pair, (inner @ v.turned).pair)


@internal(gradient=complex_eigen_gradient)
def complex_eigen(x: Node, real: bool) -> tuple[Node, Node]:
    """Eigenvalues of any square matrix, and eigenvectors of length 1 as columns."""
    n = x.shape[-2]
    gives = [((n, 2), x.dtype), ((n, n, 2), x.dtype)]
    values, vectors = called_on_pairs("eig", x, gives=gives, real=real)
    return values, vectors


def complex_eliminated_gradient(
    gs: Gradients, ys: Sequence[Node], x: Node, pivot: bool, check: str
) -> Node | None:
    """The gradient of a complex LU: lu_gradient with conjugates."""
    if gs[0] is None:
        return None
    (m, n), both, g = x.shape[-3:-1], both_parts(ys[0]), both_parts(gs[0])
    k = min(m, n)
    square, of_square = (v.both(lines, 0, k).both(columns, 0, k) for v in (both, g))
    below, of_below = (v.both(lines, k, m).both(columns, 0, k) for v in (both, g))
    right, of_right = (v.both(lines, 0, k).both(columns, k, n) for v in (both, g))
    low = square.both(tril, -1) + BothParts(eye(x.arena, k, dtype=x.dtype), square.im * 0.0)
    of_low = low.turned @ of_square.both(tril, -1) - of_right @ right.turned
    of_high = of_square.both(triu) @ square.both(triu).turned - below.turned @ of_below
    inner = of_low.both(tril, -1) + of_high.both(triu)
    corner = from_right(square, over_triangle(square.turned, inner, upper=True, unit=True))
    top = concatenated(corner, over_triangle(square.turned, of_right, upper=True, unit=True))
    whole = concatenated(top, from_right(square, of_below), axis=-2) if m > n else top
    return whole.both(reordered, argsort(rows_of(ys[1], m))).pair


@internal(gradient=complex_eliminated_gradient)
def complex_eliminated(x: Node, pivot: bool, check: str) -> tuple[Node, ...]:
    """L and U in one matrix, the rows exchanged, and the first pivot that is 0, from 1."""
    k = min(x.shape[-3:-1])
    gives = [(x.shape[-3:], x.dtype), ((k,), int32), ((), int32)]
    return tuple(called_on_pairs("lu", x, gives=gives, pivot=pivot, check=check))
