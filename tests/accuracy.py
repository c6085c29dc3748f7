"""The accuracy gate: what trades accuracy for time must not lose more than a bound allows.

Not a test.

A form is compared with the one that it would replace, against float64, on three kinds of data:
normal, nearly cancelling, and of a large bias. In the mean and at the 99th percentile it may err by
1.25 times as much and one unit in the last place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from gnomon.ops.canonical import BLOCK
from gnomon.ops.statistics import LANES

FACTOR, UNITS = 1.25, 1.0
"""A form may err by so many times the other's error, and so many units in the last place more."""
SMALL = 8
"""A result that is so much smaller than most is measured by its like."""
SAMPLES = 512


def kinds(samples: int, size: int) -> Iterator[tuple[str, np.ndarray]]:
    """Terms of sums, as float32 holds them, by what is hard about them."""
    draw = np.random.default_rng(size)
    normal = draw.standard_normal((samples, size), np.float32)
    yield "large-bias", normal + np.float32(64)
    yield "normal", normal
    half = normal[:, : size // 2]
    near = np.concatenate([half, -half, normal[:, 2 * (size // 2) :]], 1)
    yield "near-cancelling", draw.permuted(near, axis=1) + np.abs(normal) * np.float32(1e-3)


def excess(found: np.ndarray, plain: np.ndarray, exact: np.ndarray) -> str:
    """By how much a form errs more than the bound allows; empty if it does not."""
    # results that happen to be nothing have no last place to count in
    size = np.maximum(np.abs(exact), np.sqrt(np.mean(exact**2)) / SMALL)
    unit = np.spacing(size.astype(found.dtype)).astype(np.float64)
    errors = [np.abs(x.astype(np.float64) - exact) / unit for x in (found, plain)]
    for name, of in (("mean", np.mean), ("99th percentile", lambda x: np.quantile(x, 0.99))):
        ours, theirs = (float(of(x)) for x in errors)
        if not ours <= FACTOR * theirs + UNITS:
            return f"{name} error {ours:.3g} units in the last place, {theirs:.3g} with leaves"
    return ""


def refused(size: int, leaves: int, lanes: bool, block: int = BLOCK) -> str:
    """Why a sum needs its leaves; empty where it errs as little without.

    `block`: the terms of a chain, which in a product is all of a leaf.
    """
    for name, terms in kinds(SAMPLES, size):
        exact = terms.astype(np.float64).sum(1)
        both = (in_order(terms, count, lanes, block) for count in (1, leaves))
        found = excess(*both, exact)
        if found:
            return f"{name} data: {found}"
    return ""


def in_order(terms: np.ndarray, leaves: int, lanes: bool, block: int = BLOCK) -> np.ndarray:
    """Sums of rows by canonical order: chains, or lanes, in blocks of leaves, and trees above."""
    parts = terms.reshape(len(terms), leaves, -1)
    width = LANES if lanes else 1
    short = -parts.shape[2] % width
    parts = np.pad(parts, ((0, 0), (0, 0), (0, short))).reshape(len(terms), leaves, -1, width)
    blocks = [
        functools.reduce(np.add, np.moveaxis(parts[:, :, k : k + block], 2, 0))
        for k in range(0, parts.shape[2], block)
    ]
    while len(blocks) > 1:
        pairs = zip(blocks[::2], blocks[1::2], strict=False)
        blocks = [a + b for a, b in pairs] + blocks[len(blocks) & ~1 :]
    (sums,) = blocks
    while sums.shape[2] > 1:
        half = sums.shape[2] // 2
        sums = sums[:, :, :half] + sums[:, :, half:]
    while sums.shape[1] > 1:
        sums = sums[:, ::2] + sums[:, 1::2]
    return sums[:, 0, 0]
