"""The bit oracle: a graph by plain numpy, with the very bits that compiled code gives.

For small sizes: it is made to be right. It takes graphs as they are, regions and all, and knows
nothing of passes, schedules or generated text, so that whatever these do wrong is a difference.
The interpreter (gnomon/ops/interpret.py) is the definition to rounding, this one to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from gnomon.dtypes import DType, accumulator, bfloat16, bool_, computed, int64
from gnomon.ir.node import PRIMITIVES, Graph, Node
from gnomon.ops.control_primitives import CONTROL, call_of, control_values
from gnomon.ops.lookup_primitives import spread
from gnomon.ops.primitives import identity_of, split_spec, summed
from tests.oracle.algebra import quiet
from tests.oracle.folds import beginning, fold, fold_present, running, sum_of_products
from tests.oracle.scalars import cast_value, scalar_value

Claimed = Mapping[str, Callable[..., list[np.ndarray]]]
"""Region -> what gives its results, of (node, *inputs), where a kernel has an order of its own."""


def exact(
    graph: Graph, arrays: Sequence[np.ndarray], claimed: Claimed | None = None
) -> list[np.ndarray]:
    """The graph's outputs for these inputs, to the bit; claimed regions by their kernels' order."""
    values = dict(zip(graph.inputs, arrays, strict=True))
    opened: dict[tuple, list[np.ndarray]] = {}
    for node in graph:
        if node in values:
            continue
        inputs = [values[x] for x in node.inputs]
        if node.op == "region":
            # several results of one call: the body runs once
            call = (node.params["body"], *node.inputs)
            if call not in opened:
                opened[call] = region_values(node, inputs, claimed or {})
            values[node] = opened[call][node.params["index"]]
        elif node.op in CONTROL:
            call = call_of(node)
            if call not in opened:
                opened[call] = control_values(node, inputs, partial(exact, claimed=claimed))
            values[node] = opened[call][node.params["index"]]
        else:
            values[node] = evaluate(node, inputs)
    return [values[x] for x in graph.outputs]


def region_values(node: Node, inputs: Sequence[np.ndarray], claimed: Claimed) -> list[np.ndarray]:
    """All results of a region's call."""
    of_its_own = claimed.get(node.params["name"])
    return of_its_own(node, *inputs) if of_its_own else exact(node.params["body"], inputs, claimed)


