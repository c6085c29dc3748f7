"""Build executables from closed graphs: from this process's cache, the disk, or the compiler.

A process that finds its programs on disk never loads the compiler.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from gnomon.compiler import target
from gnomon.compiler.pass_log import passed
from gnomon.forking import held
from gnomon.ir import collector
from gnomon.ir.dissected import dissection
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Graph
from gnomon.ir.provenance import user_site, waited
from gnomon.ir.show import log, since, waited_for
from gnomon.lazy import (
    assembly,
    autotuning,
    communication,
    conformance,
    excerpt,
    listing,
    pipeline,
    sized,
)
from gnomon.program.cache import is_saved, key_of, save, save_anew, saved
from gnomon.program.executable import Executable, Lines, Remake, lines_of
from gnomon.program.saved import SavedProgram
from gnomon.runtime.program import Step, Tables
from gnomon.settings import holding, override

if TYPE_CHECKING:
    from gnomon.ir.dissected import Dissection
    from gnomon.program.blocks import ProgramBlock
    from gnomon.program.context import CompileContext
    from gnomon.schedule.placed import Placed

__all__ = ["build", "compile_graph", "from_file", "is_built", "of_block", "refuse_measured"]


MANY = 200
"""The nodes of a graph from which its code takes longer than starting another process."""


_built: Recent[tuple, Executable] = memo(Recent())
_outlines: set[bytes] = memo(set())
"""The outlines of graphs built so far; a second graph of an outline means that sizes vary."""
compiling: ContextVar[Graph | None] = ContextVar("compiling", default=None)
"""The graph whose passes are running."""
_locks: dict[tuple, threading.Lock] = {}
_lock = held(threading.Lock())
os.register_at_fork(after_in_child=_locks.clear)


def build(
    graph: Graph,
    name: str = "",
    context: CompileContext | None = None,
    **asked: Any,
) -> Executable:
    """The executable of a graph, made once per structure and context.

    asked: fields of the context, if no context is given.
    """
    context = context or target.context(**asked)
    key = (graph.key, context.key)
    with _lock:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        made = _built.get(key)
        if made is None:
            made = _built[key] = made_anew(graph, context)
    lines = lines_of(graph)
    known = made.lines == lines and made.name == name
    return made if known else made.under(graph, lines, name)


def made_anew(graph: Graph, context: CompileContext) -> Executable:
    """Compile a graph for which this process has no program."""
    taken = dissection(graph)
    # what is measured of a program that was made before has its sizes
    fixed = (graph.key, context.by_model.key) in _built
    vary = taken.outline in _outlines and not fixed and context.settings.allows("share")
    context = replace(context, sizes_vary=vary)
    _outlines.add(taken.outline)
    return compile_graph(graph, context, taken if context.may_vary and not fixed else None)


def existing_executable(taken: Dissection, lines: Lines) -> Executable | None:
    """The executable of a graph that was not built yet, if a dynamic-shape program serves it.

    lines: the source lines of the graph's nodes.
    """
    context = target.context()
    may = taken.outline in _outlines and context.may_vary
    return sized.existing_program(taken, lines, context) if may else None


def is_built(graph: Graph, context: CompileContext) -> bool:
    """Whether `build` finds a program, in this process or on the disk, without compiling."""
    known = (graph.key, context.key) in _built
    return known or is_saved(key_of(graph, context), context.settings)


def refuse_measured(graph: Graph, context: CompileContext) -> None:
    """Make `build` return the cost model's program for a context that asks for measurements."""
    plainly = context.by_model
    with _lock:
        found = _built.get((graph.key, plainly.key))
        if found is not None:
            _built[graph.key, context.key] = found
    save_anew(key_of(graph, plainly), key_of(graph, context), context.settings)


def compile_graph(
    graph: Graph, context: CompileContext, taken: Dissection | None = None
) -> Executable:
    """A program from the disk, or a new one: for these sizes, or for several if `taken` is given.

    taken: the dissected graph, whose program may serve other sizes too.
    """
    start, key = perf_counter(), key_of(graph, context)
    found = saved(key, context)
    if found is None:
        made = None if taken is None else sized.serving(taken, graph, context)
        return made or compiled(graph, context, key)
    log(1, lambda: f"compile: {len(graph.nodes)} nodes, from the disk{since(start)}")
    passed(f"compile: {len(graph.nodes)} nodes, from the disk", start)
    return Executable(graph, *found, context, remaking(found[0], context))


