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
place       buffers share memory, barriers where threads must wait (gnomon/planning.py)
load        machine code from the disk or the compiler
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from math import prod
from time import perf_counter

from gnomon.batches import in_order
from gnomon.codegen.calls import OPAQUE, is_claimed, results_of
from gnomon.codegen.families import code_of
from gnomon.codegen.plan_loops import overwritable, streamable
from gnomon.codegen.products import carries_epilogue, contract, contract_with, opens
from gnomon.codegen.scope import budget, lasting
from gnomon.errors import CompileError
from gnomon.executable import Executable
from gnomon.frames import Build, Control, Frame, control, separated
from gnomon.ir.node import Graph, Node
from gnomon.ir.provenance import inherit
from gnomon.ir.show import log, waited_for
from gnomon.late import Late
from gnomon.listing import PACK, Kernel, fusions, listing
from gnomon.ops.control_primitives import CONTROL
from gnomon.parts import apart, by_turns
from gnomon.passes.hoist import hoist
from gnomon.passes.inline import inline
from gnomon.passes.keep import keep
from gnomon.passes.legalize import legalize
from gnomon.passes.loosen import loosen
from gnomon.passes.simplify import simplify
from gnomon.passes.trim import trim
from gnomon.plan import save
from gnomon.planning import plan_of
from gnomon.processor import machine
from gnomon.runtime import cpu, threads
from gnomon.schedule.cluster import Cluster, has_epilogue
from gnomon.schedule.excerpt import Verdicts
from gnomon.schedule.nest import Part, name_of, parts_of
from gnomon.schedule.notes import Notes
from gnomon.schedule.partition import Partition
from gnomon.schedule.placed import Placed
from gnomon.schedule.prologue import Factor
from gnomon.schedule.spare import nbytes
from gnomon.schedule.turns import in_turns
from gnomon.settings import Settings, current
from gnomon.stages import passed, shown, since

tuning = Late("gnomon.tuning")

MANY = 200
"""Nodes of a graph whose code takes longer than it takes to start another process."""


def compiled(graph: Graph, settings: Settings, key: str) -> Executable:
    """All passes, in order, then machine code; the program goes to the disk under its key."""
    start = perf_counter()
    with waited_for(lambda: f"gnomon: compiling {len(graph.nodes)} nodes"), cpu.Batch() as batch:
        if len(graph.nodes) >= MANY:
            batch.prepare()
            threads.prepare_pool()
        # while something is measured, nobody compiles
        tuner = tuning.Tuner(machine(), settings, form) if budget.value else None
        frame = kernels_of(graph, settings, ignored if tuner else batch.ask, tuner)
        kernels, plan = tuple(frame.kernels()), plan_of(frame, tuner)
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


def form(placed: Placed) -> Executable:
    """A part of a program as one of its own."""
    with lasting.set(()):
        frame = framed(placed, current(), ignored)
        texts = {code.symbol: code.text for k in frame.kernels() for code in k.codes}
        return Executable(placed.graph, plan_of(frame), cpu.load(texts), current(), frame)


Ask = Callable[[str, str], None]


def ignored(name: str, text: str) -> None:
    """Nobody compiles this yet."""


def kernels_of(
    graph: Graph, settings: Settings, ask: Ask = ignored, judge: Verdicts | None = None
) -> Frame:
    """The graph after all passes, and its kernels in order; `ask` hears of code as it is written.

    LLVM takes longer than the passes do, so other processes begin before the last kernel is known.
    """
    claimed = is_claimed if settings.allows("claim") else lambda node: False
    flat = shown("inline", graph, lambda g: inline(g, claimed))
    for name, step in (("hoist", hoist), ("keep", keep), ("trim", trim)):
        flat = shown(name, flat, step) if settings.allows(name) else flat
    with inherit(()):  # kernels have no lines of their own: their nodes' lines are the program's
        return frame_of(flat, settings, ask, judge)


def frame_of(
    graph: Graph, settings: Settings, ask: Ask, judge: Verdicts | None, inside: bool = False
) -> Frame:
    """An opened graph as kernels, and as frames for the graphs inside it."""
    flat = shown("legalize", graph, legalize)
    flat = shown("loosen", flat, loosen) if settings.numerics == "fast" else flat
    flat = shown("simplify", flat, simplify) if settings.allows("simplify") else flat
    flat = separated(flat) if inside else flat
    start = perf_counter()
    divide = partial(Partition, flat, settings.allows, carries_epilogue, judge, factor_of)
    partition = divide()
    while judge and judge.settle(flat):
        partition = divide()
    passed(f"partition: {len(flat.nodes)} nodes -> {len(partition.clusters)} kernels", start)
    log(3, lambda: f"partition: {len(flat.nodes)} nodes -> {len(partition.clusters)} kernels")
    log(3, lambda: fusions(list(partition.notes().decisions())))
    kept = () if inside else tuple(flat.inputs[k] for k in lasting.value)
    return framed(partition, settings, ask, judge, partition.notes(), kept)


