"""The pipeline on one screen: a closed graph becomes a program that runs in one native call.

inline      regions open, except those a hand-written kernel claims
legalize    what kernels cannot compute becomes what they can
simplify    rewrites that keep every bit
partition   which nodes share a kernel, which are stored
generate    a kernel each, equal ones once
in order    little memory alive, few barriers; equal kernels that wait for nothing are one call
place       buffers share memory, barriers where threads must wait
load        machine code from the disk or the compiler
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from ctypes import addressof, c_int64
from functools import cache
from itertools import accumulate
from math import prod
from time import perf_counter

from gnomon.batches import in_order
from gnomon.codegen.batch import Member, table
from gnomon.codegen.calls import OPAQUE, is_claimed
from gnomon.codegen.loops import Code, emit_loops
from gnomon.codegen.machine import Machine
from gnomon.errors import CompileError, IndexOutOfBounds
from gnomon.ir.node import Graph, Node
from gnomon.ir.provenance import Site, inherit
from gnomon.ir.show import log
from gnomon.ir.verify import verify
from gnomon.listing import Kernel, listing, traffic
from gnomon.passes.inline import inline
from gnomon.passes.legalize import legalize
from gnomon.passes.simplify import simplify
from gnomon.runtime import cpu, device, system
from gnomon.runtime.buffer import Buffer
from gnomon.runtime.program import Arena, Call, Constant, Input, Needs, Output, Program, Slot
from gnomon.schedule.kernel import LoopKernel
from gnomon.schedule.memory import Life, MemoryPlan, plan_memory
from gnomon.schedule.nest import name_of, parts_of
from gnomon.schedule.order import Span, Touch, barriers
from gnomon.schedule.partition import Cluster, Partition
from gnomon.settings import Settings, current

ALONE = 1 << 15
"""Programs that touch fewer elements than this run on their caller: waking others takes longer."""


class Executable:
    """A compiled graph; immutable, so that any number of threads may run it."""

    def __init__(
        self,
        source: Graph,
        flat: Graph,
        kernels: tuple[Kernel, ...],
        settings: Settings,
        batch: cpu.Batch,
    ) -> None:
        plan = Placement(flat, kernels)
        self.graph, self.memory, self.lines = flat, plan.memory, lines_of(source)
        self.source, self._settings = source, settings
        self._kernels: tuple[Kernel, ...] | None = kernels
        self._returns = plan.returns
        self._sizes = tuple(max(x.size, 1) * x.dtype.itemsize for x in plan.results)
        codes = {code.symbol: code for k in kernels for code in k.codes}
        addresses = batch.load({name: code.text for name, code in codes.items()})
        needs = Needs(
            inputs=len(flat.inputs),
            outputs=len(plan.results) + 1,
            arena=plan.memory.total,
            scratch=max([64 << 10, *(code.scratch for code in codes.values())]),
            alone=sum(x.size for k in kernels for x in k.buffers) < ALONE
            and sum(k.flops for k in kernels) < 16 * ALONE,
        )
        self.program = Program(plan.calls(kernels, addresses), addresses, needs)

    def explain(self) -> str:
        """The program as text: a line per kernel with the line that asked for it, sums, memory."""
        return listing(self.kernels, self.memory)

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Run on row-major inputs; gives new buffers, or an input's own where it is a result."""
        start = perf_counter()
        made = [Buffer(n) for n in self._sizes]
        report = c_int64(0)
        outputs = [*(x.address for x in made), addressof(report)]
        self.program.run([x.address for x in inputs], outputs)
        if report.value:
            self._refuse(report.value - 1)
        log(
            1,
            lambda: (
                f"run: {len(self.program.steps)} kernels, {self.memory.total} bytes{since(start)}"
            ),
        )
        return [made[k] if fresh else inputs[k] for fresh, k in self._returns]

    def under(self, graph: Graph, lines: Lines) -> Executable:
        """The same program for an equal graph that other lines asked for."""
        twin = copy(self)
        twin.lines, twin.source, twin._kernels = lines, graph, None
        return twin

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The calls of the program, each with the lines that asked for it."""
        if self._kernels is None:
            _, self._kernels = kernels_of(self.source, self._settings)
        return self._kernels

    def _refuse(self, number: int) -> None:
        """Raise for a position that a kernel found outside its axis."""
        kernel = [k for k in self.kernels for _ in range(k.checks)][number]
        lines = ", ".join(map(str, kernel.sites)) or "an unknown line"
        raise IndexOutOfBounds(
            f"{kernel.name}: a position is outside its axis. Check the indices of {lines}."
        )


class Placement:
    """Where each stored node lives: given, returned, or inside the program's block of memory."""

    def __init__(self, graph: Graph, kernels: Sequence[Kernel]) -> None:
        self.slots: dict[Node, Slot] = {x: Input(k) for k, x in enumerate(graph.inputs)}
        results = dict.fromkeys(x for x in graph.outputs if x.op != "input")
        self.results = tuple(results)
        self.slots.update((x, Output(k)) for k, x in enumerate(self.results))
        numbers = {x: k for k, x in enumerate(self.results)}
        places = {x: k for k, x in enumerate(graph.inputs)}
        self.returns = tuple(
            (True, numbers[x]) if x in numbers else (False, places[x]) for x in graph.outputs
        )
        self.memory = self._place(kernels)

    def _place(self, kernels: Sequence[Kernel]) -> MemoryPlan:
        """Give every other node its place in the block."""
        first: dict[Node, int] = {}
        last: dict[Node, int] = {}
        for step, kernel in enumerate(kernels):
            for x in kernel.buffers:
                if x not in self.slots:
                    first.setdefault(x, step)
                    last[x] = step
        lives = [Life(x.size * x.dtype.itemsize, first[x], last[x]) for x in first]
        plan = plan_memory(lives)
        self.slots.update((x, Arena(offset)) for x, offset in zip(first, plan.offsets, strict=True))
        return plan

    def calls(self, kernels: Sequence[Kernel], addresses: Mapping[str, int]) -> list[Call]:
        """The program's table."""
        waits = barriers([self._touch(k) for k in kernels])
        before = [0, *accumulate(k.checks for k in kernels)]
        rows = zip(kernels, waits, before, strict=False)
        return [
            Call(k.code.symbol, self._slots_of(k, count, addresses), wait)
            for k, wait, count in rows
        ]

    def _slots_of(
        self, kernel: Kernel, before: int, addresses: Mapping[str, int]
    ) -> tuple[Slot, ...]:
        if kernel.members:
            own = [self._slots_of(k, before, addresses) for k in kernel.members]
            words = table(
                [
                    Member(addresses[k.code.symbol], traffic(k), len(slots))
                    for k, slots in zip(kernel.members, own, strict=True)
                ]
            )
            return (*map(Constant, words), *(slot for slots in own for slot in slots))
        size = () if kernel.size is None else (Constant(kernel.size),)
        report = (Output(len(self.results)), Constant(before)) if kernel.checks else ()
        return (*(self.slots[x] for x in kernel.buffers), *size, *report)

    def _touch(self, kernel: Kernel) -> Touch:
        spans = [self._span(x) for x in kernel.buffers]
        return Touch(tuple(spans[: kernel.outputs]), tuple(spans[kernel.outputs :]))

    def _span(self, x: Node) -> Span:
        slot = self.slots[x]
        start = slot.offset if isinstance(slot, Arena) else 0
        memory = "arena" if isinstance(slot, Arena) else slot
        return Span(memory, start, start + max(x.size * x.dtype.itemsize, 1))


