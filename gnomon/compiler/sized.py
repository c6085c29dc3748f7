"""Dynamic-shape programs: compiled once on symbolic sizes, then bound to each graph's numbers.

The first programs of an outline are built for their own sizes. At the third sizes, or at the second
where a function asks for it, the numbers that differ become symbolic sizes (gnomon/ir/sizes.py),
passes run once on these, and the result serves all graphs whose numbers satisfy the guards. Numbers
that followed from others in all graphs so far are assumed to follow always; the program does not
serve a graph where one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.ir import collector
from gnomon.ir.dissected import Dissection, Numbers, graphs_of, renumbered
from gnomon.ir.memo import memo
from gnomon.ir.node import Graph
from gnomon.ir.relations import Formulas, Relations, StandIn, first_that_serves
from gnomon.ir.sizes import LEAST, MOST, is_symbolic
from gnomon.ir.specializations import ASKED, PROGRAMS, Specializations
from gnomon.ir.substitution import of_symbols, substituted, symbols_in
from gnomon.ir.sym_number import Unsized
from gnomon.lazy import assembly, bound, conformance, pipeline
from gnomon.ops.collectives import MEETINGS
from gnomon.ops.registry import asks_for_chunks
from gnomon.passes.localize import ranks_of
from gnomon.program.context import CompileContext
from gnomon.program.executable import Executable, Lines, lines_of
from gnomon.program.saved import SavedProgram
from gnomon.runtime.program import bindings, table
from gnomon.settings import override

if TYPE_CHECKING:
    from gnomon.program.blocks import ProgramBlock

__all__ = ["SizedProgram", "on_symbols", "refuse_fixed", "serving"]

_families = memo(Specializations(PROGRAMS))


def serving(taken: Dissection, graph: Graph, context: CompileContext) -> Executable | None:
    """The executable of a graph by a program that serves other sizes too; None without one.

    None for the first graph of an outline, and for a graph that takes its rank as an input. Numbers
    that are no sizes are part of the key.
    """
    if ranks_of(graph):
        return None
    family = _families.of(family_key(taken, context))

    def make(others: list[Numbers]) -> SizedProgram | None:
        return new_program(graph, [taken.numbers, *others], taken.leaves, context)

    found = family.served(taken.numbers, make, ASKED if context.dynamic else 0)
    return found and found[0].at(found[1], graph)


def family_key(taken: Dissection, context: CompileContext) -> tuple:
    """The key of the programs that may serve a graph: all but the sizes that may vary.

    An axis of size 1 has programs of its own, and so has another one in its place: what holds for
    one tells nothing of the others.
    """
    leaves = {*taken.leaves}
    fixed = [
        (k, n)
        for k, n in enumerate(taken.numbers)
        if not LEAST <= n < MOST and k not in leaves and n.__class__ is int
    ]
    return taken.outline, taken.structure, tuple(fixed), context.key


def existing_program(taken: Dissection, lines: Lines, context: CompileContext) -> Executable | None:
    """The executable of a graph by an existing program for several sizes; None if none fits.

    lines: the source lines of the graph's nodes; those of nested graphs are the program's own.
    """
    family = _families.get(family_key(taken, context))
    found = family and family.serving(taken.numbers)
    if not found or found[0].inside != nested_lines(lines):
        return None
    program, own = found
    made = program.at(own, partial(sited, program.graph, taken.numbers, lines))
    made.lines = lines
    return made


def new_program(
    graph: Graph, samples: Sequence[Numbers], leaves: Sequence[int], context: CompileContext
) -> SizedProgram | None:
    """Compile a program that serves the first sample, with sizes as symbols if possible."""
    inputs = sum(x.rank for x in graph.inputs)

    def make(stand_in: StandIn) -> SizedProgram:
        of_sizes = partial(renumbered, graph)
        related = partial(Relations, samples, inputs, leaves, stand_in, of_sizes)
        return SizedProgram(graph, related, context)

    return first_that_serves(make, samples[0], "a program", 1)


def on_symbols(
    graph: Graph, formulas: Callable[[StandIn], Formulas], own: Numbers, context: CompileContext
) -> SizedProgram | None:
    """Compile a dynamic-shape program from a graph on symbols, checked at its own numbers."""

    def make(stand_in: StandIn) -> SizedProgram:
        return SizedProgram(graph, partial(formulas, stand_in), context)

    return first_that_serves(make, own, "a program", 1)


class SizedProgram:
    """A program whose sizes are read when it runs."""

    def __init__(
        self,
        graph: Graph,
        relations: Callable[[], Relations | Formulas],
        context: CompileContext,
    ) -> None:
        refuse_fixed(graph)
        self.graph, self.inside = graph, nested_lines(lines_of(graph))
        self._relations, self._related = relations, relations()
        sizes, given = self._related.sizes, self._related.numbers
        self.context = replace(context, sizes_vary=True)
        if not self._related.places:
            raise Unsized("nothing varies that is more than 1")
        conformance.assure()
        with collector.paused(), context.backend.kernels.batch() as batch:
            block = pipeline.kernels_of(renumbered(graph, iter(given)), self.context, batch.ask)
            self.plan: SavedProgram = assembly.plan_of(block)
            texts = {code.symbol: code.text for k in block.kernels() for code in k.codes}
            self.addresses, self.fresh = batch.load(texts), batch.begun
        plan, self._holds = self.plan, sizes.test()
        self._calls = table(plan.steps, self.addresses, plan.needs)
        rows = bindings(plan.steps, self.addresses, plan.needs)
        offsets = [offset for _, offset in rows]
        varying = [k for k, offset in enumerate(offsets) if is_symbolic(offset)]
        fixed = [(base, 0 if is_symbolic(offset) else offset) for base, offset in rows]
        self._rows = np.array(fixed, np.int64).reshape(-1, 2)
        self._varying = np.array(varying, np.int64)
        rest = {f.name: getattr(plan, f.name) for f in fields(plan) if f.name != "steps"}
        self._rest = {name: part for name, part in rest.items() if symbols_in(part)}
        self._names = symbols_in(self._rest)
        self._offsets_of = sizes.function([offsets[k] for k in varying])
        self._rest_of = sizes.function(self._names)
        self._sizes = sizes

    def serves(self, numbers: Numbers) -> Numbers | None:
        """The sizes of a graph with these numbers; None if the program does not serve it."""
        own = self._related.given_by(numbers)
        return own if own is not None and self._holds(own) else None

    def at(self, own: Numbers, graph: Graph | Callable[[], Graph]) -> Executable:
        """The executable of a graph at these sizes."""
        values = dict(zip(self._names, self._rest_of(own), strict=True))
        rest = {"needs": self.plan.needs, **substituted(self._rest, of_symbols(values.get))}
        rest["needs"] = replace(rest["needs"], alone=bool(rest["needs"].alone))
        steps: Any = bound.LazySteps(self.plan.steps, partial(self._sizes.value, own))
        plan = replace(self.plan, **rest, steps=steps)
        rows = self._rows.copy()
        rows[self._varying, 1] = self._offsets_of(own)
        remake = self._remaking(own)
        tables = (self._calls, rows)
        made = Executable(graph, plan, self.addresses, self.context, remake, tables=tables)
        made.fresh, self.fresh = self.fresh, 0  # codes are new to who had them made
        return made

    def _remaking(self, own: Numbers) -> Callable[[Graph], ProgramBlock]:
        """A function that repeats the passes at these sizes, as when the program was made."""

        def remake(graph: Graph) -> ProgramBlock:
            related = self._relations()
            with override(**self.context.settings._asdict()):
                flat = sited(self.graph, related.numbers, lines_of(graph))
                block = pipeline.kernels_of(flat, self.context)
            return bound.BoundBlock(partial(related.sizes.value, own)).block(block)

        return remake


def sited(graph: Graph, numbers: Numbers, lines: Lines) -> Graph:
    """A copy of a graph with other numbers, and with the lines of a graph of as many nodes."""
    made = renumbered(graph, iter(numbers))
    for node, sites in zip(made.nodes, lines * (len(lines) == len(made.nodes)), strict=False):
        node.sites = tuple([x for x in sites if x.__class__ is not str])
    return made


def nested_lines(lines: Lines) -> list[str]:
    """The lines of graphs nested in a graph, which are digests among the lines of its nodes."""
    return [x for sites in lines for x in sites if x.__class__ is str]


def refuse_fixed(graph: Graph, known: set[Graph] | None = None) -> None:
    """Raise Unsized for a graph that can be compiled for fixed sizes only; `known` are skipped."""
    known = set() if known is None else known
    known.add(graph)
    for node in graph:
        over_ranks = node.op in MEETINGS or node.params.get("layout")
        if over_ranks:
            raise Unsized(f"it holds {node.op}")
        if node.op == "region" and asks_for_chunks(node):
            raise Unsized(f"{node.params['name']} is computed in chunks")
        for inner in graphs_of(node):
            if inner not in known:
                refuse_fixed(inner, known)
