"""Routines of LAPACK on complex matrices, which are pairs of real numbers in a last axis.

Batches stand before the matrices, and BLAS has one thread, as in lapack.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import GradientError
from gnomon.ir.node import Node, Shape
from gnomon.ops import lapack
from gnomon.ops.fourier import as_numbers, as_pairs
from gnomon.ops.lapack import routine

__all__ = ["called_on_pairs"]

CLOSE = 1e-2
"""The largest gradient along phases of vectors that counts as a rounding error, as in PyTorch."""


def called_on_pairs(
    name: str, *xs: Node, gives: Sequence[tuple[Shape, DType]], **words: Any
) -> list[Node]:
    """Call a routine whose operands are matrices of pairs; returns its results."""
    return lapack.called(f"complex_{name}", *xs, gives=gives, inner=3, **words)


@routine
def complex_cholesky(a: np.ndarray, check: bool) -> tuple[np.ndarray, ...]:
    """The lower factor, and 0 or the order of the first leading minor that is not positive."""
    low, failed = lapack.cholesky(as_numbers(a), check)
    return as_pairs(low), failed


@routine
def complex_qr(a: np.ndarray, complete: bool) -> tuple[np.ndarray, ...]:
    """The factors Q and R: orthonormal columns and an upper triangle."""
    return tuple(map(as_pairs, lapack.qr(as_numbers(a), complete)))


@routine
def complex_svd(a: np.ndarray, full: bool) -> tuple[np.ndarray, ...]:
    """Left singular vectors above right ones, as columns padded with 0; singular values."""
    u, s, vh = np.linalg.svd(as_numbers(a), full)
    v, count = np.conj(vh.mT), max(u.shape[-1], vh.shape[-2])
    both = [
        np.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, count - x.shape[-1])], mode="constant")
        for x in (u, v)
    ]
    return as_pairs(np.concatenate(both, -2)), s


@routine
def complex_eigh(a: np.ndarray, lower: bool) -> tuple[np.ndarray, ...]:
    """The eigenvalues in ascending order, and the eigenvectors as columns."""
    values, vectors = lapack.eigh(as_numbers(a), lower)
    return values, as_pairs(vectors)


@routine
def complex_eig(a: np.ndarray, real: bool) -> tuple[np.ndarray, ...]:
    """The eigenvalues and eigenvectors of square matrices; real: imaginary parts are all 0."""
    numbers = as_numbers(a)
    if not np.isfinite(numbers).all():
        raise np.linalg.LinAlgError("the input tensor should not contain infs or NaNs")
    values, vectors = np.linalg.eig(a[..., 0] if real else numbers)
    return as_pairs(values.astype(numbers.dtype)), as_pairs(vectors.astype(numbers.dtype))


@routine
def complex_triangular(
    a: np.ndarray, b: np.ndarray, upper: bool, unit: bool
) -> tuple[np.ndarray, ...]:
    """Solve a · x = b for x, where a is triangular."""
    return (as_pairs(lapack.triangular(as_numbers(a), as_numbers(b), upper, unit)[0]),)


@routine
def complex_solve(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Solve a · x = b for x."""
    return (as_pairs(lapack.solve(as_numbers(a), as_numbers(b))[0]),)


@routine
def complex_slogdet(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The sign of the determinant, a complex number, and the logarithm of its size."""
    sign, size = lapack.slogdet(as_numbers(a))
    return as_pairs(sign).reshape(*sign.shape, 2), size


@routine
def complex_det(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The determinant of complex matrices."""
    (made,) = lapack.det(as_numbers(a))
    return (as_pairs(made).reshape(*made.shape, 2),)


@routine
def complex_lu(a: np.ndarray, pivot: bool, check: str) -> tuple[np.ndarray, ...]:
    """L and U in one matrix, the rows exchanged at each step from 1, and the first zero pivot."""
    both, places, failed = lapack.lu(as_numbers(a), pivot, check)
    return as_pairs(both), places, failed


@routine
def complex_phases(x: np.ndarray, along: np.ndarray, caller: str) -> tuple[np.ndarray, ...]:
    """Return x; raises GradientError if a gradient along the phases of vectors is not 0."""
    if not np.allclose(along, 0, CLOSE, CLOSE):
        raise GradientError(
            f"linalg.{caller}: complex vectors are specified up to multiplication by e^(i·phi), "
            "and this loss depends on phi, so it has no gradient. Make it depend on sizes, or on "
            "products of a vector with its conjugate."
        )
    return (x,)
