"""The pipeline on one screen: a closed graph becomes a program that runs in one native call.

inline      regions open, except those a hand-written kernel claims
hoist       what all turns of a loop compute alike stands before it
keep        choices and loops keep what their gradients would recompute
trim        results of them that nobody reads go
legalize    what kernels cannot compute becomes what they can
loosen      sums drop their trees, where numerics are "fast"
simplify    rewrites that keep every bit
partition   which nodes share a kernel, which are stored
generate    a kernel each, equal ones once
in order    little memory alive, few barriers; equal kernels that wait for nothing are one call
place       buffers share memory, barriers where threads must wait (gnomon/plan.py)
load        machine code from the disk or the compiler
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from ctypes import addressof, c_int64
from dataclasses import replace
from math import prod
from time import monotonic_ns, perf_counter

from gnomon import room
from gnomon.batches import in_order
from gnomon.codegen.calls import (
    OPAQUE,
    carries_epilogue,
    contract_with,
    is_claimed,
    results_of,
)
from gnomon.codegen.choices import budget
from gnomon.codegen.families import code_of, sizes_vary
from gnomon.codegen.plan_loops import overwritable
from gnomon.errors import CompileError, IndexOutOfBounds
from gnomon.frames import Build, Control, Frame, control, separated
from gnomon.ir.node import Graph, asked_by, outline
from gnomon.ir.provenance import Site, inherit
from gnomon.ir.show import log, waited_for
from gnomon.late import Late
from gnomon.listing import Kernel, fusions, listing
from gnomon.ops.control_primitives import CONTROL
from gnomon.parts import apart, by_turns
from gnomon.passes.hoist import hoist
from gnomon.passes.inline import inline
from gnomon.passes.keep import keep
from gnomon.passes.legalize import legalize
from gnomon.passes.loosen import loosen
from gnomon.passes.simplify import simplify
from gnomon.passes.trim import trim
from gnomon.plan import Plan, key_of, plan_of, save, saved
from gnomon.processor import machine
from gnomon.records import Record, records_of
from gnomon.runtime import cpu, events, perf_map, system
from gnomon.runtime.buffer import Buffer, memory
from gnomon.runtime.cache import digest
from gnomon.runtime.program import Program
from gnomon.schedule.cluster import Cluster
from gnomon.schedule.nest import Part, name_of, parts_of
from gnomon.schedule.partition import Partition, has_epilogue
from gnomon.schedule.turns import in_turns
from gnomon.settings import Settings, current, override
from gnomon.stages import passed, shown, since, timed

SILENT = nullcontext()

tuning = Late("gnomon.tuning")


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
        self._over = frozenset(plan.over)
        self._need = plan.needs.arena + sum(plan.sizes)
        self.program = Program(plan.steps, addresses, plan.needs)
        if settings.perf_map:
            named = (kernel for k in self.kernels for kernel in (k, *k.members))
            perf_map.add({k.code.symbol: k.name for k in named}, addresses)

    def explain(self) -> str:
        """The program as text: a line per kernel with the line that asked for it, sums, memory."""
        return listing(self.kernels, self.memory)

    def explain_fusions(self) -> str:
        """What products compute in their own calls, what loops store, and why."""
        return fusions(list(self.frame.decisions()))

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

    def run(self, inputs: Sequence[Buffer], over: Iterable[tuple[int, int]] = ()) -> list[Buffer]:
        """Run on row-major inputs; gives new buffers, or an input's own where it is a result.

        `over` are outputs, each with the input whose buffer it takes. A position that is found to
        be wrong before the first of them is made leaves inputs as they are.
        """
        if memory.may_be_full(self._need):
            self._check_room(over)
        taken = {self._returns[output][1]: inputs[given] for output, given in over}
        made = [taken.get(k) or Buffer(n, told=False) for k, n in enumerate(self._sizes)]
        if events.heard():
            fresh = [None if k in taken else x.address for k, x in enumerate(made)]
            events.announce("made", caller=self, addresses=fresh, at=monotonic_ns())
        report = c_int64(0)
        outputs = [x.address for x in made]
        outputs.append(addressof(report))
        run = self._run_aloud if current().debug else self.program.run
        run([x.address for x in inputs], outputs, caller=self)
        if report.value:
            self._refuse(report.value - 1)
        return [made[k] if fresh else inputs[k] for fresh, k in self._returns]

    def _run_aloud(self, inputs: list[int], outputs: list[int], caller: Executable) -> None:
        """Run, and say how long it took."""
        start = perf_counter()
        with timed(self) if current().debug > 1 else SILENT:
            self.program.run(inputs, outputs, caller=caller)
        told = f"run: {len(self.program.steps)} kernels, {self.memory.total} bytes{since(start)}"
        log(1, lambda: told)

    def _check_room(self, over: Iterable[tuple[int, int]]) -> None:
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
            with override(**self._settings._asdict()):
                self._frame = kernels_of(self.source, self._settings)
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
            self._records = records_of(self.frame, self.program.steps, self.title)
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
    key = (graph.key, settings.of_programs(), budget() > 0)
    with _lock:
        turn = _turns.setdefault(key, threading.Lock())
    with turn:
        if key not in _built:
            shape = outline(graph)
            with sizes_vary(shape in _outlines):
                _built[key] = compile_graph(graph, settings)
            _outlines.add(shape)
    made, lines = _built[key], lines_of(graph)
    known = made.lines == lines and made.name == name
    return made if known else made.under(graph, lines, name)


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


MANY = 200
"""Nodes of a graph whose code takes longer than it takes to start another process."""


def compile_graph(graph: Graph, settings: Settings) -> Executable:
    """A program from the disk; else all passes, in order, then machine code."""
    start, key = perf_counter(), key_of(graph, settings, (machine(), budget() > 0))
    found = saved(key, settings)
    if found is not None:
        log(1, lambda: f"compile: {len(graph.nodes)} nodes, from the disk{since(start)}")
        passed(f"compile: {len(graph.nodes)} nodes, from the disk", start)
        return Executable(graph, *found, settings)
    with waited_for(lambda: f"gnomon: compiling {len(graph.nodes)} nodes"), cpu.Batch() as batch:
        if len(graph.nodes) >= MANY:
            batch.prepare()
        frame = kernels_of(graph, settings, ignored if budget() else batch.ask)
        if budget():
            tuning.improve(frame.kernels(), machine(), settings)
            frame = kernels_of(graph, settings, batch.ask)
        kernels, plan = tuple(frame.kernels()), plan_of(frame)
        texts = {code.symbol: code.text for k in kernels for code in k.codes}
        made = Executable(graph, plan, batch.load(texts), settings, frame)
        made.fresh = batch.begun
    save(key, settings, plan, texts)
    passed(f"compile: {len(graph.nodes)} nodes -> {len(kernels)} kernels", start)
    for kernel in {k.code.symbol: k for k in kernels}.values():
        log(4, lambda kernel=kernel: kernel.code.text, kernel.name)
    log(2, lambda: listing(kernels, made.memory, settings.debug_only))
    log(1, lambda: f"compile: {len(graph.nodes)} nodes -> {len(kernels)} kernels{since(start)}")
    return made


Ask = Callable[[str, str], None]


def ignored(name: str, text: str) -> None:
    """Nobody compiles this yet."""


def kernels_of(graph: Graph, settings: Settings, ask: Ask = ignored) -> Frame:
    """The graph after all passes, and its kernels in order; `ask` hears of code as it is written.

    LLVM takes longer than the passes do, so other processes begin before the last kernel is known.
    """
    claimed = is_claimed if settings.claim else lambda node: False
    flat = shown("inline", graph, lambda g: inline(g, claimed))
    flat = shown("hoist", flat, hoist)
    flat = shown("keep", flat, keep)
    flat = shown("trim", flat, trim)
    with inherit(()):  # kernels have no lines of their own: their nodes' lines are the program's
        return frame_of(flat, settings, ask)


def frame_of(graph: Graph, settings: Settings, ask: Ask, inside: bool = False) -> Frame:
    """An opened graph as kernels, and as frames for the graphs inside it."""
    flat = shown("legalize", graph, legalize)
    flat = shown("loosen", flat, loosen) if settings.numerics == "fast" else flat
    flat = shown("simplify", flat, simplify)
    flat = separated(flat) if inside else flat
    start = perf_counter()
    partition = Partition(flat, settings.fuse, carries_epilogue if settings.epilogues else None)
    passed(f"partition: {len(flat.nodes)} nodes -> {len(partition.clusters)} kernels", start)
    log(3, lambda: f"partition: {len(flat.nodes)} nodes -> {len(partition.clusters)} kernels")
    log(3, lambda: fusions(list(partition.notes().decisions())))
    parts, start = [], perf_counter()
    for part in generate(partition, lambda g: frame_of(g, settings, ask, inside=True)):
        for each in part.turns or ((part,) if isinstance(part, Kernel) else ()):
            for code in each.codes:
                ask(code.symbol, code.text)
        parts.append(part)
    passed(f"generate: {len(parts)} kernels", start)
    lasting = {*flat.inputs, *flat.outputs}
    ordered = apart(in_order(parts, lasting, settings.fuse))
    return Frame(flat, tuple(ordered), partition.notes())


def generate(partition: Partition, inside: Build) -> Iterator[Kernel | Control]:
    """What computes a partition, in an order that respects what is needed."""
    for cluster in partition.ordered():
        if not any(x in partition.stored and x.size for x in cluster.members):
            continue
        if next(iter(cluster.members)).op in CONTROL:
            yield control(tuple(cluster.members), inside)
        else:
            yield from (
                [opaque(cluster, partition)] if cluster.opaque else looped(cluster, partition)
            )


def pieces_of(graph: Graph) -> tuple[Graph, tuple[Kernel, ...]]:
    """The kernels of a graph that is computed again and again, over parts of buffers."""
    frame = kernels_of(graph, current())
    return frame.graph, tuple(frame.kernels())


FAR = 2
"""Results of so many times the last cache are written past it."""


def goes_far(part: Part, partition: Partition) -> bool:
    """Whether a kernel's results leave the caches before they are read, whatever is done."""
    made = part.buffers[: part.kernel.outputs]
    results = dict.fromkeys(partition.graph.outputs)
    if not part.kernel.flat or any(x not in results or partition.users[x] > 1 for x in made):
        return False
    aligned = all(store.place is part.kernel.inner for store in part.kernel.stores)
    return aligned and sum(x.size * x.dtype.itemsize for x in results) > FAR * system.caches().l3


