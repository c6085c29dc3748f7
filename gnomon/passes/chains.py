"""Compute products of few terms as elementwise chains of fused multiply-adds.

A depthwise convolution multiplies each channel by its own few numbers. As a matrix product it has
one column and fills no vector; as elementwise operations on shifted views it is fused with its
neighbours. The order of additions is that of a product's leaf, to the bit.
"""

from __future__ import annotations

from math import prod

from gnomon.dtypes import float32, float64
from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise
from gnomon.ir.sizes import is_symbolic
from gnomon.ops.primitives import reshape, split_spec, summed
from gnomon.ops.view_parts import part
from gnomon.ops.view_primitives import permute

MOST_TERMS = 49
"""The most terms of such a product: those of a kernel of seven by seven."""


def is_short_chain(node: Node) -> bool:
    """Whether a contract sums few terms, over one letter, and one side belongs to the batch alone.

    The innermost axis must belong to the other operand, so that neighbours are read together.
    """
    left, right, out = split_spec(node.params["spec"])
    size = dict(zip(left + right, node.inputs[0].shape + node.inputs[1].shape, strict=True))
    terms = summed(left, right, out)
    if node.dtype not in (float32, float64) or node.inputs[0].dtype is not node.dtype:
        return False
    if len(terms) != 1 or is_symbolic(size[terms[0]]):  # of a size that varies there are many
        return False
    if not 0 < size[terms[0]] <= MOST_TERMS or node.params["leaves"] != (1,):
        return False
    batch = prod(size[c] for c in out if c in left and c in right)
    for own, other in ((left, right), (right, left)):
        alone = prod(size[c] for c in other if c in out and c not in own) == 1
        if batch > 1 and alone and out[-1] in own and out[-1] == own[-1]:
            return True
    return False


def chained(node: Node, a: Node, b: Node) -> Node:
    """A contract as a chain of elementwise multiply-adds, term by term."""
    left, right, out = split_spec(node.params["spec"])
    (letter,) = summed(left, right, out)
    total = None
    for k in range(a.shape[left.index(letter)]):
        factors = (term(x, own, letter, k, out) for x, own in ((a, left), (b, right)))
        # a chain starts at -0.0, which a product leaves as it is
        total = elementwise("mul", *factors) if total is None else fused(total, *factors)
    assert total is not None, "a chain has a term"
    return total


def fused(total: Node, x: Node, y: Node) -> Node:
    """x * y + total, rounded once."""
    return elementwise("fma", x, y, total)


def term(x: Node, own: str, letter: str, k: int, out: str) -> Node:
    """The k-th slice of x along a letter, with its other axes in the order of `out`."""
    axis = own.index(letter)
    x = part(x, axis, k, k + 1)
    kept = [c for c in out if c in own]
    x = permute(x, (*(own.index(c) for c in kept), axis))
    sizes = dict(zip(kept, x.shape, strict=False))
    return reshape(x, tuple(sizes.get(c, 1) for c in out))