def framed(
    placed: Placed,
    settings: Settings,
    ask: Ask,
    judge: Verdicts | None = None,
    notes: Notes | None = None,
    kept: Collection[Node] = (),
) -> Frame:
    """Clusters as kernels in order, and graphs inside them as frames."""
    graph, parts, start = placed.graph, [], perf_counter()
    within = partial(frame_of, settings=settings, ask=ask, judge=judge, inside=True)
    for part in generate(placed, within, kept):
        for each in part.turns or ((part,) if isinstance(part, Kernel) else ()):
            for code in each.codes:
                ask(code.symbol, code.text)
        parts.append(part)
    passed(f"generate: {len(parts)} kernels", start)
    panels = tuple(part.buffers[0] for part in parts if part.name == PACK)
    outside = {*graph.inputs, *graph.outputs, *panels}
    ordered = apart(in_order(parts, outside, settings.allows))
    return Frame(graph, tuple(ordered), notes, panels)


def factor_of(node: Node) -> Factor | None:
    """The factor that a product can compute on this machine."""
    return opens(node, machine())


def generate(
    partition: Placed, inside: Build, kept: Collection[Node] = ()
) -> Iterator[Kernel | Control]:
    """What computes a partition, in an order that respects what is needed."""
    for cluster in partition.ordered():
        if not any(x in partition.stored and x.size for x in cluster.members):
            continue
        if next(iter(cluster.members)).op in CONTROL:
            yield control(tuple(cluster.members), inside)
        else:
            yield from (
                opaque(cluster, partition, kept) if cluster.opaque else looped(cluster, partition)
            )


def pieces_of(graph: Graph) -> tuple[Graph, tuple[Kernel, ...]]:
    """The kernels of a graph that is computed again and again, over parts of buffers."""
    with lasting.set(()):
        frame = kernels_of(graph, current())
    return frame.graph, tuple(frame.kernels())


def goes_far(part: Part, partition: Placed) -> bool:
    """Whether a kernel's results leave the caches before they are read, whatever is done."""
    made, results = part.buffers[: part.kernel.outputs], dict.fromkeys(partition.graph.outputs)
    far = machine().is_far
    last = all(x in results and partition.users[x] <= 1 for x in made)
    together = part.kernel.flat and last and far(sum(map(nbytes, results)) // 2)
    if not together and not any(far(nbytes(x)) for x in made):
        return False
    along = [part.buffers[slot] for slot in streamable(part.kernel)]
    return bool(along) and (together or all(far(nbytes(x)) for x in along))


def looped(cluster: Cluster, partition: Placed) -> Iterator[Kernel]:
    """A cluster as loop kernels; equal ones share their code."""
    members = tuple(cluster.members)
    flops = sum(x.size if x.op == "map" else prod(x.inputs[0].shape) for x in members if x.inputs)
    for part in parts_of(cluster, partition):
        kernel = part.kernel
        if current().allows("stream") and goes_far(part, partition):
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


def opaque(cluster: Cluster, partition: Placed, kept: Collection[Node]) -> Iterator[Kernel]:
    """A node that a hand-written kernel computes, with what it does to the results."""
    node, *rest = cluster.members
    if in_turns(node):
        yield by_turns((node, *rest), results_of(node), pieces_of)
        return
    if node.op not in OPAQUE:
        raise CompileError(
            f"compile: no kernel for {node.op}. Write one in gnomon/codegen/kernels."
        )
    name, first = node.params.get("name", node.op), [x for x in rest if x in cluster.before]
    after = [x for x in rest if x not in cluster.before]
    members = (*first, node, *after)
    if has_epilogue(cluster):
        call = contract_with(node, first, after, partition.stored, machine(), kept)
        name = f"{name}_{name_of(after or first)}"
    elif node.op == "contract":
        call = contract(node, machine(), kept)
    else:
        call = OPAQUE[node.op](node, machine())
    pack = call.before
    if pack:
        title = PACK if pack.buffers[1] in kept else "panels"
        yield Kernel(title, pack.code, pack.buffers, 1, None, (node,), 0, numbers=pack.numbers)
    yield Kernel(
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
