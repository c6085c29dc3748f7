"""Decode blocks of quantized numbers to float32 with NumPy.

Results are bitwise those of gguf-py: the same roundings in the same order. A decoder takes blocks
as rows of bytes and returns each block's numbers; its docstring lists a block's contents in the
order of their bytes. d, m: half-precision scale and offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from gnomon.gguf.element_types import BY_NAME

__all__ = ["DECODERS", "decoded"]

Decoder = Callable[[np.ndarray], np.ndarray]
AT_ONCE = 1 << 18
"""The number of elements decoded at once, so that temporaries stay in the cache."""


def decoded(name: str, packed: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    r"""Decode packed blocks of a type to numbers of a shape.

    >>> decoded("Q8_0", np.frombuffer(b"\0<" + bytes(range(32)), np.uint8), (32,))[:4]
    array([0., 1., 2., 3.], dtype=float32)
    """
    kind, decode = BY_NAME[name], DECODERS[name]
    blocks = packed.reshape(-1, kind.nbytes)
    found = np.empty((len(blocks), kind.elements), np.float32)
    step = AT_ONCE // kind.elements
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(blocks), step):
            piece = decode(blocks[start : start + step])
            found[start : start + step] = piece.reshape(len(piece), kind.elements)
    return found.reshape(shape)


def halves(blocks: np.ndarray, place: int) -> np.ndarray:
    """The half-precision number at a byte offset of each block, as a float32 column."""
    return blocks[:, place : place + 2].copy().view("<f2").astype(np.float32)


def nibbles(content: np.ndarray) -> np.ndarray:
    """The low 4 bits of all bytes of a row, then the high 4 bits."""
    return np.concatenate((content & 15, content >> 4), axis=-1)


def fifth_bits(content: np.ndarray) -> np.ndarray:
    """The bits of four bytes, each as 16 or 0."""
    return np.unpackbits(content, axis=-1, bitorder="little") << 4


def q4_0(blocks: np.ndarray) -> np.ndarray:
    """The numbers d * (q - 8): d, 32 q of 4 bits."""
    return halves(blocks, 0) * (nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def q4_1(blocks: np.ndarray) -> np.ndarray:
    """The numbers d * q + m: d, m, 32 q of 4 bits."""
    return halves(blocks, 0) * nibbles(blocks[:, 4:]).astype(np.float32) + halves(blocks, 2)


def q5_0(blocks: np.ndarray) -> np.ndarray:
    """The numbers d * (q - 16): d, the fifth bits of 32 q, their other bits."""
    q = nibbles(blocks[:, 6:]) | fifth_bits(blocks[:, 2:6])
    return halves(blocks, 0) * (q.astype(np.float32) - 16)


def q5_1(blocks: np.ndarray) -> np.ndarray:
    """The numbers d * q + m: d, m, the fifth bits of 32 q, their other bits."""
    q = nibbles(blocks[:, 8:]) | fifth_bits(blocks[:, 4:8])
    return halves(blocks, 0) * q.astype(np.float32) + halves(blocks, 2)


def q8_0(blocks: np.ndarray) -> np.ndarray:
    """The numbers d * q: d, 32 q of 8 bits."""
    return blocks[:, 2:].view(np.int8).astype(np.float32) * halves(blocks, 0)


def scales_and_mins(content: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eight scales and eight minima of 6 bits, unpacked from twelve bytes.

    The first four are the low bits of a byte each; of the others, the low 4 bits are in the last
    four bytes and the 2 high bits in the upper bits of the former.
    """
    first, second, last = content[:, 0:4], content[:, 4:8], content[:, 8:12]
    scales = (first & 63, (last & 15) | (first >> 6 << 4))
    mins = (second & 63, (last >> 4) | (second >> 6 << 4))
    return np.concatenate(scales, axis=-1), np.concatenate(mins, axis=-1)


def with_mins(blocks: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Decode eight groups of 32 as d * scale * q - m * min; d, m, scales, minima come first."""
    scales, mins = scales_and_mins(blocks[:, 4:16])
    factor = halves(blocks, 0) * scales.astype(np.float32)
    offset = halves(blocks, 2) * mins.astype(np.float32)
    return factor[:, :, None] * q.astype(np.float32) - offset[:, :, None]


def by_groups(content: np.ndarray) -> np.ndarray:
    """Unpack eight groups of 32 numbers of 4 bits from four groups of 32 bytes."""
    return nibbles(content.reshape(-1, 4, 32)).reshape(-1, 8, 32)


def q4_k(blocks: np.ndarray) -> np.ndarray:
    """Eight groups with minima: d, m, scales and minima, 256 q of 4 bits."""
    return with_mins(blocks, by_groups(blocks[:, 16:]))


def q5_k(blocks: np.ndarray) -> np.ndarray:
    """Eight groups with minima: d, m, scales and minima, the fifth bits and low bits of 256 q.

    The fifth bits of group i are bits i of 32 bytes.
    """
    high = blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    return with_mins(blocks, by_groups(blocks[:, 48:]) | (high << 4))


def q6_k(blocks: np.ndarray) -> np.ndarray:
    """Sixteen groups, d * scale * (q - 32): low 4 bits, high 2 bits, 8-bit signed scales, d.

    For each half of the numbers, 64 bytes hold the low bits and 32 bytes the high ones.
    """
    low = nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    q = (low | (high << 4)).reshape(-1, 16, 16).astype(np.float32) - 32
    factor = halves(blocks, 208) * blocks[:, 192:208].view(np.int8).astype(np.float32)
    return factor[:, :, None] * q


DECODERS: Mapping[str, Decoder] = MappingProxyType(
    {
        **{"Q4_0": q4_0, "Q4_1": q4_1, "Q5_0": q5_0, "Q5_1": q5_1, "Q8_0": q8_0},
        **{"Q4_K": q4_k, "Q5_K": q5_k, "Q6_K": q6_k},
    }
)
"""The decoders by type name."""