def compiled(graph: Graph, context: CompileContext, key: str) -> Executable:
    """Run all passes and compile the code; the program is stored on disk under its key."""
    start, settings = perf_counter(), context.settings
    if not context.backend.interprets:
        conformance.assure()
    with (
        holding(compiling, graph),
        collector.paused(),
        waited_for(lambda: f"gnomon: compiling {len(graph.nodes)} nodes"),
        context.backend.kernels.batch() as batch,
    ):
        if len(graph.nodes) >= MANY:
            batch.prepare()
            context.backend.program.prepare()
        # while something is measured, nobody compiles
        tuner = (
            autotuning.Tuner(context, partial(executable_of_part, context))
            if context.seconds
            else None
        )
        ask = pipeline.ignored if tuner else batch.ask
        block = pipeline.kernels_of(graph, context, ask, tuner)
        kernels = tuple(block.kernels())
        plan = communication.traced(assembly.plan_of(block, tuner), graph, kernels)
        texts = {code.symbol: code.text for k in kernels for code in k.codes}
        remake = remaking(plan, context)
        made = Executable(graph, plan, batch.load(texts), context, remake, block)
        made.fresh = batch.begun
    save(key, context, plan, texts)
    count, seconds = waited.get(user_site(), (0, 0.0))
    waited[user_site()] = count + 1, seconds + perf_counter() - start
    passed(f"compile: {len(graph.nodes)} nodes -> {len(kernels)} kernels", start)
    for kernel in {k.code.symbol: k for k in kernels}.values():
        log(4, lambda kernel=kernel: kernel.code.text, kernel.name)
    log(2, lambda: listing.listing(kernels, made.memory, settings.debug_only))
    log(1, lambda: f"compile: {len(graph.nodes)} nodes -> {len(kernels)} kernels{since(start)}")
    return made


class LaterSteps(Sequence[Step]):
    """The steps of a program from a file, which are planned anew when first read."""

    def __init__(self, count: int) -> None:
        self._count, self.block = count, cast("Callable[[], ProgramBlock]", None)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        return assembly.plan_of(self.block()).steps[k]


def from_file(
    graph: Graph, plan: SavedProgram, tables: Tables, code: Any, context: CompileContext
) -> Executable:
    """The executable of a program file that holds the machine code, without its steps' details.

    context: that of the code, used when its kernels are generated again on demand.
    """
    steps = LaterSteps(len(plan.steps))
    plan = replace(plan, steps=cast(Any, steps))
    plainly = target.context(kept=context.kept)
    unlisted = plainly.settings._replace(perf_map=False)  # the code's symbols are not there
    plainly = replace(plainly, settings=unlisted)
    found = Executable(graph, plan, code, plainly, remaking(plan, context), tables=tables)
    steps.block = lambda: found.block
    return found


def executable_of_part(context: CompileContext, placed: Placed) -> Executable:
    """Lower and compile a part of a program alone, so that it can be measured."""
    context = context.inside
    block = pipeline.block_of(placed, context)
    return of_block(block, assembly.plan_of(block), context)


def of_block(block: ProgramBlock, plan: SavedProgram, context: CompileContext) -> Executable:
    """The executable of kernels with their code, and of their plan."""
    texts = {code.symbol: code.text for k in block.kernels() for code in k.codes}
    handles = context.backend.kernels.load(texts)
    return Executable(block.graph, plan, handles, context, remaking(plan, context), block)


def remaking(plan: SavedProgram, context: CompileContext) -> Remake:
    """A function that repeats the passes on a program's graph, as when it was compiled."""

    def remake(graph: Graph) -> ProgramBlock:
        with override(**context.settings._asdict()):
            judge = excerpt.Verdicts(plan.verdicts) if plan.verdicts else None
            return pipeline.kernels_of(graph, context, judge=judge)

    return remake
