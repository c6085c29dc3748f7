"""A compiled graph that can run; found in this process or on disk, or newly compiled.

What compiles is not loaded before something must be compiled: a process that finds its programs on
disk never needs it. Passes are in compile.py, what is kept on disk in plan.py.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from ctypes import addressof, c_int64
from operator import attrgetter
from time import monotonic_ns, perf_counter
from typing import TYPE_CHECKING

from gnomon.codegen.scope import budget, lasting, sizes_vary
from gnomon.errors import IndexOutOfBounds
from gnomon.ir.node import Graph, asked_by, outline
from gnomon.ir.provenance import Site
from gnomon.ir.show import log
from gnomon.late import Late
from gnomon.plan import Plan, is_saved, key_of, save_again, saved
from gnomon.processor import machine
from gnomon.runtime import events, perf_map
from gnomon.runtime.buffer import Buffer, block_of, memory, size_class
from gnomon.runtime.cache import digest
from gnomon.runtime.program import Program
from gnomon.settings import Settings, current, override
from gnomon.stages import passed, since, timed

if TYPE_CHECKING:
    from gnomon.frames import Frame
    from gnomon.listing import Kernel
    from gnomon.records import Record

__all__ = ["Executable", "Lines", "build", "compile_graph", "is_built", "refuse_measured"]

compiler = Late("gnomon.compile")
excerpt = Late("gnomon.schedule.excerpt")
listing = Late("gnomon.listing")
loosening = Late("gnomon.passes.loosen")
records = Late("gnomon.records")
room = Late("gnomon.room")
tuning = Late("gnomon.tuning")

SILENT = nullcontext()
address_of = attrgetter("address")

Pairs = tuple[tuple[int, int], ...]
"""Outputs, each with the input that it is written over."""


class Executable:
    """A compiled graph; immutable, so that any number of threads may run it."""

    def __init__(
        self,
        source: Graph,
        plan: Plan,
        addresses: Mapping[str, int],
        settings: Settings,
        frame: Frame | None = None,
    ) -> None:
        self.name, self._frame = "", frame
        self._records: tuple[Record, ...] | None = None
        self._digest: str | None = None
        self.fresh = 0
        """How many codes were made for it, since no program before it had them."""
        self.source, self.memory, self.lines = source, plan.memory, lines_of(source)
        self._sizes, self._returns, self._settings = plan.sizes, plan.returns, settings
        self._blocks = list(map(size_class, plan.sizes))
        self._over, self._verdicts = frozenset(plan.over), plan.verdicts
        count = len(plan.sizes)
        self._places = [k if fresh else count + k for fresh, k in plan.returns]
        self._plain = self._places == list(range(count))
        self._latest: tuple[Pairs, list[int], list[tuple[int, int, int]]] = ((), [], [])
        """What calls wrote over lately, most of them alike, and where their results go."""
        self.kept, self._lasting = plan.kept, lasting.value
        self._need = plan.needs.arena + sum(plan.sizes)
        self.program = Program(plan.steps, addresses, plan.needs)
        if settings.perf_map:
            named = [kernel for k in self.kernels for kernel in (k, *k.members)]
            parts = {part.symbol: f"{k.name}.part" for k in named for part in k.code.parts}
            perf_map.add(parts | {k.code.symbol: k.name for k in named}, addresses)

    def explain(self) -> str:
        """The program as text: a line per kernel with the line that asked for it, sums, memory."""
        return listing.listing(self.kernels, self.memory)

    def explain_fusions(self) -> str:
        """What products compute in their own calls, what loops store, and why."""
        told = listing.fusions(list(self.frame.decisions()))
        kept = loosening.kept(self.frame.graph) if self._settings.numerics == "fast" else []
        return "\n".join([told, *kept])

    def explain_gemm(self) -> str:
        """How products are cut, what was measured for it, and what the model alone would cost."""
        return tuning.explain(self.kernels, machine())

    def results(self) -> list[tuple[int, tuple[Site, ...]]]:
        """The bytes and the lines of each result that a run makes."""
        pairs = zip(self._returns, self.source.outputs, strict=True)
        found = {k: x.sites for (fresh, k), x in pairs if fresh}
        return [(size, found.get(k, ())) for k, size in enumerate(self._sizes)]

    def may_overwrite(self, output: int, given: int) -> bool:
        """Whether an output may lie over an input that its caller gives up."""
        fresh, result = self._returns[output]
        return fresh and (result, given) in self._over

    def overwriting(self, pairs: Pairs) -> Pairs:
        """Of outputs and the inputs that they replace, those that may lie there.

        A result that replaces several inputs has one place.
        """
        found: dict[int, tuple[int, int]] = {}
        for pair in pairs:
            if self.may_overwrite(*pair):
                found.setdefault(self._returns[pair[0]][1], pair)
        return tuple(found.values())

    def run(
        self,
        inputs: Sequence[Buffer],
        over: Pairs = (),
        panels: Sequence[tuple[Buffer, bool]] | None = None,
    ) -> list[Buffer]:
        """Run on row-major inputs; gives new buffers, or an input's own where it is a result.

        `over` are outputs, each with the input whose buffer it takes. A position that is found to
        be wrong before the first of them is made leaves inputs as they are. `panels`: room for
        those that are kept, and whether they must be packed.
        """
        if memory.may_be_full(self._need):
            self._check_room(over)
        made = self._made(inputs, over)
        if events.heard():
            given = {x.address for x in inputs}
            fresh = [None if x.address in given else x.address for x in made]
            events.announce("made", caller=self, addresses=fresh, at=monotonic_ns())
        report = c_int64(0)
        outputs = [*map(address_of, made), addressof(report)]
        stale: Sequence[bool] = ()
        if self.kept:
            panels = panels or [(Buffer(each.nbytes), True) for each in self.kept]
            rooms, stale = zip(*panels, strict=True)
            outputs += map(address_of, rooms)
        run = self._run_aloud if current().debug else self.program.run
        run([*map(address_of, inputs)], outputs, stale, self)
        if report.value:
            self._refuse(report.value - 1)
        return made if self._plain else list(map([*made, *inputs].__getitem__, self._places))

    def _made(self, inputs: Sequence[Buffer], over: Pairs) -> list[Buffer]:
        """Where results go: new buffers, or those of inputs that they are written over."""
        if not over:
            return list(map(block_of, self._sizes, self._blocks))
        known, places, fresh = self._latest
        if known is not over:
            taken = {self._returns[output][1]: given for output, given in over}
            rows = enumerate(zip(self._sizes, self._blocks, strict=True))
            fresh = [(k, *row) for k, row in rows if k not in taken]
            places = [taken.get(k, 0) for k in range(len(self._sizes))]
            self._latest = over, places, fresh
        made = list(map(inputs.__getitem__, places))
        for k, nbytes, size in fresh:
            made[k] = block_of(nbytes, size)
        return made

    def _run_aloud(
        self, inputs: list[int], outputs: list[int], scalars: list[bool], caller: Executable
    ) -> None:
        """Run, and say how long it took."""
        start = perf_counter()
        with timed(self) if current().debug > 1 else SILENT:
            self.program.run(inputs, outputs, scalars, caller=caller)
        told = f"run: {len(self.program.steps)} kernels, {self.memory.total} bytes{since(start)}"
        log(1, lambda: told)

    def _check_room(self, over: Pairs) -> None:
        """Refuse to run where memory would not do; results over inputs are spared."""
        spared = sum(self._sizes[self._returns[output][1]] for output, _ in over)
        room.check(
            self.frame, self.title, self._need - spared, memory.use().allocated, memory.limit
        )

    def under(self, graph: Graph, lines: Lines, name: str = "") -> Executable:
        """The same program for an equal graph that other lines asked for, or under a name."""
        twin = copy(self)
        twin.source, twin.lines, twin.name = graph, lines, name
        twin._records = twin._digest = None
        twin._frame = self._frame if lines == self.lines else None
        return twin

    @property
    def frame(self) -> Frame:
        """The program after all passes; made again where it came from the disk or a twin."""
        if self._frame is None:
            with override(**self._settings._asdict()), lasting.set(self._lasting):
                judge = excerpt.Verdicts(self._verdicts) if self._verdicts else None
                self._frame = compiler.kernels_of(self.source, self._settings, judge=judge)
        return self._frame

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The calls of the program, each with the lines that asked for it."""
        return tuple(self.frame.kernels())

    @property
    def title(self) -> str:
        """The program's name among all: what it was made of, and by which lines."""
        if self._digest is None:
            asked = f"{self._settings.of_programs()} {self.lines}"
            self._digest = digest(self.source.key, asked)[:12]
        return f"{self.name or 'eager'} {self._digest}"

    @property
    def records(self) -> tuple[Record, ...]:
        """The calls of the program as plain data."""
        if self._records is None:
            self._records = records.records_of(self.frame, self.program.steps, self.title)
        return self._records

    def _refuse(self, number: int) -> None:
        """Raise for a position that a kernel found outside its axis."""
        kernel = [k for k in self.kernels for _ in range(k.checks)][number]
        lines = ", ".join(map(str, kernel.sites)) or "an unknown line"
        raise IndexOutOfBounds(
            f"{kernel.name}: a position is outside its axis. Check the indices of {lines}."
        )


