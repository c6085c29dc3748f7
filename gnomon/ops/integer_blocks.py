"""Linear layers in integers: inputs are rounded to int8, weights are quantized blocks.

This definition is chosen by the weight's format and never by the processor. A row of x is cut into
groups as long as a block of the weight. For a group, d is its largest |x| over 127, in float32, and
q is x / d rounded to the nearest integer, halves to even; where d is 0, infinite or NaN, q is 0. A
block's numbers are a factor times integers, for some formats plus a second factor times others.
Their products with q are summed exactly; each sum, rounded to float32, times (factor * d) is added
by a fused multiply-add, block after block and the second factor's after the first's. Leaves are
whole blocks, added by the tree of every product. So the integers may be summed in any order with
the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from gnomon.dtypes import float32, int8, int32, promote
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import check_layer
from gnomon.ops.blocks import (
    FORMATS,
    GROUPS,
    by_groups,
    decoded,
    factor_of,
    fifth_in_parts,
    five_bits,
    halves,
    in_parts,
    joined_parts,
    nibbles,
    scales_and_minima,
    six_bits,
    span,
)
from gnomon.ops.canonical import CONTRACTED, leaves
from gnomon.ops.facts import Claim
from gnomon.ops.joining import stack
from gnomon.ops.logic import clip
from gnomon.ops.primitives import contract, expand, reshape
from gnomon.ops.reductions import max as largest
from gnomon.ops.registry import internal
from gnomon.ops.rounding import bits
from gnomon.ops.scalars import where

__all__ = ["INT8", "MOST", "TERMS", "block_product_int8", "linear_int8"]

INT8 = "int8"
"""The value of `activations` that selects this definition."""
MOST = 127.0
"""The largest int8 of a rounded input."""
Term = tuple[Node, Node]
"""The factors (..., 1) and the integers (..., elements) of one term of a block."""


def as_int32(x: Node, minus: int = 0) -> Node:
    """Integers as int32, less a constant."""
    wide = cast(x, int32)
    return wide - minus if minus else wide


def signed(content: Node) -> Node:
    """Bytes as signed integers, in int32."""
    return cast(bits(content, int8), int32)


def ones(q: Node) -> Node:
    """A tensor of ones in the shape of q."""
    return q * 0 + 1


def with_offset(blocks: Node, q: Node) -> list[Term]:
    """The terms d * q and m * 1 of blocks."""
    q = as_int32(q)
    return [(halves(blocks, 0), q), (halves(blocks, 2), ones(q))]


def int4_group(blocks: Node) -> list[Term]:
    """The terms of groups of 4-bit numbers, in runs of 16 bytes."""
    content = span(blocks, 4, blocks.shape[-1])
    parts = nibbles(in_parts(content, content.shape[-1] // 16, 16))
    return with_offset(blocks, joined_parts(parts))


def with_minima(blocks: Node, q: Node) -> list[Term]:
    """The terms d * (scale * q) and -m * minimum of eight parts of 32."""
    scales, minima = (in_parts(as_int32(x), 8, 1) for x in scales_and_minima(blocks))
    lowest = expand(minima, q.shape)
    return [
        (halves(blocks, 0), joined_parts(scales * as_int32(q))),
        (-halves(blocks, 2), joined_parts(lowest)),
    ]


def q6_k(blocks: Node) -> list[Term]:
    """The term d * (scale * (q - 32)) of sixteen parts of 16."""
    scales = in_parts(signed(span(blocks, 192, 208)), 16, 1)
    return [(halves(blocks, 208), joined_parts(scales * as_int32(six_bits(blocks), 32)))]


TERMS: Mapping[str, Callable[[Node], list[Term]]] = MappingProxyType(
    {
        "Q4_0": lambda b: [(halves(b, 0), as_int32(nibbles(span(b, 2, 18)), 8))],
        "Q4_1": lambda b: with_offset(b, nibbles(span(b, 4, 20))),
        "Q5_0": lambda b: [(halves(b, 0), as_int32(five_bits(b, 2), 16))],
        "Q5_1": lambda b: with_offset(b, five_bits(b, 4)),
        "Q8_0": lambda b: [(halves(b, 0), signed(span(b, 2, 34)))],
        "Q4_K": lambda b: with_minima(b, by_groups(span(b, 16, 144))),
        "Q5_K": lambda b: with_minima(b, fifth_in_parts(b)),
        "Q6_K": q6_k,
        **{
            f"INT8_{n}": lambda b: [(factor_of(b), signed(span(b, 4, b.shape[-1])))] for n in GROUPS
        },
        **{f"INT4_{n}": int4_group for n in GROUPS},
    }
)
"""Format -> the function from blocks (..., nbytes) to their terms."""


def round_groups(x: Node, size: int) -> tuple[Node, Node]:
    """Rows (t, k) rounded in groups: int32 (t, k / size, size), and the factor d of each group."""
    groups = reshape(x, (x.shape[0], x.shape[1] // size, size))
    d = largest(elementwise("abs", groups), axis=2, keepdims=True) / MOST
    usable = elementwise("and", elementwise("gt", d, 0.0), elementwise("lt", d, math.inf))
    q = clip(elementwise("round", groups / d), -MOST, MOST)
    return cast(where(usable, q, 0.0), int32), d


def sum_of(q: Node, d: Node, term: Term) -> tuple[Node, Node]:
    """The integer sums (t, n, b) of blocks and groups of rows, and their factors."""
    factor, weights = term
    total = contract("tbk,nbk->tnb", q, weights, int32)
    rows, columns, count = total.shape
    pairs = reshape(d, (rows, 1, count)) * reshape(factor, (1, columns, count))
    return cast(total, float32), pairs


def gradient_of_x(g: Node, y: Node, x: Node, blocks: Node, *, kind: str) -> tuple[Node, None]:
    """The gradient of x without rounding: g times the decoded weight."""
    return contract("tn,nk->tk", g, decoded(blocks, kind)), None


@internal(claim=Claim("block_product_int8", floats=False), gradient=gradient_of_x)
def block_product_int8(x: Node, blocks: Node, *, kind: str) -> Node:
    """Rows (t, k), rounded to int8, times the transpose of rows of blocks (n, bytes): (t, n)."""
    form, columns = FORMATS[kind], blocks.shape[0]
    count = blocks.shape[1] // form.nbytes
    terms = TERMS[kind](reshape(blocks, (columns, count, form.nbytes)))
    q, d = round_groups(x, form.elements)
    sums = [sum_of(q, d, term) for term in terms]
    shape = (x.shape[0], columns, count * len(terms))
    totals, factors = (reshape(stack(each, axis=3), shape) for each in zip(*sums, strict=True))
    return x.arena.node(
        "contract",
        (totals, factors),
        spec="tnb,tnb->tn",
        leaves=(math.gcd(leaves(x.shape[1], CONTRACTED), count),),
        dtype=float32,
    )


@internal
def linear_int8(x: Node, blocks: Node, bias: Node | None = None, *, kind: str) -> Node:
    """x (..., k), rounded to int8, times the transpose of rows of blocks, plus the bias.

    Raises ShapeError if operands do not fit.
    """
    form = FORMATS[kind]
    steps = blocks.shape[1] // form.nbytes * form.elements
    check_layer(x, (blocks.shape[0], steps), bias)
    rows = reshape(cast(x, float32), (math.prod(x.shape[:-1]), steps))
    made = block_product_int8(rows, blocks, kind=kind)
    y = reshape(made, (*x.shape[:-1], blocks.shape[0]))
    return cast(y if bias is None else y + cast(bias, float32), promote(x.dtype, float32))
