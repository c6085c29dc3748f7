"""The canonical order of a sum of products in plain numpy: the bit oracle of products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gnomon.codegen.kernels.order import chunk_length, combine_counts


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c rounded once."""
    return fma_single(a, b, c) if c.dtype == np.float32 else fma_double(a, b, c)


def fma_single(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """In float32: the product is exact in float64, and rounding the sum to odd hides no bit."""
    product, addend = np.broadcast_arrays(a.astype(np.float64) * b, c.astype(np.float64))
    with np.errstate(invalid="ignore"):
        total = product + addend
        back = total - product
        error = (product - (total - back)) + (addend - back)
    pattern = total.view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (pattern & 1 == 0)
    # the neighbour on the error's side: its bits differ by 1
    step = np.where((error > 0) == (total > 0), 1, -1)
    with np.errstate(over="ignore"):
        return (pattern + inexact * step).view(np.float64).astype(np.float32)


def fma_double(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """In float64, by exact fractions; slow, and for finite values only."""

    def one(x: float, y: float, z: float) -> float:
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        return float(exact) if exact else float(x * y + z)

    return np.vectorize(one, otypes=[np.float64])(a, b, c)


def product(a: np.ndarray, b: np.ndarray, letters: Sequence[tuple[int, int]]) -> np.ndarray:
    """Sum over the last axis of a[rows, steps] * b[columns, steps] in canonical order."""
    stack: list[np.ndarray] = []
    length = chunk_length(letters)
    for number, pops in enumerate(combine_counts(letters)):
        total = np.full((len(a), len(b)), -0.0, a.dtype)
        for k in range(number * length, (number + 1) * length):
            total = fma(a[:, None, k], b[None, :, k], total)
        for _ in range(pops):
            total = stack.pop() + total
        stack.append(total)
    return stack[0] if stack else np.zeros((len(a), len(b)), a.dtype)


def by_definition(a: np.ndarray, b: np.ndarray, letters: Sequence[tuple[int, int]]) -> np.ndarray:
    """The same order, told by recursion: leaves are chains, a tree over leaves, letters nest."""
    (size, leaves), *inner = letters
    steps = a.shape[-1] // size

    def chain(low: int, high: int) -> np.ndarray:
        total = np.full((len(a), len(b)), -0.0, a.dtype)
        for index in range(low, high):
            part = slice(index * steps, (index + 1) * steps)
            if inner:
                total = total + by_definition(a[:, part], b[:, part], inner)
            else:
                total = fma(a[:, None, index], b[None, :, index], total)
        return total

    def tree(low: int, count: int) -> np.ndarray:
        if count == 1:
            return chain(low, low + size // leaves)
        half = count // 2
        return tree(low, half) + tree(low + half * (size // leaves), half)

    return tree(0, leaves)


def same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two float arrays are equal bit for bit; any NaN equals any NaN."""
    kind = {4: np.int32, 8: np.int64}[x.itemsize]
    return bool(np.all((x.view(kind) == y.view(kind)) | (np.isnan(x) & np.isnan(y))))