def build(graph: Graph, name: str = "") -> Executable:
    """The executable of a graph; made once per structure and settings."""
    settings = current()
    key = (graph.key, settings.of_programs(), asked_of())
    with _lock:
        turn = _turns.setdefault(key, threading.Lock())
    with turn:
        if key not in _built:
            shape = outline(graph)
            # what is measured of a program that was made before has its sizes
            again = (*key[:2], asked_of(False)) in _built
            with sizes_vary.set(shape in _outlines and not again):
                _built[key] = compile_graph(graph, settings)
            _outlines.add(shape)
    made, lines = _built[key], lines_of(graph)
    known = made.lines == lines and made.name == name
    return made if known else made.under(graph, lines, name)


def asked_of(measured: bool | None = None) -> tuple:
    """What a program depends on beside its graph and settings."""
    return machine(), budget.value > 0 if measured is None else measured, lasting.value


def is_built(graph: Graph) -> bool:
    """Whether `build` finds a program, in this process or on the disk, and compiles nothing."""
    settings, asked = current(), asked_of()
    known = (graph.key, settings.of_programs(), asked) in _built
    return known or is_saved(key_of(graph, settings, asked), settings)


def refuse_measured(graph: Graph, settings: Settings) -> None:
    """Have `build` give what the model alone chose, also where measuring is asked for."""
    plainly, measured = asked_of(False), asked_of(True)
    with _lock:
        first, second = ((graph.key, settings.of_programs(), x) for x in (plainly, measured))
        _built[second] = _built[first]
    save_again(*(key_of(graph, settings, x) for x in (plainly, measured)), settings)


Lines = tuple[tuple, ...]
"""The user lines of a graph's nodes and of graphs inside: not part of what is compiled."""


def lines_of(graph: Graph) -> Lines:
    """The lines of every node, in order."""
    return tuple(map(asked_by, graph.nodes))


_built: dict[tuple, Executable] = {}
_outlines: set[str] = set()
"""Graphs that were built, without their sizes: one that comes again has sizes that vary."""
_turns: dict[tuple, threading.Lock] = {}
_lock = threading.Lock()


def compile_graph(graph: Graph, settings: Settings) -> Executable:
    """A program from the disk, or a new one."""
    start, key = perf_counter(), key_of(graph, settings, asked_of())
    found = saved(key, settings)
    if found is None:
        return compiler.compiled(graph, settings, key)
    log(1, lambda: f"compile: {len(graph.nodes)} nodes, from the disk{since(start)}")
    passed(f"compile: {len(graph.nodes)} nodes, from the disk", start)
    return Executable(graph, *found, settings)