def build(graph: Graph) -> Executable:
    """The executable of a graph; made once per structure and settings."""
    settings = current()
    key = (graph.key, settings.fuse, settings.claim, settings.cpu_features, settings.numerics)
    with _lock:
        turn = _turns.setdefault(key, threading.Lock())
    with turn:
        if key not in _built:
            _built[key] = compile_graph(graph, settings)
    made, lines = _built[key], lines_of(graph)
    return made if made.lines == lines else made.under(graph, lines)


Lines = tuple[tuple[Site, ...], ...]
"""The user lines of a graph's nodes: not part of what is compiled."""


def lines_of(graph: Graph) -> Lines:
    """The lines of every node, in order."""
    return tuple(node.sites for node in graph.nodes)


_built: dict[tuple, Executable] = {}
_turns: dict[tuple, threading.Lock] = {}
_lock = threading.Lock()


def compile_graph(graph: Graph, settings: Settings) -> Executable:
    """All passes, in order; then machine code."""
    start = perf_counter()
    with cpu.Batch() as batch:
        flat, kernels = kernels_of(graph, settings, batch.ask)
        made = Executable(graph, flat, kernels, settings, batch)
    for kernel in {k.code.symbol: k for k in kernels}.values():
        log(4, lambda kernel=kernel: kernel.code.text, kernel.name)
    log(2, lambda: listing(kernels, made.memory, settings.debug_only))
    log(1, lambda: f"compile: {len(graph.nodes)} nodes -> {len(kernels)} kernels{since(start)}")
    return made