def looped(cluster: Cluster, partition: Partition) -> Iterator[Kernel]:
    """A cluster as loop kernels; equal ones share their code."""
    members = tuple(cluster.members)
    flops = sum(x.size if x.op == "map" else prod(x.inputs[0].shape) for x in members if x.inputs)
    for part in parts_of(cluster, partition):
        kernel = part.kernel
        if goes_far(part, partition):
            kernel = replace(kernel, streams=True)
        size = kernel.inner.params["size"] if kernel.flat else None
        name = name_of(part.buffers[: kernel.outputs])
        given, checks = code_of(kernel), len(kernel.checks())
        yield Kernel(
            name,
            given.code,
            part.buffers,
            kernel.outputs,
            size,
            members,
            round(part.share * flops),
            checks,
            over=overwritable(kernel),
            numbers=given.numbers,
        )


def opaque(cluster: Cluster, partition: Partition) -> Kernel:
    """A node that a hand-written kernel computes, with what it does to the results."""
    node, *rest = cluster.members
    if in_turns(node):
        return by_turns((node, *rest), results_of(node), pieces_of)
    if node.op not in OPAQUE:
        raise CompileError(
            f"compile: no kernel for {node.op}. Write one in gnomon/codegen/kernels."
        )
    name, members = node.params.get("name", node.op), tuple(cluster.members)
    if has_epilogue(cluster):
        call = contract_with(node, rest, partition.stored, machine())
        name = f"{name}_{name_of(rest)}"
    else:
        call = OPAQUE[node.op](node, machine())
    return Kernel(
        name,
        call.code,
        call.buffers,
        call.outputs,
        None,
        members,
        call.flops,
        call.checks,
        over=call.over,
        numbers=call.numbers,
        bytes=call.bytes,
    )
