"""Routines on matrices, computed outside of programs: numpy's LAPACK, and additions to it.

Each takes matrices in the last axes and batches before them. BLAS runs with one thread: with more
it splits sums differently, and the bits would depend on the machine's number of cores.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from ast import literal_eval
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError, LinAlgError
from gnomon.forking import held
from gnomon.ir.memo import memo
from gnomon.ir.node import Node, Shape
from gnomon.ops.external import EXTERNALS, ExternalOp, external
from gnomon.ops.primitives import expand
from gnomon.ops.scans import LETTERS

__all__ = ["called"]

WHOLE = 64
"""The rows of triangles that LAPACK solves at once; larger ones are halved."""
BLOCK = 32
"""The columns that are eliminated one by one before the rest of the matrix is updated."""
SERIES = 15
"""The number of terms of the exponential of a small matrix."""
_one_call = held(threading.RLock())


@cache
def thread_count() -> tuple[Callable[[], int], Callable[[int], object]]:
    """The functions that get and set the number of threads of numpy's BLAS, if it is OpenBLAS."""
    library = ctypes.CDLL(sys.modules["numpy.linalg._umath_linalg"].__file__)
    for name in ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads"):
        if hasattr(library, name.format("set")):
            return library[name.format("get")], library[name.format("set")]
    return (lambda: 1), (lambda count: None)


@contextmanager
def one_thread() -> Generator[None, None, None]:
    """A context in which numpy's BLAS has one thread; only one call runs at a time."""
    asked, put = thread_count()
    with _one_call:
        before = asked()
        if before > 1:
            put(1)
        try:
            yield
        finally:
            if before > 1:
                put(before)


Routine = Callable[..., tuple[np.ndarray, ...]]


@memo
@cache
def keywords_of(said: str) -> dict[str, Any]:
    """The keywords of a routine, from their text."""
    return literal_eval(said)


