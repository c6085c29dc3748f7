"""Blocks: numbers of few bits that share scales, and products with matrices of them.

A row of K numbers is K / `elements` blocks of `nbytes` bytes. `decoded` computes the numbers in
float32, for GGUF's formats with the roundings of gguf-py; a kernel that reads blocks directly
claims the product (gnomon/codegen/kernels/block_product.py), and has the bits of the product of
decoded numbers. d, m: float16 values by which numbers are scaled and shifted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gnomon.dtypes import accumulator, float16, float32, int8, int32, uint8, uint16
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.facts import Claim
from gnomon.ops.joining import cat
from gnomon.ops.primitives import contract, reshape
from gnomon.ops.registry import internal
from gnomon.ops.rounding import bits
from gnomon.ops.scalars import where
from gnomon.ops.view_parts import part

__all__ = ["BlockFormat", "FORMATS", "block_product", "decode_blocks"]


class BlockFormat(NamedTuple):
    """A format of quantized blocks: numbers in a block, its bytes, and the decoder."""

    elements: int
    nbytes: int
    decode: Callable[[Node], Node]
    """The function from bytes of blocks (..., nbytes) to numbers (..., elements)."""


def bit_field(x: Node, shift: int, mask: int) -> Node:
    """A bit field of each byte."""
    moved = elementwise("shift_right", x, shift) if shift else x
    return moved if shift and mask == 255 >> shift else elementwise("and", moved, mask)


def span(x: Node, start: int, stop: int) -> Node:
    """A range of bytes of each block."""
    return part(x, x.rank - 1, start, stop)


def halves(blocks: Node, place: int) -> Node:
    """The float16 at a byte offset of each block, as float32 (..., 1)."""
    low, high = (cast(span(blocks, place + k, place + k + 1), uint16) for k in (0, 1))
    both = elementwise("or", low, elementwise("shift_left", high, 8))
    return cast(bits(both, float16), float32)


def nibbles(content: Node) -> Node:
    """The low 4 bits of all bytes, then the high 4 bits."""
    return cat([bit_field(content, 0, 15), bit_field(content, 4, 15)], -1)


def signed(content: Node) -> Node:
    """Bytes as signed numbers, in float32."""
    return cast(bits(content, int8), float32)


def fifth_bits(content: Node) -> Node:
    """The bits of four bytes, each as 16 or 0: (..., 32)."""
    places = [bit_field(span(content, k, k + 1), shift, 1) for k in range(4) for shift in range(8)]
    return elementwise("shift_left", cat(places, -1), 4)


def q4_0(blocks: Node) -> Node:
    """The numbers d * (q - 8): d, 32 q of 4 bits."""
    return halves(blocks, 0) * (cast(nibbles(span(blocks, 2, 18)), float32) - 8.0)


def q4_1(blocks: Node) -> Node:
    """The numbers d * q + m: d, m, 32 q of 4 bits."""
    return halves(blocks, 0) * cast(nibbles(span(blocks, 4, 20)), float32) + halves(blocks, 2)


def five_bits(blocks: Node, place: int) -> Node:
    """The 5-bit q from an offset on: the fifth bits of 32 q, then their other bits."""
    low, own = span(blocks, place + 4, place + 20), span(blocks, place, place + 4)
    return elementwise("or", nibbles(low), fifth_bits(own))


def q5_0(blocks: Node) -> Node:
    """The numbers d * (q - 16): d, the fifth bits of 32 q, their other bits."""
    return halves(blocks, 0) * (cast(five_bits(blocks, 2), float32) - 16.0)


def q5_1(blocks: Node) -> Node:
    """The numbers d * q + m: d, m, the fifth bits of 32 q, their other bits."""
    return halves(blocks, 0) * cast(five_bits(blocks, 4), float32) + halves(blocks, 2)


def q8_0(blocks: Node) -> Node:
    """The numbers d * q: d, 32 q of 8 bits."""
    return signed(span(blocks, 2, 34)) * halves(blocks, 0)


def in_parts(x: Node, parts: int, size: int) -> Node:
    """The last axis reshaped to (parts, size)."""
    return reshape(x, (*x.shape[:-1], parts, size))


def scales_and_minima(blocks: Node) -> tuple[Node, Node]:
    """The scales and the minima of eight parts, of 6 bits each: (..., 8).

    They are packed in twelve bytes. Those of the first four parts are the low bits of a byte each;
    of the others, the low halves lie in the last four bytes, and the two highest bits above the
    former.
    """
    first, second, last = (span(blocks, 4 + 4 * k, 8 + 4 * k) for k in range(3))

    def joined(low: Node, own: Node) -> Node:
        high = elementwise("shift_left", bit_field(own, 6, 3), 4)
        return cat([bit_field(own, 0, 63), elementwise("or", low, high)], -1)

    return joined(bit_field(last, 0, 15), first), joined(bit_field(last, 4, 15), second)


def with_minima(blocks: Node, q: Node) -> Node:
    """The numbers d * scale * q - m * minimum of eight parts; d, m, scales, minima come first."""
    scales, minima = (cast(x, float32) for x in scales_and_minima(blocks))
    factor, offset = halves(blocks, 0) * scales, halves(blocks, 2) * minima
    return in_parts(factor, 8, 1) * cast(q, float32) - in_parts(offset, 8, 1)


def by_groups(content: Node) -> Node:
    """Eight parts of 32 from four groups of 32 bytes with 4 bits each: low halves, then high."""
    return in_parts(reshape(nibbles(in_parts(content, 4, 32)), (*content.shape[:-1], 256)), 8, 32)


def joined_parts(x: Node) -> Node:
    """The last two axes merged into one."""
    return reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def q4_k(blocks: Node) -> Node:
    """Eight parts with minima: d, m, their scales and minima, 256 q of 4 bits."""
    return joined_parts(with_minima(blocks, by_groups(span(blocks, 16, 144))))


def fifth_in_parts(blocks: Node) -> Node:
    """Eight parts of 32 q of 5 bits; the fifth bits of part i are bits i of 32 bytes."""
    own = span(blocks, 16, 48)
    high = in_parts(cat([bit_field(own, k, 1) for k in range(8)], -1), 8, 32)
    return elementwise("or", by_groups(span(blocks, 48, 176)), elementwise("shift_left", high, 4))


def q5_k(blocks: Node) -> Node:
    """Eight parts with minima: d, m, scales and minima, fifth bits, 256 q's other bits."""
    return joined_parts(with_minima(blocks, fifth_in_parts(blocks)))


