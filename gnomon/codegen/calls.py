"""Opaque calls: the kernels that are written by hand, and how a node's operands reach them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from gnomon.codegen.blocks import Folded
from gnomon.codegen.emitter import LANES
from gnomon.codegen.kernels.attention import emit_attention
from gnomon.codegen.kernels.attention_grad import AttentionGradSpec, emit_attention_grad
from gnomon.codegen.kernels.attention_parts import AttentionSpec, Operand
from gnomon.codegen.kernels.block_product import BlockProductSpec, emit_block_product
from gnomon.codegen.kernels.convolution import (
    LEAST_COLUMNS,
    emit_convolutions,
)
from gnomon.codegen.kernels.group_bounds import GroupedSpec
from gnomon.codegen.kernels.grouped import emit_grouped
from gnomon.codegen.kernels.integer_panels import emit_integer_product
from gnomon.codegen.kernels.integer_product import IntegerProductSpec
from gnomon.codegen.kernels.interleave import InterleaveSpec, emit_interleave
from gnomon.codegen.kernels.padding import PaddingSpec, emit_padding
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.put_rows import PutRowsSpec, emit_put_rows
from gnomon.codegen.kernels.scan import ScanSpec, emit_scan
from gnomon.codegen.kernels.scatter import ScatterSpec, emit_scatter
from gnomon.codegen.kernels.sort import SortSpec, emit_sort
from gnomon.codegen.kernels.strides import merge
from gnomon.codegen.kernels.team_products import tile_by_team
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.machine import Machine
from gnomon.codegen.opaque import OpaqueCall
from gnomon.codegen.phases import phase_specs
from gnomon.codegen.products import FACTORS, contract
from gnomon.codegen.scalar import register
from gnomon.dtypes import bfloat16, float32
from gnomon.ir.node import Node
from gnomon.ir.sizes import hint
from gnomon.ops.primitives import leaves_of, split_spec
from gnomon.ops.registry import asks_for_chunks, facts_of
from gnomon.passes import loosen
from gnomon.schedule.access import Strided, strided
from gnomon.schedule.memory import nbytes
from gnomon.schedule.nested import row_major, stored_operands, whole_below
from gnomon.settings import current


class RegionKernel(NamedTuple):
    """A hand-written kernel for regions, named in the operation's facts (gnomon/ops/facts.py)."""

    write: Callable[[Node, Machine], OpaqueCall]
    fits: Callable[[Node], bool]


KERNELS: dict[str, RegionKernel] = {}
"""The kernels that operations name."""


def kernel(fits: Callable[[Node], bool] = lambda node: True) -> Callable:
    """Register a kernel's call by its name; `fits` says which regions are large enough for it."""

    def register(write: Callable[[Node, Machine], OpaqueCall]) -> Callable:
        KERNELS[write.__name__] = RegionKernel(write, fits)
        return write

    return register


def operand(x: Node) -> Strided:
    """An operand as a call reads it: the buffer behind its views, or itself."""
    return strided(x) or Strided(x, 0, row_major(x.shape))


