"""Random blocks of quantized numbers, for tests."""

from __future__ import annotations

import numpy as np

from gnomon.gguf.decoding import decoded
from gnomon.ops.blocks import FORMATS
from gnomon.tensor.tensor import Tensor

SCALES = {"Q6_K": (208,), "Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2)}
"""Where the halves of a block lie; in others at its beginning."""


def random_blocks(kind: str, rows: int, count: int, seed: int = 0) -> np.ndarray:
    """Rows of so many blocks, of any bits but for scales, which are small numbers."""
    made, nbytes = np.random.default_rng(seed), FORMATS[kind].nbytes
    raw = made.integers(0, 256, (rows, count, nbytes), np.uint8)
    for place in SCALES.get(kind, (0,)):
        halves = made.standard_normal((rows, count, 1)).astype(np.float16) * np.float16(0.01)
        raw[..., place : place + 2] = halves.view(np.uint8)
    return raw.reshape(rows, count * nbytes)


def numbers_of(kind: str, raw: np.ndarray) -> np.ndarray:
    """The numbers of rows of blocks, by numpy."""
    form = FORMATS[kind]
    return decoded(kind, raw, (len(raw), raw.shape[1] // form.nbytes * form.elements))


def same(found: Tensor, expected: Tensor) -> bool:
    """Whether tensors have the same shape, dtype and values."""
    alike = found.shape == expected.shape and found.dtype is expected.dtype
    return alike and bool((found == expected).all())
