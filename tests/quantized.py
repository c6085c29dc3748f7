"""Random blocks of quantized numbers, for tests."""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import float8_e4m3fn
from gnomon.gguf.decoding import DECODERS, decoded
from gnomon.ops.blocks import FORMATS
from gnomon.tensor.tensor import Tensor

KINDS = [name for name in FORMATS if name in DECODERS]
KINDS += ["INT8_32", "INT8_256", "INT4_64", "INT4_128", "FLOAT8_32", "FLOAT8_256"]
"""All formats of GGUF's, and some sizes of groups of each of ours."""
SCALES = {"Q6_K": (208,), "Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2)}
"""Where the halves of a block lie; in others at its beginning."""


def random_blocks(kind: str, rows: int, count: int, seed: int = 0) -> np.ndarray:
    """Rows of so many blocks, of any bits but for scales, which are small numbers."""
    made, nbytes = np.random.default_rng(seed), FORMATS[kind].nbytes
    raw = made.integers(0, 256, (rows, count, nbytes), np.uint8)
    if kind.startswith(("INT8", "FLOAT8")):
        raw[..., :4] = made.standard_normal((rows, count, 1)).astype(np.float32).view(np.uint8)
        raw[..., 4:][raw[..., 4:] & 127 == 127] = 0  # NaN in float8
        return raw.reshape(rows, count * nbytes)
    for place in (0, 2) if kind.startswith("INT4") else SCALES.get(kind, (0,)):
        halves = made.standard_normal((rows, count, 1)).astype(np.float16) * np.float16(0.01)
        raw[..., place : place + 2] = halves.view(np.uint8)
    return raw.reshape(rows, count * nbytes)


def numbers_of(kind: str, raw: np.ndarray) -> np.ndarray:
    """The numbers of rows of blocks, by numpy."""
    form = FORMATS[kind]
    count = raw.shape[1] // form.nbytes
    if kind in DECODERS:
        return decoded(kind, raw, (len(raw), count * form.elements))
    blocks = raw.reshape(len(raw), count, form.nbytes)
    head, content = np.ascontiguousarray(blocks[..., :4]), blocks[..., 4:]
    with np.errstate(all="ignore"):
        if kind.startswith("INT4"):
            scale, least = (
                head.view(np.float16)[..., k : k + 1].astype(np.float32) for k in (0, 1)
            )
            stretches = content.reshape(*content.shape[:2], content.shape[2] // 16, 16)
            q = np.concatenate([stretches & 15, stretches >> 4], -1).reshape(len(raw), count, -1)
            numbers = scale * q.astype(np.float32) + least
        else:
            dtype = np.int8 if kind.startswith("INT8") else float8_e4m3fn.numpy
            numbers = head.view(np.float32) * content.view(dtype).astype(np.float32)
    return numbers.reshape(len(raw), count * form.elements)


def same(found: Tensor, expected: Tensor) -> bool:
    """Whether tensors have the same shape, dtype and values."""
    alike = found.shape == expected.shape and found.dtype is expected.dtype
    return alike and bool((found == expected).all())
