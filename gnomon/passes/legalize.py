"""Rewrite operations that kernels do not compute into operations that they do.

Products and scattered sums of narrow floats are computed in float32 and rounded once; products of
integers, except those of bytes in int32, become multiplications and exact sums; scatters get their
operands in the kernel's layout. Every rewrite keeps the value to the bit.
"""

from __future__ import annotations

from math import prod

from gnomon.dtypes import (
    DType,
    accumulator,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    uint8,
)
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ir.rewrite import remade
from gnomon.ops.primitives import expand, reduce, reshape, split_spec, summed
from gnomon.ops.view_primitives import permute
from gnomon.passes.chains import chained, is_short_chain

SUMMED_IN = {
    **{dtype: accumulator(dtype) for dtype in (bfloat16, float16, float32, float64)},
    **{dtype: int32 for dtype in (int8, uint8)},
}
"""Dtype of factors -> dtype of the sums that the product's kernel gives."""
FEW_TERMS = 1 << 15
"""A sum of fewer products of bytes than this cannot overflow int32, even of 255 by 255."""


def legalize(graph: Graph) -> Graph:
    """The graph rewritten to operations that kernels compute."""
    if all(is_legal(x) for x in graph):
        return graph
    return remade(graph, rebuild)


def is_legal(node: Node) -> bool:
    """Whether a kernel computes a node as it stands."""
    if reads_float8(node):
        return False
    if node.op == "contract":
        return SUMMED_IN.get(node.inputs[0].dtype) is node.dtype and not is_short_chain(node)
    if node.op == "scatter":
        return not sums_narrow(node) and node.params["spec"] == kernel_layout(node.params["spec"])
    return True


def reads_float8(node: Node) -> bool:
    """Whether a product or a sort reads 8-bit floats, which are widened first."""
    return node.op in ("contract", "sort") and node.inputs[0].dtype.is_storage_only


def sums_of(node: Node) -> DType | None:
    """The dtype in which a kernel can sum this product without loss; None if there is none."""
    given = node.inputs[0].dtype
    if given.is_floating_point or node.dtype.bits <= 32:
        return SUMMED_IN.get(given)
    left, right, out = split_spec(node.params["spec"])
    size = dict(zip(left + right, node.inputs[0].shape + node.inputs[1].shape, strict=True))
    terms = prod(size[c] for c in summed(left, right, out))
    return SUMMED_IN.get(given) if terms < FEW_TERMS else None


def sums_narrow(node: Node) -> bool:
    """Whether a scatter sums floats that must not be rounded in between."""
    dtype = node.dtype
    ordered = node.params["monoid"] in ("add", "mul") and dtype.is_floating_point
    return ordered and accumulator(dtype) is not dtype


def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over new inputs, in legal form."""
    if is_legal(node):
        return arena.with_inputs(node, inputs)
    if reads_float8(node):
        wide = tuple(cast(x, float32) for x in inputs)
        summed_wide = {"dtype": float32} if node.op == "contract" else {}
        made = arena.node(node.op, wide, **{**node.params, **summed_wide})
        return cast(made if is_legal(made) else rebuild(arena, made, wide), node.dtype)
    if node.op == "scatter":
        return scatter_in_layout(arena, node, *inputs)
    if is_short_chain(node):
        return chained(node, *inputs)
    wide = sums_of(node)
    if wide:
        return cast(arena.node("contract", inputs, **{**node.params, "dtype": wide}), node.dtype)
    return integer_product(node, *inputs)


def kernel_layout(spec: str) -> str:
    """A scatter's spec with the axes in the order of the kernel.

    Values are (batch, folded, free), the result is (batch, place, free).
    """
    own, names, out = split_spec(spec)
    batch = "".join(c for c in out if c in own and c in names)
    folded = "".join(c for c in own if c not in out)
    free = "".join(c for c in out if c in own and c not in names)
    place = "".join(c for c in out if c not in own)
    return f"{batch}{folded}{free},{batch}{folded}->{batch}{place}{free}"


def scatter_in_layout(arena: Arena, node: Node, values: Node, index: Node) -> Node:
    """A scatter with permuted operands, summed in its accumulator, and its result permuted back."""
    own, names, out = split_spec(node.params["spec"])
    spec = kernel_layout(node.params["spec"])
    new_own, new_names, new_out = split_spec(spec)
    sizes = dict(zip(own, values.shape, strict=True))
    index = expand(aligned_to(index, names, new_names), tuple(sizes[c] for c in new_names))
    values = permute(values, tuple(own.index(c) for c in new_own))
    if sums_narrow(node):
        values = cast(values, accumulator(node.dtype))
    made = arena.node("scatter", (values, index), **{**node.params, "spec": spec})
    return cast(permute(made, tuple(new_out.index(c) for c in out)), node.dtype)


def integer_product(node: Node, a: Node, b: Node) -> Node:
    """An exact product of integers: elementwise along all letters, then summed."""
    left, right, out = split_spec(node.params["spec"])
    letters = out + "".join(summed(left, right, out))
    a, b = (aligned_to(x, own, letters) for x, own in ((a, left), (b, right)))
    if a.dtype is bool_:
        return reduce("or", elementwise("and", a, b), tuple(range(len(out), len(letters))))
    product = elementwise("mul", cast(a, node.dtype), cast(b, node.dtype))
    axes = tuple(range(len(out), len(letters)))
    return reduce("add", product, axes) if axes else product


def aligned_to(x: Node, own: str, letters: str) -> Node:
    """x permuted and expanded to the axes of `letters`: size 1 where it has none."""
    present = [c for c in letters if c in own]
    x = permute(x, tuple(own.index(c) for c in present))
    sizes = dict(zip(present, x.shape, strict=True))
    return reshape(x, tuple(sizes.get(c, 1) for c in letters))
