"""Matrix products as calls: how factors are read, what is computed on sums and on a factor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod
from weakref import WeakKeyDictionary

from gnomon.codegen.choices import measured_tile
from gnomon.codegen.epilogue import Ending
from gnomon.codegen.kernels.blocking import panel_tile, plan
from gnomon.codegen.kernels.convolution import emit_convolution, is_convolution
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.panels import emit_panels, panels_of, units_of, wants_panels
from gnomon.codegen.kernels.product import Axis, MatmulSpec, OperandSlots, count, walk
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.machine import COMMON, Machine
from gnomon.codegen.opaque import OpaqueCall
from gnomon.codegen.plan_loops import overwritable
from gnomon.codegen.prologue import Prologue, emit_product_with
from gnomon.codegen.scalar import register
from gnomon.dtypes import bfloat16, float16, float32, float64, int8, uint8
from gnomon.ir.memo import memo
from gnomon.ir.node import Node
from gnomon.ir.sizes import hint
from gnomon.ops.primitives import split_spec, summed
from gnomon.schedule.epilogue import epilogue_of, table_of
from gnomon.schedule.nested import Nest, Nested, common, cut, factors, row_major, stored
from gnomon.schedule.prologue import Factor, prologue_of

FACTORS = {bfloat16: "bfloat", float16: "half", int8: "i8", uint8: "u8"}
"""Dtype of factors -> its name in kernels, where sums have another."""
SHARED = "threads that share columns would compute it several times"


def product_of(node: Node, a: Nested, b: Nested) -> MatmulSpec:
    """The product's description for a contract of a and b."""
    left, right, out = split_spec(node.params["spec"])
    made = stored(node)
    sides = [dict(zip(names, x.axes, strict=True)) for names, x in ((left, a), (right, b))]
    sides.append(dict(zip(out, made.axes, strict=True)))
    # exact sums have no order
    ordered = node.dtype.is_floating_point
    counts = dict(zip(summed(left, right, out), node.params["leaves"], strict=True))

    given = zip((a, b), node.inputs, strict=True)
    scalar = FACTORS.get(node.inputs[0].dtype) or register(node.inputs[0].dtype)

    def axes(letters: Sequence[str]) -> tuple[Axis, ...]:
        nests = ([side.get(c) for side in sides] for c in letters)
        pairs = zip(letters, nests, strict=True)
        return tuple(
            axis for c, nest in pairs for axis in nest_of(nest, counts.get(c, 1) if ordered else 1)
        )

    return MatmulSpec(
        scalar,
        batch=axes([c for c in out if c in left and c in right]),
        rows=axes([c for c in out if c not in right]),
        columns=axes([c for c in out if c not in left]),
        steps=axes(summed(left, right, out)),
        starts=(a.offset, b.offset, 0),
        narrow=tuple("" if x.node.dtype is y.dtype else FACTORS[x.node.dtype] for x, y in given),
    )


def nest_of(nests: Sequence[Nest | None], leaves: int) -> list[Axis]:
    """A letter as the axes of a product, cut where an operand's strides change."""
    sizes = common([nest for nest in nests if nest is not None])
    assert sizes is not None, f"contract: {nests} do not fit together"
    strides = [[0] * len(sizes) if nest is None else cut(nest, sizes) for nest in nests]
    rows = list(zip(sizes, *strides, strict=True))
    return [Axis(*row, 0 if k else leaves) for k, row in enumerate(rows)]


def mirrored(spec: MatmulSpec) -> MatmulSpec:
    """A product with its operands exchanged, so that its result has contiguous columns."""

    def turned(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(x.size, x.b, x.a, x.c, x.leaves) for x in axes)

    a, b, c = spec.starts
    return MatmulSpec(
        spec.scalar,
        turned(spec.batch),
        turned(spec.columns),
        turned(spec.rows),
        turned(spec.steps),
        (b, a, c),
        narrow=spec.narrow[::-1],
    )


def contract(node: Node, machine: Machine, kept: Collection[Node] | None = ()) -> OpaqueCall:
    """The call of a matrix product; a `kept` right factor is prepacked."""
    a, b, spec = oriented(node)
    flops = 2 * node.size * prod(axis.size for axis in spec.steps)
    for one, other, seen in ((a, b, spec), (b, a, mirrored(spec))):
        if is_convolution(seen) and not is_tiled(machine):
            buffers = (node, one.node, other.node)
            return OpaqueCall("convolution", emit_convolution, (seen, machine), buffers, flops)
    spec, right, before = in_panels(measured_tile(spec, machine), b.node, machine, kept)
    buffers = (node, a.node, right)
    return OpaqueCall("matmul", emit_matmul, (spec, machine), buffers, flops, before=before)


