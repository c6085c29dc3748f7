"""Element types of GGUF's tensors and metadata: their numbers in files, names and sizes.

Types without a decoder have a name and a size too, so that their bytes are found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnomon.dtypes import bfloat16

__all__ = [
    "ARRAY",
    "BOOL",
    "BY_NAME",
    "ElementType",
    "NUMBERS",
    "STRING",
    "TYPES",
    "plain_dtype",
    "type_of",
]


class ElementType(NamedTuple):
    """A type of tensor elements, stored in blocks."""

    number: int
    name: str
    elements: int
    """The number of elements per block: 1 for plain numbers."""
    nbytes: int
    """The number of bytes per block."""


TYPES = tuple(
    ElementType(*row)
    for row in (
        *((0, "F32", 1, 4), (1, "F16", 1, 2), (28, "F64", 1, 8), (30, "BF16", 1, 2)),
        *((24, "I8", 1, 1), (25, "I16", 1, 2), (26, "I32", 1, 4), (27, "I64", 1, 8)),
        *((2, "Q4_0", 32, 18), (3, "Q4_1", 32, 20), (6, "Q5_0", 32, 22), (7, "Q5_1", 32, 24)),
        *((8, "Q8_0", 32, 34), (9, "Q8_1", 32, 40)),
        *((10, "Q2_K", 256, 84), (11, "Q3_K", 256, 110), (12, "Q4_K", 256, 144)),
        *((13, "Q5_K", 256, 176), (14, "Q6_K", 256, 210), (15, "Q8_K", 256, 292)),
        *((16, "IQ2_XXS", 256, 66), (17, "IQ2_XS", 256, 74), (18, "IQ3_XXS", 256, 98)),
        *((19, "IQ1_S", 256, 50), (20, "IQ4_NL", 32, 18), (21, "IQ3_S", 256, 110)),
        *((22, "IQ2_S", 256, 82), (23, "IQ4_XS", 256, 136), (29, "IQ1_M", 256, 56)),
        *((34, "TQ1_0", 256, 54), (35, "TQ2_0", 256, 66), (39, "MXFP4", 32, 17)),
    )
)
"""The tensor types of known size."""
BY_NUMBER = {kind.number: kind for kind in TYPES}
BY_NAME = {kind.name: kind for kind in TYPES}
PLAIN = {
    **{"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "F64": np.dtype("<f8")},
    **{f"I{8 * width}": np.dtype(f"<i{width}") for width in (1, 2, 4, 8)},
}
NUMBERS = {
    **{0: np.dtype("<u1"), 1: np.dtype("<i1"), 2: np.dtype("<u2"), 3: np.dtype("<i2")},
    **{4: np.dtype("<u4"), 5: np.dtype("<i4"), 6: np.dtype("<f4"), 7: np.dtype("?")},
    **{10: np.dtype("<u8"), 11: np.dtype("<i8"), 12: np.dtype("<f8")},
}
"""The dtypes of metadata types of fixed size, by their numbers in files."""
BOOL, STRING, ARRAY = 7, 8, 9


def type_of(number: int) -> ElementType:
    """The element type of a number in a file; an unknown one has size 0."""
    return BY_NUMBER.get(number) or ElementType(number, f"type {number}", 1, 0)


def plain_dtype(name: str) -> np.dtype | None:
    """The dtype of a type of plain numbers; None for a type of blocks.

    >>> plain_dtype("F16"), plain_dtype("Q8_0")
    (dtype('float16'), None)
    """
    return bfloat16.numpy if name == "BF16" else PLAIN.get(name)