def kernels_of(
    graph: Graph, settings: Settings, ask: Callable[[str, str], None] = lambda name, text: None
) -> tuple[Graph, tuple[Kernel, ...]]:
    """The graph after all passes, and its kernels in order; `ask` hears of code as it is written.

    LLVM takes longer than the passes do, so other processes begin before the last kernel is known.
    """
    claimed = is_claimed if settings.claim else lambda node: False
    flat = shown("inline", graph, lambda g: inline(g, claimed))
    flat = shown("legalize", flat, legalize)
    flat = shown("simplify", flat, simplify)
    with inherit(()):  # kernels have no lines of their own: their nodes' lines are the program's
        partition = Partition(flat, settings.fuse)
        log(3, lambda: f"partition: {len(flat.nodes)} nodes -> {len(partition.clusters)} kernels")
        kernels = []
        for kernel in generate(partition):
            ask(kernel.code.symbol, kernel.code.text)
            kernels.append(kernel)
        lasting = {*flat.inputs, *flat.outputs}
        return flat, tuple(in_order(kernels, lasting, settings.fuse))


def shown(name: str, graph: Graph, step: Callable[[Graph], Graph]) -> Graph:
    """A graph after a pass, which the debug dial tells of, and which is checked if asked for."""
    start = perf_counter()
    made = step(graph)
    if current().verify:
        verify(name, graph, made)
    log(3, lambda: f"{name}: {len(graph.nodes)} -> {len(made.nodes)} nodes{since(start)}", name)
    return made


def since(start: float) -> str:
    """The time that something took, as the end of a line."""
    return f", {1e3 * (perf_counter() - start):.3g} ms"


def generate(partition: Partition) -> Iterator[Kernel]:
    """The kernels of a partition, in an order that respects what they need."""
    for cluster in partition.ordered():
        if any(x in partition.stored and x.size for x in cluster.members):
            yield from [opaque(cluster)] if cluster.opaque else looped(cluster, partition)


_loops: dict[str, Code] = {}
_codes: dict[LoopKernel, Code] = {}


def code_of(kernel: LoopKernel) -> Code:
    """A loop kernel's code; equal kernels share it."""
    if kernel not in _codes:
        key = kernel.key()
        if key not in _loops:
            _loops[key] = emit_loops(kernel)
        _codes[kernel] = _loops[key]
    return _codes[kernel]


def looped(cluster: Cluster, partition: Partition) -> Iterator[Kernel]:
    """A cluster as loop kernels; equal ones share their code."""
    members = tuple(cluster.members)
    flops = sum(x.size if x.op == "map" else prod(x.inputs[0].shape) for x in members if x.inputs)
    for part in parts_of(cluster, partition):
        kernel = part.kernel
        size = kernel.inner.params["size"] if kernel.flat else None
        name = name_of(part.buffers[: kernel.outputs])
        code, checks = code_of(kernel), len(kernel.checks())
        work = round(part.share * flops)
        yield Kernel(name, code, part.buffers, kernel.outputs, size, members, work, checks)


def opaque(cluster: Cluster) -> Kernel:
    """A node that a hand-written kernel computes."""
    node = next(iter(cluster.members))
    if node.op not in OPAQUE:
        raise CompileError(
            f"compile: no kernel for {node.op}. Write one in gnomon/codegen/kernels."
        )
    call = OPAQUE[node.op](node, machine())
    name, members = node.params.get("name", node.op), tuple(cluster.members)
    return Kernel(
        name, call.code, call.buffers, call.outputs, None, members, call.flops, call.checks
    )


@cache
def machine_of(target: device.Target) -> Machine:
    """What microkernels are told of a processor."""
    caches = system.caches()
    return Machine(
        target.name,
        target.vector_bits,
        target.registers,
        caches.l1,
        caches.l2,
        caches.l3 // system.usable_cores(),
        instructions_of(target),
    )


def instructions_of(target: device.Target) -> tuple[str, ...]:
    """What kernels may ask for by name."""
    if target.name == "neon":
        return ("fpcr",)
    wanted = {
        "mxcsr": True,
        "pmaddwd": target.name != "sse2",
        "vpdpwssd": target.has("avxvnni") or (target.has("avx512vnni") and target.has("avx512vl")),
        "vdpbf16ps": target.has("avx512bf16") and target.name == "avx512",
    }
    return tuple(name for name, there in wanted.items() if there)


def machine() -> Machine:
    """The processor that code is made for now."""
    return machine_of(device.target())
