"""Folds in numpy in the canonical order, told by its definition; part of the bit oracle.

An axis has equal leaves, combined by a perfect binary tree. Inside a leaf: 64 virtual lanes and
their halving, or one chain; a long chain in blocks that a tree joins. Axes nest, the last
innermost. Knows nothing of vectors or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gnomon.dtypes import DType
from gnomon.ops import canonical
from gnomon.ops.primitives import identity_of
from tests.oracle.algebra import (
    ExactAlgebra,
    larger,
    quiet,
    round_to_odd,
    smaller,
    two_sum,
)

LANES = 64
"""Element i of a leaf belongs to lane i mod 64."""
TINY = np.float32(2.0**-126)
"""The least float32 that is no denormal."""

COMBINE: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "max": lambda a, b: larger(a, b) if a.dtype.kind == "f" else np.maximum(a, b),
    "min": lambda a, b: smaller(a, b) if a.dtype.kind == "f" else np.minimum(a, b),
}
"""Monoid -> older folded with newer."""


def beginning(monoid: str, dtype: DType) -> np.ndarray:
    """The identity of a fold, to the bit: -0.0 for sums of floats."""
    negative_zero = monoid == "add" and dtype.is_floating_point
    return np.array(-0.0 if negative_zero else identity_of(monoid, dtype), dtype.numpy)


@quiet
def chain(monoid: str, parts: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """Parts folded one after the other, in blocks joined by a tree."""
    block = canonical.BLOCK
    cuts = range(0, max(len(parts), 1), block)
    return tree(monoid, [run(monoid, parts[cut : cut + block], start) for cut in cuts])


def run(monoid: str, parts: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """The parts of one block, one after the other."""
    total = start
    for part in parts:
        total = COMBINE[monoid](total, part)
    return np.asarray(total)


@quiet
def tree(monoid: str, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Neighbours, then neighbours of these, ...; one that has none goes up as it is."""
    parts = list(parts)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [COMBINE[monoid](a, b) for a, b in pairs] + parts[len(parts) & ~1 :]
    return np.asarray(parts[0])


@quiet
def lanes(monoid: str, parts: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """Parts dealt to 64 chains, then lane l with l + 32, l + 16, ..., l + 1."""
    found = [chain(monoid, parts[lane::LANES], start) for lane in range(LANES)]
    while len(found) > 1:
        half = len(found) // 2
        pairs = zip(found[:half], found[half:], strict=True)
        found = [np.asarray(COMBINE[monoid](a, b)) for a, b in pairs]
    return found[0]


def fold(monoid: str, x: np.ndarray, dtype: DType, leaves: int, in_lanes: bool) -> np.ndarray:
    """The first axis of x folded away; dtype is x's."""
    start = np.broadcast_to(beginning(monoid, dtype), x.shape[1:])
    inside = lanes if in_lanes else chain
    return tree(monoid, [inside(monoid, list(leaf), start) for leaf in np.split(x, leaves)])


@quiet
def running(monoid: str, parts: Sequence[np.ndarray], start: np.ndarray) -> list[np.ndarray]:
    """The fold of everything up to each part; of floats, sums are taken in blocks.

    What went before a block is carried as a sum and what its rounding has left.
    """
    combine, found = COMBINE[monoid], []
    cut = monoid == "add" and start.dtype.kind == "f"
    whole = rest = start
    for first in range(0, len(parts), canonical.BLOCK if cut else max(len(parts), 1)):
        total = start
        for part in parts[first : first + canonical.BLOCK] if cut else parts:
            total = combine(total, part)
            found.append(whole + (rest + total) if cut else total)
        if cut:
            whole, rest = two_sum(whole, rest + total)
            rest = np.where((rest != 0) & (rest == rest), rest, start)
    return found


def fold_present(
    monoid: str, x: np.ndarray, there: np.ndarray, dtype: DType, leaves: Sequence[int]
) -> np.ndarray:
    """The first axes of x folded away in chains of the terms that are there, the last innermost."""
    if not there.ndim:
        return x
    start = np.broadcast_to(beginning(monoid, dtype), x.shape[there.ndim :])

    def leaf(indices: np.ndarray) -> np.ndarray:
        terms = [
            fold_present(monoid, x[k], there[k], dtype, leaves[1:])
            for k in indices
            if there[k].any()
        ]
        return chain(monoid, terms, start)

    return tree(monoid, [leaf(part) for part in np.split(np.arange(len(x)), leaves[0])])


@quiet
def fused(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    """a · b + total, rounded once."""
    return ExactAlgebra("double" if a.dtype == np.float64 else "float").fma(a, b, total)


@quiet
def flushed(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    """a · b + total of float32, rounded once, where denormals are zeros with their signs.

    A result is one when it is too small after rounding as if exponents had no end.
    """
    a, b, total = (np.where(np.abs(x) < TINY, np.copysign(0, x), x) for x in (a, b, total))
    exact = two_sum(a.astype(np.float64) * b, total.astype(np.float64))
    nearly = round_to_odd(*exact)
    small = np.abs((nearly * 2.0**64).astype(np.float32)) < TINY * np.float32(2.0**64)
    return np.where(small, np.copysign(0, nearly), nearly).astype(np.float32)


def in_pairs(indices: Sequence[int]) -> list[int]:
    """Neighbours with places changed: 1, 0, 3, 2, ...; the last of an odd number stays alone."""
    pairs = (indices[k : k + 2][::-1] for k in range(0, len(indices), 2))
    return [index for pair in pairs for index in pair]


@quiet
def sum_of_products(
    a: np.ndarray, b: np.ndarray, leaves: Sequence[int], paired: bool = False
) -> np.ndarray:
    """Fused chains over the first axes of a and b, one per entry of leaves; the rest broadcasts.

    `paired`: each chain takes pairs, the odd one first, and denormals as zeros.
    """
    negative_zero = np.full(np.broadcast_shapes(a.shape, b.shape)[len(leaves) :], -0.0, a.dtype)
    fma = flushed if paired else fused
    if not leaves:
        return fma(a, b, negative_zero)

    def leaf(indices: Sequence[int]) -> np.ndarray:
        total = negative_zero
        if len(leaves) > 1:
            for k in indices:
                total = total + sum_of_products(a[k], b[k], leaves[1:], paired)
            return total
        for k in in_pairs(indices) if paired else indices:
            total = fma(a[k], b[k], total)
        return total

    steps = np.split(np.arange(len(a)), leaves[0])
    return tree("add", [leaf(indices.tolist()) for indices in steps])