def routine(compute: Routine) -> Routine:
    """Declare a routine as an external operation, with its keywords as text."""
    name = f"linalg.{compute.__name__}"

    def run(said: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        try:
            with one_thread(), np.errstate(all="ignore"):
                return [*compute(*arrays, **keywords_of(said))]
        except np.linalg.LinAlgError as error:
            raise LinAlgError(
                f"{name}: there is no result: {error}. Look for NaN and dependent rows."
            ) from None

    EXTERNALS[name] = ExternalOp(name, run, with_samples)
    return compute


def with_samples(node: Node, inputs: Sequence[Node], flags: Sequence[bool], size: int) -> Node:
    """The batching rule of routines: one more axis of batches in front."""
    pairs = zip(inputs, flags, strict=True)
    xs = [x if has else expand(x, (size, *x.shape)) for x, has in pairs]
    p = node.params
    kinds = tuple(((size, *shape), dtype) for shape, dtype in p["kinds"])
    own = LETTERS[xs[0].rank]
    taken, given = (tuple((own, *axes) for axes in side) for side in p["letters"])
    made = external(xs[0].arena, xs, p["key"], p["said"], kinds, (taken, given))
    return made[int(p["index"])]


def called(
    name: str,
    *xs: Node,
    gives: Sequence[tuple[Shape, DType]],
    inner: int = 2,
    **words: Any,
) -> list[Node]:
    """Call a routine; leading axes of its operands are batches, and the first is a matrix.

    gives: the axes after the batches, and the dtype, of each result. inner: the axes of a matrix.
    """
    batch = xs[0].shape[:-inner]
    kinds = tuple(((*batch, *shape), dtype) for shape, dtype in gives)
    own = tuple(LETTERS[: len(batch)])
    sides = (tuple(x.shape for x in xs), tuple(shape for shape, _ in kinds))
    taken, given = (
        tuple((*own, *(None for _ in shape[len(own) :])) for shape in side) for side in sides
    )
    return external(xs[0].arena, xs, f"linalg.{name}", repr(words), kinds, (taken, given))


# LAPACK's


def first_not_positive(a: np.ndarray) -> int:
    """The order of the first leading minor that is not positive; 0 if all are."""
    low, high = 1, a.shape[-1] + 1
    while low < high:
        middle = (low + high) // 2
        if is_positive(a[:middle, :middle]):
            low = middle + 1
        else:
            high = middle
    return 0 if low > a.shape[-1] else low


@routine
def cholesky(a: np.ndarray, check: bool) -> tuple[np.ndarray, ...]:
    """The lower factor, and 0 or the order of the first leading minor that is not positive."""
    failed = np.zeros(a.shape[:-2], np.int32)
    try:
        made = np.linalg.cholesky(a)
        if is_factor(made):
            return made, failed
    except np.linalg.LinAlgError:
        pass
    made = np.full_like(a, np.nan)
    for k in np.ndindex(failed.shape):
        failed[k] = first_not_positive(a[k])
        if not failed[k]:
            made[k] = np.linalg.cholesky(a[k])
        elif check:
            raise LinAlgError(
                f"linalg.cholesky: {nth(k)} is not positive definite: its leading minor of order "
                f"{failed[k]} is not positive. Add to its diagonal, or use cholesky_ex."
            )
    return made, failed


def is_positive(a: np.ndarray) -> bool:
    """Whether a matrix is positive definite."""
    try:
        return is_factor(np.linalg.cholesky(a))
    except np.linalg.LinAlgError:
        return False


def is_factor(low: np.ndarray) -> bool:
    """Whether a Cholesky factorization succeeded: its result has no NaN or misplaced infinity."""
    return bool(np.isfinite(low[..., :-1]).all()) and not np.isnan(low[..., -1:, -1:]).any()


def nth(k: tuple[int, ...]) -> str:
    """The text for a matrix of a batch."""
    return f"matrix {list(k)} of the batch" if k else "the matrix"


@routine
def qr(a: np.ndarray, complete: bool) -> tuple[np.ndarray, ...]:
    """The factors Q and R: orthonormal columns and an upper triangle."""
    return tuple(np.linalg.qr(a, "complete" if complete else "reduced"))


@routine
def svd(a: np.ndarray, full: bool) -> tuple[np.ndarray, ...]:
    """The left vectors, singular values in descending order, and right vectors as rows."""
    return tuple(np.linalg.svd(a, full))


@routine
def eigh(a: np.ndarray, lower: bool) -> tuple[np.ndarray, ...]:
    """The eigenvalues in ascending order, and the eigenvectors as columns."""
    return tuple(np.linalg.eigh(a, "L" if lower else "U"))


# what numpy lacks


@routine
def triangular(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool) -> tuple[np.ndarray, ...]:
    """Solve a · x = b for triangular a, by halves from the end."""
    if not upper:
        (x,) = triangular(a[..., ::-1, ::-1], b[..., ::-1, :], True, unit)
        return (np.ascontiguousarray(x[..., ::-1, :]),)
    n = a.shape[-1]
    if n < 2:
        return (b.copy() if unit else b / a if n else b,)
    if n <= WHOLE:
        # of a triangle LU is the triangle itself, where no zero and no NaN turns its pivots
        whole = np.triu(a, 1) + np.eye(n, dtype=a.dtype) if unit else np.triu(a)
        if np.isfinite(whole).all() and np.diagonal(whole, axis1=-2, axis2=-1).all():
            return (np.linalg.solve(whole, b),)
    half = n // 2
    (low,) = triangular(a[..., half:, half:], b[..., half:, :], True, unit)
    rest = b[..., :half, :] - a[..., :half, half:] @ low
    (high,) = triangular(a[..., :half, :half], rest, True, unit)
    return (np.concatenate([high, low], -2),)


@routine
def solve(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Solve a · x = b for x, which is all NaN if a contains one."""
    x = np.linalg.solve(a, b)
    return (np.where(np.isnan(a).any((-2, -1), keepdims=True), np.full_like(x, np.nan), x),)


@routine
def slogdet(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The sign of the determinant, and the logarithm of its size."""
    return tuple(map(np.asarray, np.linalg.slogdet(a)))


@routine
def det(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The determinant of matrices."""
    return (np.asarray(np.linalg.det(a)),)


def size_of(a: Any) -> np.ndarray:
    """The sizes by which LAPACK chooses pivots: |re| + |im| of complex numbers."""
    return np.abs(a.real) + np.abs(a.imag) if np.iscomplexobj(a) else np.abs(a)


@routine
def lu(a: np.ndarray, pivot: bool, check: str) -> tuple[np.ndarray, ...]:
    """L and U in one matrix, the rows exchanged at each step from 1, and the first zero pivot."""
    shape, (m, n) = a.shape, a.shape[-2:]
    a = a.reshape(prod(shape[:-2]), m, n)
    batch, steps = np.arange(len(a)), min(m, n)
    places = np.tile(np.arange(1, steps + 1, dtype=np.int32), (len(a), 1))
    for start in range(0, steps, BLOCK):
        stop = min(start + BLOCK, steps)
        for j in range(start, stop):
            if pivot:
                found = j + np.argmax(size_of(a[:, j:, j]), 1) if len(a) else batch
                places[:, j] = found + 1
                a[batch, j], a[batch, found] = a[batch, found], a[batch, j]
            head = a[:, j : j + 1, j : j + 1]
            a[:, j + 1 :, j : j + 1] /= np.where(head == 0, 1, head)
            a[:, j + 1 :, j + 1 : stop] -= a[:, j + 1 :, j : j + 1] * a[:, j : j + 1, j + 1 : stop]
        block = a[:, start:stop, start:stop]
        (a[:, start:stop, stop:],) = triangular(block, a[:, start:stop, stop:], False, True)
        a[:, stop:, stop:] -= a[:, stop:, start:stop] @ a[:, start:stop, stop:]
    zero = np.diagonal(a, 0, 1, 2) == 0
    failed = np.where(zero.any(1), zero.argmax(1) + 1 if steps else 0, 0).astype(np.int32)
    failed = failed.reshape(shape[:-2])
    if check and failed.any():
        k = tuple(map(int, np.argwhere(failed)[0]))
        raise LinAlgError(
            f"linalg.{check}: {nth(k)} is singular: pivot {failed[k]} is 0. "
            "Use lstsq or pinv, which do without an inverse."
        )
    return a.reshape(shape), places.reshape(*shape[:-2], steps), failed


@routine
def rows(pivots: np.ndarray, count: int, caller: str) -> tuple[np.ndarray, ...]:
    """The rows of a matrix in the order of its factors, from the exchanges."""
    pivots = pivots[..., 0, :]
    wrong = pivots[(pivots < 1) | (pivots > count)]
    if wrong.size:
        raise ArgumentError(
            f"{caller}: pivots are numbers of rows, from 1 to {count}: got {wrong[0]}. "
            "Use those of lu_factor."
        )
    order = np.tile(np.arange(count), (prod(pivots.shape[:-1]), 1))
    batch = np.arange(len(order))
    for j, found in enumerate(pivots.reshape(len(order), pivots.shape[-1]).T - 1):
        order[batch, j], order[batch, found] = order[batch, found], order[batch, j]
    return (order.reshape(*pivots.shape[:-1], count),)


@routine
def exponential(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The exponential Σ aᵏ / k!, by halving to a norm below 1/2 and squaring (Higham 2005)."""
    if a.shape[-1] == 1:
        return (np.exp(a),)
    x = np.where(np.isfinite(a).all((-2, -1), keepdims=True), a.astype(np.float64), np.nan)
    size = np.abs(x).sum(-2).max(-1, initial=0.0)
    halvings = np.maximum(np.ceil(np.log2(np.maximum(np.nan_to_num(size), 0.5))) + 1, 0)
    x = np.ldexp(x, -halvings.astype(int)[..., None, None])
    one = np.eye(a.shape[-1])
    total = one + x / SERIES
    for k in range(SERIES - 1, 0, -1):
        total = one + x @ total / k
    for k in range(int(halvings.max(initial=0))):
        total = np.where((halvings > k)[..., None, None], total @ total, total)
    return (total.astype(a.dtype),)