def six_bits(blocks: Node) -> Node:
    """Sixteen parts of 16 q of 6 bits.

    For each half of the numbers, 64 bytes hold the low bits and 32 bytes the high ones.
    """
    low = nibbles(in_parts(span(blocks, 0, 128), 2, 64))
    own = in_parts(span(blocks, 128, 192), 2, 32)
    high = cat([bit_field(own, shift, 3) for shift in (0, 2, 4, 6)], -1)
    q = joined_parts(elementwise("or", low, elementwise("shift_left", high, 4)))
    return in_parts(q, 16, 16)


def q6_k(blocks: Node) -> Node:
    """Sixteen parts of d * scale * (q - 32): low 4 bits, high 2 bits, signed scales, d."""
    factor = halves(blocks, 208) * signed(span(blocks, 192, 208))
    return joined_parts(in_parts(factor, 16, 1) * (cast(six_bits(blocks), float32) - 32.0))


def factor_of(blocks: Node) -> Node:
    """The float at the beginning of each block: float32 (..., 1)."""
    low, *more = (cast(span(blocks, k, k + 1), int32) for k in range(4))
    for k, byte in enumerate(more, 1):
        low = elementwise("or", low, elementwise("shift_left", byte, 8 * k))
    return bits(low, float32)


def int8_group(blocks: Node) -> Node:
    """The numbers f * q: f, a float; signed q of 8 bits."""
    return factor_of(blocks) * signed(span(blocks, 4, blocks.shape[-1]))


def int4_group(blocks: Node) -> Node:
    """The numbers d * q + m: d, m, stretches of 32 q of 4 bits: low halves, then high."""
    content = span(blocks, 4, blocks.shape[-1])
    count = content.shape[-1] // 16
    q = joined_parts(nibbles(in_parts(content, count, 16)))
    return halves(blocks, 0) * cast(q, float32) + halves(blocks, 2)


