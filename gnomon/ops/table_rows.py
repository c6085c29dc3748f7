"""Embedding tables that are updated in place: the definitions of lookups and steps.

The compiled programs (gnomon/compiler/table_programs.py) compute it by kernels that touch only rows
that occur.
"""

from __future__ import annotations

from gnomon.dtypes import float32
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.lookup_primitives import gather, scatter
from gnomon.ops.primitives import expand, reduce, reshape, unsqueeze
from gnomon.ops.registry import internal
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import slice_

STATE_WIDTH = {"sgd": None, "adagrad": "width", "rowwise_adagrad": "one"}
"""The rule of an optimizer -> the state of a row: None, one number per column, or one number."""


@internal
def table_bags(table: Node, index: Node, weights: Node | None) -> Node:
    """The sum of the rows of each bag; positions −1 are skipped."""
    there = elementwise("ge", index, 0)
    rows = gather("vd,bs->bsd", table, where(there, index, 0))
    rows = rows if weights is None else rows * unsqueeze(weights, 2)
    return reduce("add", where(unsqueeze(there, 2), rows, 0.0), (1,))


@internal
def row_steps(
    tables: tuple[Node, ...],
    slope: Node,
    index: Node,
    numbers: Node,
    weights: Node | None,
    *,
    rule: str,
    decays: bool,
) -> tuple[Node, ...]:
    """The optimizer's step on the rows of a table that bags looked up: new table and state.

    numbers: rate, epsilon, decay.
    """
    table, *kept = tables
    rate, small, decay = (reshape(slice_(numbers, ((k, k + 1, 1),)), ()) for k in range(3))
    there = elementwise("ge", index, 0)
    place = where(there, index, 0)
    each = expand(unsqueeze(slope, 1), (*index.shape, table.shape[1]))
    each = each if weights is None else each * unsqueeze(weights, 2)
    each = where(unsqueeze(there, 2), each, 0.0)
    g = scatter("add", "bsd,bs->vd", each, place, table.shape[0])
    met = scatter("max", "bs,bs->v", cast(there, float32), place, table.shape[0])
    g = g + table * decay if decays else g
    if rule == "sgd":
        made = [table - g * rate]
    elif rule == "adagrad":
        m = kept[0] + g * g
        made = [table - rate * (g / (elementwise("sqrt", m) + small)), m]
    else:
        m = kept[0] + reduce("add", g * g, (1,)) / float(table.shape[1])
        made = [table - unsqueeze(rate / (elementwise("sqrt", m) + small), 1) * g, m]
    hit = elementwise("gt", met, 0.0)
    held = zip(made, tables, strict=True)
    return tuple(where(unsqueeze(hit, 1) if y.rank > 1 else hit, y, x) for y, x in held)