def evaluate(node: Node, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """One node's value; views and lookups move elements, so theirs is the interpreter's."""
    compute = OPERATIONS.get(node.op, PRIMITIVES[node.op].value)
    value = np.asarray(compute(node, *inputs))
    assert value.shape == node.shape, f"{node!r}: the bit oracle gave shape {value.shape}"
    assert value.dtype == node.dtype.numpy, f"{node!r}: the bit oracle gave dtype {value.dtype}"
    return value


def running_dtype(monoid: str, dtype: DType) -> DType:
    """The dtype in which a fold runs: sums and products in their accumulator."""
    return accumulator(dtype) if monoid in ("add", "mul") else dtype


def reduce(node: Node, x: np.ndarray) -> np.ndarray:
    """One axis folded, rounded once."""
    p, given = node.params, node.inputs[0].dtype
    if not x.shape[p["axis"]]:
        return np.full(node.shape, identity_of(p["monoid"], node.dtype), node.dtype.numpy)
    dtype = running_dtype(p["monoid"], given)
    parts = np.moveaxis(widened(x, given, dtype), p["axis"], 0)
    total = fold(p["monoid"], parts, computed(dtype), p["leaves"], p["lanes"])
    return cast_value(total, computed(dtype), node.dtype)


def widened(x: np.ndarray, given: DType, dtype: DType) -> np.ndarray:
    """x as the dtype that folds of `dtype` compute in."""
    return cast_value(x, given, computed(dtype))


def contract(node: Node, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A sum of products; exact ones of integers, fused chains of floats."""
    left, right, out = split_spec(node.params["spec"])
    letters, given = summed(left, right, out), node.inputs[0].dtype
    a, b = (spread(x, own, "".join(letters) + out) for x, own in ((a, left), (b, right)))
    if not given.is_floating_point:
        return exact_product(node, a, b, len(letters))
    wide = accumulator(given)
    a, b = (x.astype(wide.numpy) for x in (a, b))
    if any(n == 0 for n in a.shape[: len(letters)]):
        return np.zeros(node.shape, node.dtype.numpy)
    total = sum_of_products(a, b, node.params["leaves"], given is bfloat16)
    return cast_value(np.broadcast_to(total, node.shape), wide, node.dtype)


@quiet
def exact_product(node: Node, a: np.ndarray, b: np.ndarray, letters: int) -> np.ndarray:
    """A product of integers, which wraps, or of truth values, where any pair decides."""
    axes = tuple(range(letters))
    if node.inputs[0].dtype is bool_:
        found = np.logical_or.reduce(a & b, axis=axes) if axes else a & b
    else:
        whole = a.astype(node.dtype.numpy) * b.astype(node.dtype.numpy)
        found = np.add.reduce(whole, axis=axes, dtype=node.dtype.numpy) if axes else whole
    return np.broadcast_to(found, node.shape).astype(node.dtype.numpy)


@quiet
def scan(node: Node, x: np.ndarray) -> np.ndarray:
    """A running fold: an ascending chain, of sums one in each block."""
    monoid, axis, given = node.params["monoid"], node.params["axis"], node.inputs[0].dtype
    if monoid.startswith("arg"):
        return running_best(node, x)
    dtype = computed(running_dtype(monoid, given))
    parts = np.moveaxis(cast_value(x, given, dtype), axis, 0)
    found = running(monoid, list(parts), np.broadcast_to(beginning(monoid, dtype), parts.shape[1:]))
    found = [cast_value(np.asarray(state), dtype, node.dtype) for state in found]
    return np.stack(found, axis) if found else np.zeros(node.shape, node.dtype.numpy)


def running_best(node: Node, x: np.ndarray) -> np.ndarray:
    """The position of the best so far: the latest of equals, and for good of NaN."""
    axis, given = node.params["axis"], node.inputs[0].dtype
    parts = np.moveaxis(widened(x, given, given), axis, 0)
    better = np.greater_equal if node.params["monoid"] == "argmax" else np.less_equal
    place, found = np.zeros(parts.shape[1:], np.int64), []
    for k, part in enumerate(parts):
        best = np.take_along_axis(parts, place[None], 0)[0]
        # only NaN differs from itself
        wins = (better(part, best) & (best == best)) | (part != part)
        place = np.where(wins, k, place)
        found.append(place)
    return np.stack(found, axis) if found else np.zeros(node.shape, np.int64)


@quiet
def scatter(node: Node, values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """For each place the values meant for it, in canonical order."""
    p = node.params
    own, names, out = split_spec(p["spec"])
    letters = "".join(c for c in own if c not in out)
    (target,) = (c for c in out if c not in own)
    dtype = computed(running_dtype(p["monoid"], node.dtype))
    # each place along `keyed` has a list of its own; what is free lies beside it
    keyed = "".join(c for c in out if c in names or c == target)
    free = "".join(c for c in out if c not in keyed)
    size = {**dict(zip(own, values.shape, strict=True)), target: p["size"]}
    n, sizes = len(letters), [size[c] for c in letters + keyed + free]
    wide = cast_value(spread(values, own, letters + keyed + free), node.dtype, dtype)
    wide = np.broadcast_to(wide, sizes)
    places = np.arange(p["size"]).reshape([-1 if c == target else 1 for c in letters + keyed])
    hit = np.broadcast_to(spread(index, names, letters + keyed) == places, sizes[: n + len(keyed)])
    total = np.empty(sizes[n:], dtype.numpy)
    for cell in np.ndindex(hit.shape[n:]):
        at = (slice(None),) * n + cell
        total[cell] = fold_present(p["monoid"], wide[at], hit[at], dtype, p["leaves"])
    total = total.transpose([(keyed + free).index(c) for c in out])
    if p["monoid"] == "add" and dtype.is_floating_point:
        total = total + np.zeros((), dtype.numpy)  # a sum of nothing is +0
    return cast_value(total, dtype, node.dtype)


def sort(node: Node, x: np.ndarray) -> np.ndarray:
    """Stable positions, NaN largest."""
    given = node.inputs[0].dtype
    return PRIMITIVES["sort"].value(node, widened(x, given, given))


def iota(node: Node) -> np.ndarray:
    """0, 1, 2, ..."""
    return cast_value(np.arange(node.params["size"]), int64, node.dtype)


OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "map": scalar_value,
    "iota": iota,
    "reduce": reduce,
    "scan": scan,
    "contract": contract,
    "scatter": scatter,
    "sort": sort,
}
"""Primitive -> its value; leaves, views and lookups have none of their own."""