def float8_group(blocks: Node) -> Node:
    """The numbers f * q: f, a float; q of 8 bits, float8_e4m3fn.

    Read as a float32, a q's bits mean 2^-120 times its value.
    """
    content = cast(span(blocks, 4, blocks.shape[-1]), int32)
    size = elementwise("and", content, 127)
    sign = elementwise("shift_left", elementwise("and", content, 128), 24)
    value = bits(elementwise("or", elementwise("shift_left", size, 20), sign), float32) * 2.0**120
    return factor_of(blocks) * where(elementwise("eq", size, 127), math.nan, value)


GROUPS = (32, 64, 128, 256)
"""The sizes of groups that share a factor, in formats of gnomon/quant."""


def grouped(
    name: str, head: int, bits: int, decode: Callable[[Node], Node]
) -> dict[str, BlockFormat]:
    """The formats of one kind, one for each size of groups."""
    return {f"{name}_{n}": BlockFormat(n, head + n * bits // 8, decode) for n in GROUPS}


FORMATS: Mapping[str, BlockFormat] = MappingProxyType(
    {
        "Q4_0": BlockFormat(32, 18, q4_0),
        "Q4_1": BlockFormat(32, 20, q4_1),
        "Q5_0": BlockFormat(32, 22, q5_0),
        "Q5_1": BlockFormat(32, 24, q5_1),
        "Q8_0": BlockFormat(32, 34, q8_0),
        "Q4_K": BlockFormat(256, 144, q4_k),
        "Q5_K": BlockFormat(256, 176, q5_k),
        "Q6_K": BlockFormat(256, 210, q6_k),
        **grouped("INT8", 4, 8, int8_group),
        **grouped("INT4", 4, 4, int4_group),
        **grouped("FLOAT8", 4, 8, float8_group),
    }
)
"""The formats by name: GGUF's, and those of gnomon/quant."""


def decoded(blocks: Node, kind: str) -> Node:
    """The numbers of rows of blocks: bytes (..., b) -> float32 (..., k)."""
    form = FORMATS[kind]
    rows, count = blocks.shape[:-1], blocks.shape[-1] // form.nbytes
    made = form.decode(reshape(blocks, (*rows, count, form.nbytes)))
    return reshape(made, (*rows, count * form.elements))


FRACTIONS = "FLOAT8"
"""The prefix of formats whose numbers are not factors times integers."""


def refuse_activations(kind: str, activations: str) -> None:
    """Refuse a rounding of a linear layer's input that a format does not support."""
    if activations not in ("", "int8"):
        raise ArgumentError(
            f"decode_blocks: activations are rounded to 'int8' or not at all: got {activations!r}."
        )
    if activations and kind.startswith(FRACTIONS):
        raise ArgumentError(
            f"decode_blocks: {kind} holds no whole numbers, which {activations} is multiplied by. "
            "Leave activations out."
        )


@internal
def decode_blocks(blocks: Node, *, kind: str, activations: str = "") -> Node:
    """The float32 numbers (n, k) of rows of blocks (n, bytes).

    activations: the format to which a linear layer of this weight rounds its input, "int8" or
    nothing; the numbers are the same. Raises ArgumentError for an unknown format, DtypeError if
    blocks are no bytes, and ShapeError if rows are no whole blocks.
    """
    form = FORMATS.get(kind)
    if form is None:
        raise ArgumentError(f"decode_blocks: no format {kind!r}. Take one of {', '.join(FORMATS)}.")
    refuse_activations(kind, activations)
    if blocks.dtype is not uint8:
        raise DtypeError(f"decode_blocks: blocks must be uint8: got {blocks.dtype.name}.")
    if blocks.rank != 2 or blocks.shape[1] % form.nbytes:
        raise ShapeError(
            f"decode_blocks: {kind} has rows of {form.nbytes} bytes a block: got {blocks.shape}."
        )
    return decoded(blocks, kind)


def is_decoding(node: Node) -> bool:
    """Whether a node is the decoding of blocks."""
    return node.op == "region" and node.params["name"] == decode_blocks.__name__


def is_encoded(weight: Node) -> bool:
    """Whether a weight is stored in quantized blocks."""
    while weight.op in ("barrier", "detach"):
        (weight,) = weight.inputs
    return is_decoding(weight)


@internal(claim=Claim("block_product", (2,), floats=False))
def block_product(x: Node, blocks: Node, *, kind: str) -> Node:
    """Rows (t, k) times the transpose of what rows of blocks (n, bytes) decode to: (t, n)."""
    return contract("tk,nk->tn", x, decoded(blocks, kind), accumulator(x.dtype))
