"""Make products and lookups read encoded blocks, and decode only what they need.

A value decoded from blocks (gnomon/ops/blocks.py) is many times as large as the blocks. A product x
@ decode(blocks).T becomes a region that a kernel claims, and a lookup of decoded rows becomes a
decoding of looked-up rows. All bits stay the same.
"""

from __future__ import annotations

from math import prod

from gnomon.ir.node import Graph, Node
from gnomon.ir.rewrite import rewrite
from gnomon.ops.blocks import block_product, decode_blocks, is_decoding
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import reshape, split_spec

__all__ = ["read_blocks"]


def read_blocks(graph: Graph) -> Graph:
    """The graph with products and lookups that read blocks in place of decoded values."""
    return rewrite(graph, step)


def step(node: Node) -> Node | None:
    """The rewrite of one product or lookup; None for any other node."""
    if node.op == "contract":
        return product_of_blocks(node)
    return rows_of_blocks(node) if node.op == "gather" else None


def decoding_of(x: Node, own: str) -> tuple[Node, str] | None:
    """The decoding behind a value of two axes, and its letters in that order; None for others."""
    while x.op in ("barrier", "detach") or (x.op == "permute" and x.rank == 2):
        if x.op == "permute" and tuple(x.params["order"]) == (1, 0):
            own = own[::-1]
        (x,) = x.inputs
    return (x, own) if is_decoding(x) else None


def format_of(decoding: Node) -> str:
    """The name of the format of blocks."""
    return dict(decoding.params["call"].kwargs)["kind"]


def product_of_blocks(node: Node) -> Node | None:
    """The product of rows with a decoded matrix, rewritten to read its blocks; None if unfit."""
    left, right, out = split_spec(node.params["spec"])
    found = decoding_of(node.inputs[1], right) if len(right) == 2 else None
    if found is None:
        return None
    (weight, (across, along)), x = found, node.inputs[0]
    if left[-1:] != along or out != left[:-1] + across or across in left:
        return None
    rows = reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    made = block_product(rows, weight.inputs[0], kind=format_of(weight))
    *_, inner = (each for each in made.params["body"].nodes if each.op == "contract")
    alike = inner.params["leaves"] == node.params["leaves"] and made.dtype is node.dtype
    return reshape(made, node.shape) if alike else None


def rows_of_blocks(node: Node) -> Node | None:
    """The lookup of decoded rows, rewritten to decode the rows that it finds; None if unfit."""
    table, index, out = split_spec(node.params["spec"])
    found = decoding_of(node.inputs[0], table) if len(table) == 2 else None
    if found is None or found[1] != table or table[0] in index or out != index + table[1]:
        return None
    (weight, _), places = found, node.inputs[1]
    blocks = weight.inputs[0]
    flat = gather("yz,a->az", blocks, reshape(places, (places.size,)))
    return reshape(decode_blocks(flat, kind=format_of(weight)), node.shape)
