"""Primitives in ONNX: views, folds, products, lookups; loops are in loops.py.

Shapes may hold sizes that are known when the file runs: they are computed there as tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType, bool_, float32, float64, int32, int64
from gnomon.errors import TraceError
from gnomon.ir.node import Node
from gnomon.ir.sizes import is_symbolic
from gnomon.ir.sym_float import SymFloat
from gnomon.onnx.scalars import cast, computed, map_rule
from gnomon.onnx.sizes import float_of_sizes
from gnomon.onnx.writer import ExportRule, OnnxWriter
from gnomon.ops.primitives import identity_of, split_spec

__all__ = ["RULES"]

PAST_THE_START = np.iinfo(np.int64).min


def same(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """The input's value."""
    return given[0]


def const(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A number, which may follow from sizes."""
    value = node.params["value"]
    if not is_symbolic(value):
        return writer.constant(value, node.dtype)
    if type(value) is SymFloat:
        return cast(
            writer, writer.add("Squeeze", float_of_sizes(writer, value)), float64, node.dtype
        )
    return cast(writer, writer.add("Squeeze", writer.number(value)), int64, node.dtype)


def iota(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """0, 1, 2, ..."""
    size = node.params["size"]
    if not is_symbolic(size):
        return writer.constant(np.arange(size), node.dtype)
    end = writer.add("Squeeze", writer.number(size))
    zero, one = (writer.constant(np.int64(k)) for k in (0, 1))
    return cast(writer, writer.add("Range", zero, end, one), int64, node.dtype)


def reshape(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """The elements over other axes."""
    shape = writer.numbers(node.params["shape"])
    return writer.add("Reshape", given[0], shape, allowzero=1)


def expand(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Axes of size 1 repeated."""
    return writer.add("Expand", given[0], writer.numbers(node.params["shape"]))


def permute(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Axes in another order."""
    return transposed(writer, given[0], node.params["order"])


def transposed(writer: OnnxWriter, name: str, order: Sequence[int]) -> str:
    """A value with its axes in another order."""
    order = list(map(int, order))
    return name if order == sorted(order) else writer.add("Transpose", name, perm=order)


def slice_(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A part of each axis."""
    shape = node.inputs[0].shape
    rows = [
        (k, *bound)
        for k, bound in enumerate(node.params["bounds"])
        if not (same_size(bound[0], 0) and same_size(bound[1], shape[k]) and same_size(bound[2], 1))
    ]
    if not rows:
        return given[0]
    axes, starts, stops, steps = zip(*rows, strict=True)
    ends = [PAST_THE_START if not is_symbolic(x) and x < 0 else x for x in stops]
    return writer.add("Slice", given[0], *map(writer.numbers, (starts, ends, axes, steps)))


def same_size(a: Any, b: Any) -> bool:
    """Whether two sizes are one, whatever the sizes are: nothing is decided for those at hand."""
    return a is b or not (is_symbolic(a) or is_symbolic(b) or a != b)


def pad(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Elements of a value around and between; negative widths take elements away."""
    p, x, shape = node.params, given[0], list(node.inputs[0].shape)
    value = writer.constant(p["value"], node.dtype)
    for axis, gap in enumerate(p["between"]):
        if not same_size(gap, 0):
            x, shape[axis] = spread(writer, x, shape, axis, gap, value), shape[axis] * (gap + 1)
            # the last element has no gap behind it
            ends = writer.number(shape[axis] - gap)
            x = writer.add("Slice", x, writer.number(0), ends, writer.number(axis))
    if all(same_size(n, 0) for n in (*p["low"], *p["high"])):
        return x
    return writer.add("Pad", x, writer.numbers([*p["low"], *p["high"]]), value)


def spread(
    writer: OnnxWriter, x: str, shape: Sequence[Any], axis: int, gap: Any, value: str
) -> str:
    """Write an axis with a gap after each element."""
    apart = [*shape[: axis + 1], 1, *shape[axis + 1 :]]
    x = writer.add("Reshape", x, writer.numbers(apart), allowzero=1)
    widths = [0] * (2 * len(apart))
    widths[len(apart) + axis + 1] = gap
    x = writer.add("Pad", x, writer.numbers(widths), value)
    joined = [*shape[:axis], shape[axis] * (gap + 1), *shape[axis + 1 :]]
    return writer.add("Reshape", x, writer.numbers(joined), allowzero=1)


def window(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Write the sliding windows of an axis, with the window as the last axis."""
    p, axis = node.params, node.params["axis"]
    steps = np.arange(p["size"], dtype=np.int64)[None] * int(p["dilation"])
    count = node.shape[axis]
    if is_symbolic(count):
        zero, one = (writer.constant(np.int64(k)) for k in (0, 1))
        starts = writer.add("Range", zero, writer.add("Squeeze", writer.number(count)), one)
        starts = writer.add("Mul", starts, writer.number(p["stride"]))
        starts = writer.add("Unsqueeze", starts, writer.number(1))
        places = writer.add("Add", starts, writer.constant(steps))
    else:
        places = writer.constant(np.arange(count, dtype=np.int64)[:, None] * p["stride"] + steps)
    found = writer.add("Gather", given[0], places, axis=axis)
    rank = node.rank
    order = [*range(axis + 1), *range(axis + 2, rank), axis + 1]
    return transposed(writer, found, order)


FOLDS = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


def reduce(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A fold of one axis."""
    x, monoid = node.inputs[0], node.params["monoid"]
    folded = {"or": "max", "and": "min"}.get(monoid, monoid)
    wide = foldable(x.dtype, node.dtype)
    value = cast(writer, given[0], x.dtype, wide)
    if same_size(x.shape[node.params["axis"]], 0):
        empty = writer.constant(identity_of(monoid, node.dtype), node.dtype)
        return writer.add("Expand", empty, writer.numbers(node.shape))
    axes = writer.number(node.params["axis"])
    made = writer.add(FOLDS[folded], value, axes, keepdims=0)
    return cast(writer, made, wide, node.dtype)


def foldable(*dtypes: DType) -> DType:
    """A dtype that runtimes fold, which holds values of these."""
    if any(x.is_floating_point for x in dtypes):
        return max((float32, *(x for x in dtypes if x.is_floating_point)), key=lambda x: x.itemsize)
    if all(x is bool_ for x in dtypes):
        return int32
    return int64


def contract(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A sum of products: a matrix product, its operands' axes moved and joined."""
    left, right, out = split_spec(node.params["spec"])
    a, b = node.inputs
    size = dict(zip(left + right, a.shape + b.shape, strict=True))
    wide = foldable(a.dtype, node.dtype)
    names = [cast(writer, x, a.dtype, wide) for x in given]
    shared = [c for c in out if c in left and c in right]
    rows = [c for c in out if c in left and c not in right]
    columns = [c for c in out if c in right and c not in left]
    summed = [c for c in left if c not in out]
    own = (names[0], left, shared, rows, summed), (names[1], right, shared, summed, columns)
    first, second = (matrix(writer, *each, size) for each in own)
    made = writer.add("MatMul", first, second)
    found = [*shared, *rows, *columns]
    if not (len(rows) == 1 and len(columns) == 1):
        made = writer.add("Reshape", made, writer.numbers([size[c] for c in found]), allowzero=1)
    made = transposed(writer, made, [found.index(c) for c in out])
    return cast(writer, made, wide, node.dtype)


def matrix(
    writer: OnnxWriter,
    name: str,
    letters: str,
    shared: list[str],
    rows: list[str],
    columns: list[str],
    size: dict[str, Any],
) -> str:
    """An operand with the axes (*shared, rows, columns), each of the last two joined to one."""
    order = [*shared, *rows, *columns]
    name = transposed(writer, name, [letters.index(c) for c in order])
    if len(rows) == 1 and len(columns) == 1:
        return name
    shape = [size[c] for c in shared]
    for group in (rows, columns):
        joined: Any = 1
        for c in group:
            joined = joined * size[c]
        shape.append(joined)
    return writer.add("Reshape", name, writer.numbers(shape), allowzero=1)


def gather(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Elements at positions: along one axis, beside axes that both operands have."""
    table, index, out = split_spec(node.params["spec"])
    looked_up = next(c for c in table if c not in out)
    shared = [c for c in index if c in table]
    own, rest = (
        [c for c in index if c not in table],
        [c for c in table if c not in (*shared, looked_up)],
    )
    x = transposed(writer, given[0], [table.index(c) for c in (*shared, looked_up, *rest)])
    at = cast(writer, given[1], node.inputs[1].dtype, int64)
    at = transposed(writer, at, [index.index(c) for c in (*shared, *own)])
    if shared:
        at = writer.add("Unsqueeze", at, writer.number(len(index)))
        made = writer.add("GatherND", x, at, batch_dims=len(shared))
    else:
        made = writer.add("Gather", x, at, axis=0)
    found = [*shared, *own, *rest]
    return transposed(writer, made, [found.index(c) for c in out])


def scatter(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Values folded into positions of an axis."""
    p = node.params
    own, index, out = split_spec(p["spec"])
    size = dict(zip(own, node.inputs[0].shape, strict=True))
    placed = next(c for c in out if c not in own)
    shared = [c for c in index if c in out]
    moved, rest = (
        [c for c in index if c not in out],
        [c for c in out if c in own and c not in index],
    )
    wide = foldable(node.dtype) if node.dtype is not bool_ else int32
    values = cast(writer, given[0], node.inputs[0].dtype, wide)
    values = transposed(writer, values, [own.index(c) for c in (*shared, *moved, *rest)])
    at = cast(writer, given[1], node.inputs[1].dtype, int64)
    at = transposed(writer, at, [index.index(c) for c in (*shared, *moved)])
    names = [*shared, *moved]
    shape = [size[c] for c in names]
    parts = [grid(writer, size[c], names.index(c), shape) for c in shared]
    parts.append(writer.add("Unsqueeze", at, writer.number(len(names))))
    places = writer.add("Concat", *parts, axis=-1) if shared else parts[0]
    full = [*(size[c] for c in shared), p["size"], *(size[c] for c in rest)]
    start = writer.constant(identity_of(p["monoid"], wide), wide)
    base = writer.add("Expand", start, writer.numbers(full))
    made = writer.add("ScatterND", base, places, values, reduction=p["monoid"])
    found = [*shared, placed, *rest]
    made = transposed(writer, made, [found.index(c) for c in out])
    return cast(writer, made, wide, node.dtype)


def grid(writer: OnnxWriter, size: Any, axis: int, shape: Sequence[Any]) -> str:
    """Positions along one of some axes, with an axis of size 1 behind them."""
    zero, one = (writer.constant(np.int64(k)) for k in (0, 1))
    line = (
        writer.add("Range", zero, writer.add("Squeeze", writer.number(size)), one)
        if is_symbolic(size)
        else writer.constant(np.arange(size, dtype=np.int64))
    )
    spread = [size if k == axis else 1 for k in range(len(shape))]
    line = writer.add("Reshape", line, writer.numbers([*spread, 1]), allowzero=1)
    return writer.add("Expand", line, writer.numbers([*shape, 1]))


def sort(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Positions that put an axis in order; equals keep theirs."""
    p, x = node.params, node.inputs[0]
    wide = foldable(x.dtype)
    count = writer.number(x.shape[p["axis"]])
    value = cast(writer, given[0], x.dtype, wide)
    largest = int(p["descending"])
    return writer.several("TopK", [value, count], 2, axis=p["axis"], largest=largest, sorted=1)[1]


RUNNING = {"mul": "mul", "max": "maximum", "min": "minimum"}
BETTER = {"argmax": ("max", "ge"), "argmin": ("min", "le")}


def scan(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A running fold: ONNX's sum, or steps that double, each of the fold so far and one before."""
    p, x = node.params, node.inputs[0]
    axis, monoid, size = p["axis"], p["monoid"], x.shape[p["axis"]]
    wide = foldable(x.dtype) if monoid in BETTER else foldable(x.dtype, node.dtype)
    value = cast(writer, given[0], x.dtype, wide)
    if monoid == "add":
        made = writer.add("CumSum", value, writer.constant(np.int64(axis)))
        return cast(writer, made, wide, node.dtype)
    if is_symbolic(size):
        raise TraceError(
            f"onnx: the running {monoid} of an axis has no counterpart in ONNX at sizes that "
            f"vary. Export for a fixed size.   [{writer.site}]"
        )
    best, better = BETTER.get(monoid, (monoid, ""))
    first = writer.constant(identity_of(best, wide), wide)
    place = index_along(writer, x, axis) if better else ""
    step = 1
    while step < size:
        widths = [0] * (2 * x.rank)
        widths[axis], widths[x.rank + axis] = step, -step
        moved = writer.numbers(widths)
        before = writer.add("Pad", value, moved, first)
        if better:
            wins = computed(writer, better, wide, [value, before])
            if wide.is_floating_point:
                wins = writer.add("Or", wins, writer.add("IsNaN", value))
            at = writer.add("Pad", place, moved, writer.constant(np.int64(0)))
            place = writer.add("Where", wins, place, at)
            value = writer.add("Where", wins, value, before)
        else:
            value = computed(writer, RUNNING[monoid], wide, [value, before])
        step *= 2
    return place if better else cast(writer, value, wide, node.dtype)


def index_along(writer: OnnxWriter, x: Node, axis: int) -> str:
    """The position of each element along an axis."""
    size = x.shape[axis]
    line = np.arange(size, dtype=np.int64).reshape(
        [size if k == axis else 1 for k in range(x.rank)]
    )
    return writer.add("Expand", writer.constant(line), writer.numbers(x.shape))


def external(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A function that isn't of the IR: none is in the file."""
    raise TraceError(
        f"onnx: {node.params['key']} has no counterpart in ONNX. Compute it outside.   "
        f"[{writer.site}]"
    )


RULES: dict[str, ExportRule] = {
    "barrier": same,
    "const": const,
    "contract": contract,
    "detach": same,
    "expand": expand,
    "external": external,
    "gather": gather,
    "iota": iota,
    "map": map_rule,
    "pad": pad,
    "permute": permute,
    "reduce": reduce,
    "reshape": reshape,
    "scan": scan,
    "scatter": scatter,
    "slice": slice_,
    "sort": sort,
    "window": window,
}
"""Primitive -> what writes it."""
