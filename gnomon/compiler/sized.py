"""Programs that serve every size: compiled once more when sizes vary, then only told the numbers.

The first programs of an outline are made for their own sizes. At its third sizes, or at the second
where a function asks for it, the numbers that differ become sizes (gnomon/ir/sizes.py), passes run
once on these, and what comes of it serves all graphs whose numbers agree with what was decided.
Numbers that follow from others in all graphs so far are taken to follow always; where one does not,
the program does not serve it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.forking import held
from gnomon.ir import collector
from gnomon.ir.dissected import Dissection, Numbers, graphs_of, renumbered
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Graph
from gnomon.ir.relations import Formulas, Relations, StandIn, first_that_serves
from gnomon.ir.sizes import SymInt, is_symbolic
from gnomon.ir.sym_number import Unsized
from gnomon.lazy import assembly, bound, conformance, pipeline
from gnomon.ops.collectives import MEETINGS
from gnomon.ops.registry import asks_for_chunks
from gnomon.passes.localize import ranks_of
from gnomon.program.context import CompileContext
from gnomon.program.executable import Executable
from gnomon.program.saved import SavedProgram
from gnomon.runtime.program import bindings, table
from gnomon.settings import override

if TYPE_CHECKING:
    from gnomon.program.blocks import ProgramBlock

__all__ = ["PROGRAMS", "SizedProgram", "on_symbols", "refuse_fixed", "serving"]

SAMPLES = 4
"""Graphs of an outline, the latest, of which is learned what follows from what."""
PROGRAMS = 8
"""Programs of one outline; further sizes get programs of their own."""
ENOUGH = 2
"""So many other sizes before tell that sizes vary; one does where a function says so."""
UNLUCKY = 2
"""So many attempts may fail before an outline is left alone."""


@dataclass
class ShapeFamily:
    """The graphs of one outline: the numbers of some, and programs for many."""

    samples: list[Numbers] = field(default_factory=list)
    programs: list[SizedProgram] = field(default_factory=list)
    failed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self, numbers: Numbers, graph: Graph) -> Executable | None:
        """The executable of a graph by a program that is there, if one serves it."""
        for each in reversed(self.programs):
            own = each.serves(numbers)
            if own is not None:
                return each.at(own, graph)
        return None

    def opened(self, taken: Dissection, graph: Graph, context: CompileContext) -> Executable | None:
        """The executable of a graph by a new program; None where it keeps its sizes."""
        numbers = taken.numbers
        with self.lock:
            before = [x for x in self.samples if x != numbers]
            if len(self.programs) >= PROGRAMS or self.failed >= UNLUCKY:
                self.samples = []
                return None
            self.samples = [*before, numbers][-SAMPLES:]
            if len(before) < (1 if context.dynamic else ENOUGH):
                return None
            made = new_program(graph, [numbers, *before], taken.leaves, context)
            if made is None:
                self.failed += 1
                return None
            self.programs.append(made)
        found = self.known(numbers, graph)
        assert found is not None, "sized: a program that serves a graph does so twice"
        found.fresh = made.fresh
        return found


_families: Recent[tuple, ShapeFamily] = memo(Recent())
_lock = held(threading.Lock())
os.register_at_fork(after_in_child=_families.clear)  # their locks may be taken


def family_of(taken: Dissection, context: CompileContext) -> ShapeFamily:
    """The family of a graph, taken apart: of its outline, and of the numbers that are no sizes."""
    key = (taken.outline, taken.structure, context.key)
    with _lock:
        found = _families.get(key)
        if found is None:
            found = _families[key] = ShapeFamily()
    return found


def serving(taken: Dissection, graph: Graph, context: CompileContext) -> Executable | None:
    """The executable of a graph, taken apart, by a program that serves other sizes too.

    None where there can be none, as for the first graph of its outline, or one that is told its
    rank.
    """
    if ranks_of(graph):
        return None
    family = family_of(taken, context)
    return family.known(taken.numbers, graph) or family.opened(taken, graph, context)


def new_program(
    graph: Graph, samples: Sequence[Numbers], leaves: Sequence[int], context: CompileContext
) -> SizedProgram | None:
    """A program for the first of some samples: one that stands for many sizes, or its own."""
    inputs = sum(x.rank for x in graph.inputs)

    def make(stand_in: StandIn) -> SizedProgram:
        related = partial(Relations, samples, inputs, leaves, stand_in)
        return SizedProgram(graph, related, context)

    return first_that_serves(make, samples[0], "a program", 1)


def on_symbols(
    graph: Graph, formulas: Callable[[StandIn], Formulas], own: Numbers, context: CompileContext
) -> SizedProgram | None:
    """The same of a graph on symbols, for their values."""

    def make(stand_in: StandIn) -> SizedProgram:
        return SizedProgram(graph, partial(formulas, stand_in), context)

    return first_that_serves(make, own, "a program", 1)


class SizedProgram:
    """A program that reads its sizes when it runs."""

    def __init__(
        self,
        graph: Graph,
        relations: Callable[[], Relations | Formulas],
        context: CompileContext,
    ) -> None:
        refuse_fixed(graph)
        self._graph, self._relations, self._related = graph, relations, relations()
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
        self._rest = replace(plan, steps=())
        found: dict[SymInt, None] = {}
        bound.sizes_in(self._rest, found)
        self._names = own = [*found]
        self._offsets_of = sizes.function([offsets[k] for k in varying])
        self._rest_of = sizes.function(own)
        self._sizes = sizes

    def serves(self, numbers: Numbers) -> Numbers | None:
        """The sizes of a graph with these numbers; None if the program is not for it."""
        own = self._related.given_by(numbers)
        return own if own is not None and self._holds(own) else None

    def at(self, own: Numbers, graph: Graph) -> Executable:
        """The executable of a graph of these sizes."""
        values = dict(zip(self._names, self._rest_of(own), strict=True))
        plan: SavedProgram = bound.bound(self._rest, values.__getitem__)

        def value_of(size: SymInt) -> int:
            (value,) = self._sizes.function([size])(own)
            return value

        needs = replace(plan.needs, alone=bool(plan.needs.alone))
        steps: Any = bound.LazySteps(self.plan.steps, value_of)
        plan = replace(plan, steps=steps, needs=needs)
        rows = self._rows.copy()
        rows[self._varying, 1] = self._offsets_of(own)
        remake = self._remaking(own)
        tables = (self._calls, rows)
        return Executable(graph, plan, self.addresses, self.context, remake, tables=tables)

    def _remaking(self, own: Numbers) -> Callable[[Graph], ProgramBlock]:
        """A function that runs the passes again, as when the program was made."""

        def remake(_: Graph) -> ProgramBlock:
            related = self._relations()
            with override(**self.context.settings._asdict()):
                flat = renumbered(self._graph, iter(related.numbers))
                block = pipeline.kernels_of(flat, self.context)

            def value_of(size: SymInt) -> int:
                (value,) = related.sizes.function([size])(own)
                return value

            return bound.BoundBlock(value_of).block(block)

        return remake


def refuse_fixed(graph: Graph, known: set[Graph] | None = None) -> None:
    """Refuse a graph that is compiled for its own sizes alone; `known` ones are not looked at."""
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