def in_panels(
    spec: MatmulSpec, b: Node, machine: Machine, kept: Collection[Node] | None
) -> tuple[MatmulSpec, Node, OpaqueCall | None]:
    """The product with a prepacked B, its panels, and the packing call, if that is faster."""
    if kept is None or is_tiled(machine) or not wants_panels(spec, b in kept):
        return spec, b, None
    if spec.tile == (0, 0):
        tile = panel_tile(machine, spec)
        spec = replace(spec, tile=(tile.rows, tile.columns))
    packed = panels_of(spec, machine)
    units = b.arena.input((units_of(packed, machine),), float64 if spec.item == 8 else float32)
    before = OpaqueCall("pack", emit_panels, (packed, machine), (units, b), 0)
    starts, narrow = (spec.starts[0], 0, spec.starts[2]), (spec.narrow[0], "")
    return replace(spec, ready=True, starts=starts, narrow=narrow), units, before


_oriented: WeakKeyDictionary[Node, tuple[Nested, Nested, MatmulSpec]] = memo(WeakKeyDictionary())


def oriented(node: Node) -> tuple[Nested, Nested, MatmulSpec]:
    """A product's factors and description, with contiguous columns if possible."""
    found = _oriented.get(node)
    if found is None:
        # epilogues, prologues and the kernel ask
        found = _oriented[node] = with_neighbours(node, *factors(node))
    return found


def with_neighbours(node: Node, a: Nested, b: Nested) -> tuple[Nested, Nested, MatmulSpec]:
    """A product's factors, in the order that makes columns contiguous, and its description."""
    spec = product_of(node, a, b)
    # a single column is a vector of results as well
    upright = count(spec.columns) == 1 or spec.columns[-1].c != 1
    if upright and spec.rows and spec.rows[-1].c == 1:
        a, b, spec = b, a, mirrored(spec)
    return a, b, spec


def carries_epilogue(node: Node) -> bool:
    """Whether a product can have an epilogue: its sums are row by row, in their own dtype."""
    if not node.size or node.dtype not in (float32, float64):
        return False
    _, _, spec = oriented(node)
    if is_convolution(spec) or is_convolution(mirrored(spec)) or spec.sums != register(node.dtype):
        return False
    axes = (*spec.batch, *spec.rows, *spec.columns)
    steps = row_major([axis.size for axis in axes])
    contiguous = all(x.size == 1 or x.c == step for x, step in zip(axes, steps, strict=True))
    return contiguous and count(spec.columns) == table_of(node)[1]


def opens(node: Node) -> Factor | None:
    """The factor that a prologue may compute while it is packed: row-major, with all rows."""
    if not node.size or node.inputs[0].dtype not in (float32, float64):
        return None
    a, b, spec = oriented(node)
    rows, steps, columns = count(spec.rows), count(spec.steps), count(spec.columns)
    whole = count(spec.batch) == 1 and a.offset == 0 and a.node.size == rows * steps
    contiguous = walk(spec.rows, "a") == ((rows, steps),) and walk(spec.steps, "a") == ((steps, 1),)
    overlap = is_convolution(spec) or is_convolution(mirrored(spec))
    if not whole or not contiguous or overlap or a.node is b.node or spec.narrow[0]:
        return None
    if hint(columns) > hint(rows):
        return Factor(a.node, steps, SHARED)
    letters = [tuple(map(hint, letter)) for letter in spec.letters]
    cut = plan(COMMON, spec.scalar, (hint(rows), hint(columns)), letters, spec.run)
    once = columns <= cut.column_panels * cut.tile.columns
    return Factor(a.node, steps, "" if once else "its panels are filled several times")


def contract_with(
    node: Node,
    before: Sequence[Node],
    after: Sequence[Node],
    stored: Mapping[Node, None],
    machine: Machine,
    kept: Collection[Node] | None = (),
) -> OpaqueCall:
    """The call of a matrix product with a prologue, an epilogue, or both.

    The product itself is written too if `stored`.
    """
    a, b, spec = oriented(node)
    start = prologue_of(a.node, before, count(spec.steps), stored) if before else None
    end = epilogue_of(node, after, stored) if after else None
    early, late = start.buffers[1:] if start else (), end.buffers if end else ()
    made = late[: end.kernel.outputs] if end else ()
    outputs = (*made, node) if node in stored else made
    spec, right, packing = in_panels(measured_tile(spec, machine), b.node, machine, kept)
    factors = (right,) if start else (a.node, right)
    first = len(outputs) + len(factors)
    known = {node, *made, *factors}
    buffers = (*outputs, *factors, *dict.fromkeys(x for x in (*early, *late) if x not in known))
    opening = ending = None
    if start:
        opening = Prologue(start.kernel, (-1, *map(buffers.index, early)))
    if end:
        places = tuple(-1 if x is node else buffers.index(x) for x in late)
        ending = Ending(end.kernel, places, node in stored, count(spec.rows))
    slots = OperandSlots(len(made) if node in stored else 0, len(outputs), first - 1)
    described = (replace(spec, slots=slots), machine, ending, opening)
    pairs = [(x, late[k]) for x, k in overwritable(end.kernel)] if end else []
    # what the factor is made of may be read again when results are written
    lost = {node, *factors, *early}
    over = tuple((x, buffers.index(y)) for x, y in pairs if y not in lost)
    flops = (2 * count(spec.steps) + len(after)) * node.size + len(before) * a.node.size
    more = {"outputs": len(outputs), "over": over, "before": packing}
    return OpaqueCall("matmul_with", emit_product_with, described, buffers, flops, **more)
