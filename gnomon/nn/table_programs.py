"""The programs of tables whose rows step in place, and whose lines they serve.

They are written for tables that no graph holds, so their owners are made here, and say to the
profiler what a compiled program says of itself: kernels, buffers, lines. Who calls them is in
table_batched.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from gnomon.codegen.emitter import LLVMModule as Text
from gnomon.codegen.kernels.bag_steps import emit_step
from gnomon.codegen.kernels.bags import BagSpec, emit_bags
from gnomon.codegen.loops import Code
from gnomon.dtypes import float32, int64
from gnomon.ir.memo import digest, memo
from gnomon.ir.node import Arena, Graph, Node, Sites
from gnomon.ir.operators import elementwise
from gnomon.ir.provenance import inherit
from gnomon.lazy import blocks, listing, target
from gnomon.ops.lookup_primitives import gather, scatter
from gnomon.ops.primitives import expand, reduce, reshape, unsqueeze
from gnomon.ops.registry import internal
from gnomon.ops.scalars import where
from gnomon.program.executable import Executable
from gnomon.program.saved import SavedProgram
from gnomon.runtime.backend import HOST
from gnomon.runtime.program import Call, ConstantSlot, InputSlot, Needs, OutputSlot
from gnomon.schedule.memory import MemoryPlan


@dataclass(frozen=True)
class TableSpec:
    """A table: how many rows, how wide."""

    rows: int
    width: int
    name: str | None = None


class About(NamedTuple):
    """The parameters that a program's code follows from; kind is "bags" or "step"."""

    kind: str
    specs: tuple[TableSpec, ...]
    bags: int
    size: int
    weighted: bool
    rule: str
    decays: bool

    def table(self, number: int) -> BagSpec:
        """The description of a table, for its kernel."""
        spec, stride = self.specs[number], sum(s.width for s in self.specs)
        shape = (spec.rows, spec.width, self.bags, self.size, stride)
        return BagSpec(*shape, self.weighted, self.rule, self.decays)


# what kernels compute, by its definition


@internal
def table_bags(table: Node, index: Node) -> Node:
    """The rows of each bag, summed; −1 is none."""
    there = elementwise("ge", index, 0)
    rows = gather("vd,bs->bsd", table, where(there, index, 0))
    return reduce("add", where(unsqueeze(there, 2), rows, 0.0), (1,))


@internal
def row_steps(table: Node, slope: Node, index: Node) -> Node:
    """A table whose met rows have gone along their slopes, at a rate of 1 and by the plain rule."""
    there, shape = elementwise("ge", index, 0), (*index.shape, table.shape[1])
    each = where(unsqueeze(there, 2), expand(unsqueeze(slope, 1), shape), 0.0)
    rows, met = reshape(each, (index.size, shape[2])), reshape(index, (index.size,))
    met = elementwise("maximum", met, 0)
    return table - scatter("add", "sd,s->vd", rows, met, table.shape[0])


# programs


@memo
@cache
def owner_of(about: About, sites: Sites) -> Executable:
    """The program that looks bags up, or steps rows, under lines: one call per table, in any order.

    A step serves its lines in the backward pass and as their optimizer.
    """
    calls, kernels, graph = [], [], Arena()
    codes = [code_of(about.kind, about.table(k)) for k in range(len(about.specs))]
    column = 0
    if about.kind == "step":
        parts = ("backward", "optimizer")
        sites = tuple(site._replace(phase=part) for part in parts for site in sites)
    for number, (spec, code) in enumerate(zip(about.specs, codes, strict=True)):
        calls.append(Call(code.symbol, slots_of(about, number, column)))
        kernels.append(kernel_of(about, number, code, graph, sites))
        column += spec.width
    results = [kernel.buffers[0] for kernel in kernels]
    leaves = [x for kernel in kernels for x in kernel.nodes[0].inputs]
    plan = SavedProgram(
        tuple(calls), needs_of(about, codes), MemoryPlan((), 0, 0), (), returns_of(results)
    )
    source = Graph(leaves, results)
    handles = HOST.kernels.load({code.symbol: code.text for code in codes})
    block = blocks.ProgramBlock(source, tuple(kernels))
    made = Executable(source, plan, handles, target.context(), lambda graph: block, block)
    made.name = f"TableBatchedEmbeddingBags.{about.kind}"
    return made


def returns_of(results: list[Node]) -> tuple[tuple[bool, int], ...]:
    """The results' addresses: in memory that the caller gave."""
    return tuple((False, k) for k, _ in enumerate(results))


def needs_of(about: About, codes: list[Code]) -> Needs:
    """The needs of a run."""
    work = about.bags * about.size * sum(s.width for s in about.specs)
    scratch = max(64 << 10, *(code.scratch for code in codes))
    return Needs(inputs=3, outputs=2 + 2 * len(about.specs), scratch=scratch, alone=work < 1 << 15)


def kernel_of(about: About, number: int, code: Code, arena: Arena, sites: Sites) -> object:
    """The record of a table's kernel."""
    spec = about.specs[number]
    with inherit(sites):
        table = arena.input((spec.rows, spec.width), float32, spec.name or f"table{number}")
        index = arena.input((about.bags, about.size), int64, "indices")
        slope = arena.input((about.bags, spec.width), float32, "slopes")
        step = about.kind == "step"
        result = row_steps(table, slope, index) if step else table_bags(table, index)
    given = (slope, index) if step else (table, index)
    met = about.bags * about.size
    # of a table only the rows that are met are read, and by a step written
    moved = 8 * met + 4 * spec.width * (met * (2 if step else 1) + about.bags)
    name = f"{about.rule}_rows" if step else "bags"
    return listing.Kernel(
        name,
        code,
        (result, *given),
        1,
        None,
        (result,),
        (2 + step) * met * spec.width,
        bytes=moved,
    )


@memo
@cache
def code_of(kind: str, spec: BagSpec) -> Code:
    """A kernel's code, the scratch it needs with it."""
    module, name = Text(), f"{kind}_{digest(repr(spec))}"
    bytes_needed = (emit_bags if kind == "bags" else emit_step)(module, name, spec)
    return Code(name, module.text(), bytes_needed)


def slots_of(about: About, number: int, column: int) -> tuple:
    """The slots of a table's kernel: what it reads and writes."""
    tables, spec = len(about.specs), about.table(number)
    table, kept = OutputSlot(2 + number), OutputSlot(2 + tables + number)
    values, report = OutputSlot(0, 4 * column), (OutputSlot(1), ConstantSlot(0))
    index = InputSlot(0, 8 * number * spec.lookups)
    weights = (InputSlot(1, 4 * number * spec.lookups),) if spec.weighted else ()
    if about.kind == "bags":
        return (values, table, index, *report, *weights)
    return (table, values, index, *report, kept, InputSlot(2), *weights)
