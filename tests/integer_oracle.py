"""Products of blocks with int8 activations in plain numpy: the bit oracle. Not a test."""

from __future__ import annotations

from math import gcd

import numpy as np

from gnomon.ops.blocks import FORMATS
from gnomon.ops.canonical import CONTRACTED, leaves
from tests.codegen.kernels.exact import fma
from tests.quantized import numbers_of

PAIRS = {"Q4_1": (0, 2, 1), "Q5_1": (0, 2, 1), "Q4_K": (0, 2, -1), "Q5_K": (0, 2, -1)}
"""Where the factors of two terms lie in a block, and the sign of the second."""
SINGLE = {"Q6_K": 208}
"""Where the one factor lies, if not at the beginning."""


def rounded(x: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in groups of so many, as whole numbers, and a factor for each group."""
    groups = x.reshape(len(x), x.shape[1] // size, size)
    with np.errstate(all="ignore"):
        d = np.abs(groups).max(2, initial=0) / np.float32(127)
        usable = ((d > 0) & (d < np.inf))[..., None]
        q = np.where(usable, np.rint(groups / d[..., None]).clip(-127, 127), 0)
    return q.astype(np.int64), d


def terms(kind: str, raw: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Factors (n, b) and whole numbers (n, b, elements), out of what blocks with factor 1 hold."""
    form = FORMATS[kind]
    blocks = raw.reshape(len(raw), raw.shape[1] // form.nbytes, form.nbytes)
    if kind.startswith("INT8"):
        places, width, signs = [0], np.float32, [1]
    elif kind in PAIRS or kind.startswith("INT4"):
        first, second, sign = PAIRS.get(kind, (0, 2, 1))
        places, width, signs = [first, second], np.float16, [1, sign]
    else:
        places, width, signs = [SINGLE.get(kind, 0)], np.float16, [1]
    size, found = np.dtype(width).itemsize, []
    for own, sign in zip(places, signs, strict=True):
        unit = blocks.copy()
        for place in places:
            one = np.array([sign if place == own else 0], width).view(np.uint8)
            unit[..., place : place + size] = one
        whole = numbers_of(kind, unit.reshape(raw.shape)).reshape(*blocks.shape[:2], -1)
        held = np.ascontiguousarray(blocks[..., own : own + size]).view(width)[..., 0]
        found.append((sign * held.astype(np.float32), whole.astype(np.int64)))
    return found


def product(x: np.ndarray, kind: str, raw: np.ndarray) -> np.ndarray:
    """Rows of x, rounded to int8, times the transpose of rows of blocks."""
    q, d = rounded(x, FORMATS[kind].elements)
    count = q.shape[1]
    pieces = gcd(leaves(x.shape[1], CONTRACTED), count)
    made = terms(kind, raw)
    sums = [np.einsum("tbk,nbk->tnb", q, whole).astype(np.float32) for _, whole in made]
    with np.errstate(all="ignore"):
        factors = [d[:, None] * factor for factor, _ in made]
        stack = []
        for leaf in range(pieces):
            total = np.full((len(x), len(raw)), -0.0, np.float32)
            for block in range(leaf * count // pieces, (leaf + 1) * count // pieces):
                for each, factor in zip(sums, factors, strict=True):
                    total = fma(each[..., block], factor[..., block], total)
            stack.append(total)
        while len(stack) > 1:
            stack = [stack[k] + stack[k + 1] for k in range(0, len(stack), 2)]
    return stack[0]