def along(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """The sizes before, along and after an axis."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def scan(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the scan kernel for a running fold, such as cumsum."""
    (x,), p = node.inputs, node.params
    spec = ScanSpec(p["monoid"], x.dtype, node.dtype, *along(x.shape, p["axis"]))
    return OpaqueCall("scan", emit_scan, (spec,), (node, x), node.size)


def sort(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the sorting kernel, which gives the positions that sort an axis."""
    (x,), p = node.inputs, node.params
    spec = SortSpec(x.dtype, p["descending"], *along(x.shape, p["axis"]))
    work = node.size * max(hint(spec.n).bit_length(), 1)
    return OpaqueCall("sort", emit_sort, (spec,), (node, x), work)


def scatter(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the scatter kernel; operands are in its layout (gnomon/passes/legalize.py)."""
    (values, index), p = node.inputs, node.params
    own, names, out = split_spec(p["spec"])
    sizes = dict(zip(own, values.shape, strict=True))
    summed = [c for c in own if c not in out]
    # one value for each place is a fold of one
    folded = tuple(map(Folded, (sizes[c] for c in summed), p["leaves"])) or (Folded(1, 1),)
    free = prod(sizes[c] for c in own if c in out and c not in names)
    spec = ScatterSpec(
        p["monoid"],
        node.dtype,
        index.dtype,
        batch=prod(sizes[c] for c in own if c in out and c in names),
        folded=folded,
        free=free,
        size=p["size"],
        streams=free % LANES == 0
        and current().allows("stream")
        and machine.is_far(node.size * node.dtype.itemsize),
    )
    return OpaqueCall(
        "scatter", emit_scatter, (spec,), (node, values, index), values.size, checks=1
    )


def results_of(node: Node) -> tuple[Node, ...]:
    """All results of a region's call, also those that nobody reads."""
    p = node.params
    return tuple(
        node.arena.node(
            "region", node.inputs, name=p["name"], body=p["body"], call=p["call"], index=k
        )
        for k in range(len(p["body"].outputs))
    )


def heads_of(slot: int, view: Strided) -> Operand:
    """An operand's slot and strides by (batch, head, row, column), as attention has them."""
    narrow = "bfloat" if view.node.dtype is bfloat16 else ""
    return Operand(slot, *view.strides, view.offset, narrow)


def leaves_in(node: Node, sizes: Sequence[int], result: int = 0) -> tuple[int, ...]:
    """The leaves of a claimed region's sum over axes, from its body; a shard has its share of them.

    None that can be avoided where numerics are "fast".
    """
    counts = leaves_of(node.params["body"].outputs[result])
    loose = current().numerics == "fast"
    pairs = zip(counts, sizes, strict=True)
    return tuple(1 if loose and n <= loosen.LONGEST else count for count, n in pairs)


def attention_spec(node: Node, slots: Sequence[int], first: int) -> AttentionSpec:
    """The description that both attention kernels share; slots are those of q, k, v, out, lse.

    A mask is the region's last input, and has the last slot.
    """
    q, k, v = stored_operands(node)[:3]
    settings = dict(node.params["call"].kwargs)
    out = node.inputs[3] if first else results_of(node)[0]
    views = [operand(x) for x in (q, k, v, out)]
    masks = node.inputs[3 + first :]
    sizes = q.shape[1] // k.shape[1], q.shape[2]
    # the forward pass sums over no query
    over = leaves_in(node, sizes, 1) if first else (1, 1)
    return AttentionSpec(
        register(node.inputs[0].dtype),
        batch=q.shape[0],
        heads=q.shape[1],
        key_heads=k.shape[1],
        queries=q.shape[2],
        keys=k.shape[2],
        width=q.shape[3],
        value_width=v.shape[3],
        causal=settings["causal"],
        scale=float(settings["scale"]),
        leaves=(over[0], over[1]),
        **{
            name: heads_of(slot, view)
            for name, slot, view in zip("qkv", slots, views, strict=False)
        },
        out=heads_of(slots[3], views[3]),
        lse=slots[4],
        mask=heads_of(max(slots) + 1 + (first > 0), operand(masks[0])) if masks else None,
    )


@kernel()
def attention(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the attention kernel: results, and the logarithms of its sums."""
    spec = attention_spec(node, (2, 3, 4, 0, 1), 0)
    read = tuple(operand(x).node for x in stored_operands(node))
    pairs = spec.batch * spec.heads * spec.queries * spec.keys
    flops = 2 * pairs * (spec.width + spec.value_width) // (2 if spec.causal else 1)
    buffers = (*results_of(node), *read)
    return OpaqueCall("attention", emit_attention, (spec, machine), buffers, flops, outputs=2)


@kernel()
def attention_grad(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the attention kernel that gives the gradients of q, k and v."""
    forward = attention_spec(node, (3, 4, 5, 6, 7), 3)
    results = results_of(node)
    made = [heads_of(slot, operand(x)) for slot, x in enumerate(results)]
    inputs = stored_operands(node)
    spec = AttentionGradSpec(forward, heads_of(8, operand(inputs[5])), *made)
    read = tuple(x if x.rank != 4 else operand(x).node for x in inputs)
    pairs = forward.batch * forward.heads * forward.queries * forward.keys
    flops = (
        2 * pairs * (3 * forward.width + 2 * forward.value_width) // (2 if forward.causal else 1)
    )
    buffers = (*results, *read)
    return OpaqueCall(
        "attention_grad", emit_attention_grad, (spec, machine), buffers, flops, outputs=3
    )


@kernel(fits=lambda node: node.inputs[1].shape[1] >= LEAST_COLUMNS)
def slide_back(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the kernel for a transposed convolution with strides."""
    specs = phase_specs(node)
    flops = sum(
        2 * prod(x.size for x in (*spec.batch, *spec.rows, *spec.columns, *spec.steps))
        for spec in specs
    )
    read = tuple(operand(x).node if x.rank == 4 else x for x in node.inputs)
    return OpaqueCall("slide_back", emit_convolutions, (specs, machine), (node, *read), flops)


@kernel()
def interleave(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the kernel that interleaves tensors along axes."""
    steps = node.params["call"].args[-2]
    first = node.rank - len(steps)
    lead, sizes = prod(node.shape[:first]), node.shape[first:]
    spec = InterleaveSpec(register(node.dtype), lead, sizes, steps)
    return OpaqueCall("interleave", emit_interleave, (spec,), (node, *node.inputs), 0)


@kernel()
def zero_padding(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the kernel that pads the last axes with zeros."""
    (x,), (low, high) = node.inputs, node.params["call"].args[-2:]
    first = x.rank - len(low)
    spec = PaddingSpec(register(x.dtype), prod(x.shape[:first]), x.shape[first:], low, high)
    return OpaqueCall("zero_padding", emit_padding, (spec,), (node, x), 0)


@kernel()
def put_rows(node: Node, machine: Machine) -> OpaqueCall:
    """The call that writes slices into a tensor; only they are copied if the result aliases it."""
    (x, index, values), axis = node.inputs, dict(node.params["call"].kwargs)["axis"]
    seen = operand(values)
    axes = list(zip(values.shape, seen.strides, strict=True))
    spec = PutRowsSpec(
        f"i{8 * x.dtype.itemsize}",
        index.dtype,
        size=x.shape[axis],
        count=index.shape[-1],
        before=merge(axes[:axis]),
        step=seen.strides[axis],
        after=merge(axes[axis + 1 :]),
        start=seen.offset,
        alike=prod(x.shape[index.rank - 1 : axis]) if index.rank > 1 else 0,
    )
    buffers, moved = (node, whole_below(x), index, seen.node), 2 * nbytes(values) + nbytes(index)
    more = {"checks": 1, "over": ((0, 1),), "bytes": moved}
    return OpaqueCall("put_rows", emit_put_rows, (spec,), buffers, 0, **more)


def grouped_call(node: Node, machine: Machine, axis: str, blocks: bool = False) -> OpaqueCall:
    """The call of a product of groups of rows or of steps; blocks: runs are stored by blocks."""
    x, y = (operand(v) for v in node.inputs[:2])
    groups, runs = node.inputs[2].shape[-2:]
    groups, runs = (runs, groups) if blocks else (groups, runs)
    name = FACTORS.get(node.inputs[0].dtype) or register(node.inputs[0].dtype)
    starts, columns = (x.offset, y.offset, 0), Axis(node.shape[-1], b=y.strides[-1], c=1)
    rows = Axis(node.shape[-2], a=x.strides[-2], c=node.shape[-1])
    steps = Axis(node.inputs[0].shape[-1], a=x.strides[-1], b=y.strides[-2])
    if axis == "rows":
        batch = Axis(groups, b=y.strides[0])
        steps = replace(steps, leaves=leaves_in(node, (steps.size,))[0])
    else:
        batch = Axis(groups, c=rows.size * columns.size)
    shares = node.inputs[2].shape[0] if node.inputs[2].rank == 3 else 1
    batches = (batch,)
    if shares > 1:
        ahead = groups * y.strides[0] if axis == "rows" else y.strides[0]
        made = node.size // shares
        batches = (Axis(shares, a=x.strides[0], b=ahead, c=made), batch)
    product = MatmulSpec(name, batches, (rows,), (columns,), (steps,), starts)
    if is_tiled(machine):
        average = replace(rows, size=-(-rows.size // max(groups, 1))) if axis == "rows" else rows
        seen = replace(product, rows=(average,))
        product = replace(product, tile=tile_by_team(seen, machine, splits=False))
    block = (rows if axis == "rows" else steps).size // runs if blocks else 0
    spec = GroupedSpec(product, axis, runs, 3, block, shares)
    buffers = (node, x.node, y.node, node.inputs[2])
    flops = 2 * shares * rows.size * columns.size * steps.size
    return OpaqueCall("grouped", emit_grouped, (spec, machine), buffers, flops)


@kernel(fits=lambda node: node.inputs[0].dtype is float32)
def block_product(node: Node, machine: Machine) -> OpaqueCall:
    """The call of a product with a block-quantized matrix."""
    x, blocks = operand(node.inputs[0]), node.inputs[1]
    (rows, steps), columns = node.inputs[0].shape, node.shape[1]
    product = MatmulSpec(
        "float",
        (),
        (Axis(rows, a=x.strides[0], c=columns),),
        (Axis(columns, b=steps, c=1),),
        (Axis(steps, a=x.strides[1], b=1, leaves=leaves_in(node, (steps,))[0]),),
        (x.offset, 0, 0),
    )
    kind = dict(node.params["call"].kwargs)["kind"]
    spec = BlockProductSpec(product, kind, blocks.shape[1])
    flops = 2 * rows * columns * steps
    buffers = (node, x.node, blocks)
    return OpaqueCall("matmul_of_blocks", emit_block_product, (spec, machine), buffers, flops)


@kernel()
def block_product_int8(node: Node, machine: Machine) -> OpaqueCall:
    """The call of a product of rows, rounded to int8, with a block-quantized matrix."""
    x, blocks = node.inputs
    (rows, steps), columns = x.shape, node.shape[1]
    kind = dict(node.params["call"].kwargs)["kind"]
    leaves = leaves_of(node.params["body"].outputs[0])[0]
    spec = IntegerProductSpec(kind, rows, columns, steps, leaves, blocks.shape[1])
    return OpaqueCall(
        "integer_product", emit_integer_product, (spec, machine), (node, x, blocks),
        2 * rows * columns * steps,
    )  # fmt: skip


@kernel()
def grouped_rows(node: Node, machine: Machine) -> OpaqueCall:
    """The call of a product of groups of rows."""
    return grouped_call(node, machine, "rows")


@kernel()
def grouped_steps(node: Node, machine: Machine) -> OpaqueCall:
    """The call of a product of groups of steps."""
    return grouped_call(node, machine, "steps")


@kernel()
def routed_rows(node: Node, machine: Machine) -> OpaqueCall:
    """The call of a grouped product whose rows come in blocks of routed tokens."""
    return grouped_call(node, machine, "rows", blocks=True)


@kernel()
def routed_steps(node: Node, machine: Machine) -> OpaqueCall:
    """The call of a grouped product whose contracted steps come in blocks of routed tokens."""
    return grouped_call(node, machine, "steps", blocks=True)


def is_claimed(node: Node) -> bool:
    """Whether a region is not inlined: chunks compute it, or a hand-written kernel claims it.

    Kernels take floats that they sum in their own dtype, and none takes a tensor without elements,
    or floats of 8 bits.
    """
    if not all(x.size for x in (*node.inputs, *node.params["body"].outputs)):
        return False
    claim = facts_of(node).claim
    if claim is None:
        return asks_for_chunks(node)
    if any(x.dtype.is_storage_only for x in node.inputs):
        return False
    if not KERNELS[claim.kernel].fits(node):
        return False
    return not claim.floats or all(
        x.dtype.is_floating_point and x.dtype.bits >= 32 for x in node.inputs
    )


def claimed(node: Node, machine: Machine) -> OpaqueCall:
    """The call of the hand-written kernel that claims a region."""
    claim = facts_of(node).claim
    assert claim is not None, f"{node.params['name']}: no kernel claims it."
    return KERNELS[claim.kernel].write(node, machine)


OPAQUE: dict[str, Callable[[Node, Machine], OpaqueCall]] = {
    "contract": contract,
    "scan": scan,
    "scatter": scatter,
    "sort": sort,
    "region": claimed,
}
"""Primitive -> the kernel that computes it."""
