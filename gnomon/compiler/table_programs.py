"""Programs that look up bags in embedding tables, or step the tables' rows in place.

No graph holds such a table: graphs describe the effect of one call on each table
(gnomon/ops/table_rows.py), and results take over the memory of the values that they replace.
gnomon/nn/table_batched.py calls the programs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

from gnomon.codegen.kernels.bag_steps import NUMBERS, emit_step
from gnomon.codegen.kernels.bags import BagSpec, emit_bags
from gnomon.codegen.opaque import OpaqueCall
from gnomon.compiler import target
from gnomon.compiler.build import of_block
from gnomon.dtypes import float32, int64
from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Graph, Node, Sites
from gnomon.ir.provenance import inherit
from gnomon.ops.table_rows import STATE_WIDTH, row_steps, table_bags
from gnomon.program.assembly import ALONE, plan_of
from gnomon.program.blocks import ProgramBlock
from gnomon.program.building import kernel_of
from gnomon.program.executable import Executable
from gnomon.program.kernel import Kernel


class About(NamedTuple):
    """The parameters on which a program's code depends.

    kind: "bags" or "step"; tables: rows, width and name of each.
    """

    kind: str
    tables: tuple[tuple[int, int, str | None], ...]
    bags: int
    size: int
    weighted: bool
    rule: str
    decays: bool

    @property
    def stride(self) -> int:
        """The number of elements between bags' results: those of all tables are side by side."""
        return sum(width for _, width, _ in self.tables)


@memo
@cache
def program_of(about: About, sites: Sites) -> Executable:
    """The program that looks up bags in tables, or steps their rows: one call for each table.

    Inputs per table: the table, for a step also optimizer state and gradients, then indices, and
    weights if there are any; a step's optimizer settings come last. Results are sums, or updated
    tables and states. A step's source lines are those of the backward pass and of its optimizer.
    """
    if about.kind == "step":
        parts = ("backward", "optimizer")
        sites = tuple(site._replace(phase=part) for part in parts for site in sites)
    kernels: list[Kernel] = []
    leaves: list[Node] = []
    with inherit(sites):
        arena = Arena()
        numbers = arena.input((len(NUMBERS),), float32, "numbers")
        for number in range(len(about.tables)):
            given, call = call_of(about, number, numbers)
            leaves += given
            kernels.append(kernel_of(call, call.given(), call.buffers[: call.outputs]))
    leaves += [numbers] if about.kind == "step" else []
    results = [x for kernel in kernels for x in kernel.buffers[: kernel.outputs]]
    block = ProgramBlock(Graph(leaves, results), tuple(kernels))
    plan = plan_of(block)
    # of a table only the rows that are met count
    work = about.bags * about.size * about.stride
    plan = replace(plan, needs=replace(plan.needs, alone=work < ALONE))
    made = of_block(block, plan, target.context())
    made.name = f"TableBatchedEmbeddingBags.{about.kind}"
    return made


def call_of(about: About, number: int, numbers: Node) -> tuple[list[Node], OpaqueCall]:
    """The graph inputs that the kernel of one table reads, and its call."""
    rows, width, name = about.tables[number]
    asked, steps = (about.bags, about.size), about.kind == "step"
    leaf, kept = numbers.arena.input, STATE_WIDTH[about.rule]
    tables = [leaf((rows, width), float32, name or f"table{number}")]
    index = leaf(asked, int64, "indices")
    weights = [leaf(asked, float32, "weights")] if about.weighted else []
    shares = weights[0] if weights else None
    if steps:
        if kept is not None:
            shape = (rows, width) if kept == "width" else (rows,)
            tables.append(leaf(shape, float32, f"state{number}"))
        slopes = [leaf((about.bags, width), float32, "slopes")]
        how = {"rule": about.rule, "decays": about.decays}
        made = row_steps(tuple(tables), *slopes, index, numbers, shares, **how)
        buffers = (*made, *slopes, index, numbers, *weights)
    else:
        slopes, made = [], (table_bags(tables[0], index, shares),)
        buffers = (*made, tables[0], index, *weights)
    spec = BagSpec(rows, width, *asked, about.stride, about.weighted, about.rule, about.decays)
    call = OpaqueCall(
        f"{about.rule}_rows" if steps else "bags",
        emit_step if steps else emit_bags,
        (spec,),
        buffers,
        (2 + steps) * spec.lookups * width,
        len(made),
        checks=1,
        # of a table only the rows that are met are read, and by a step written
        bytes=8 * spec.lookups + 4 * width * (spec.lookups * (1 + steps) + about.bags),
    )
    return [*tables, *slopes, index, *weights], call
