"""From kernels in order to a plan: where everything lies, and the table of steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.frames import Frame
from gnomon.ir.node import Graph, Node
from gnomon.listing import PACK, Kernel
from gnomon.placing import Layout, Overlays, Table, given_up
from gnomon.plan import Packed, Plan
from gnomon.runtime.program import Input, Needs, Output, Slot
from gnomon.schedule.excerpt import Verdicts
from gnomon.schedule.spare import nbytes

__all__ = ["plan_of"]

ALONE = 1 << 15
"""Programs that touch fewer elements than this run on their caller: waking others takes longer."""


def plan_of(frame: Frame, judge: Verdicts | None = None) -> Plan:
    """The plan of a frame: where everything lies, and the table of steps."""
    graph, layout = frame.graph, Layout(frame)
    results = dict.fromkeys(x for x in graph.outputs if x.op != "input")
    over = given_up(frame)
    table = Table(Output(len(results)), over)
    packs = [part for part in frame.parts if isinstance(part, Kernel) and part.name == PACK]
    places = {k.buffers[0]: Output(len(results) + 1 + j) for j, k in enumerate(packs)}
    table.add(layout, slots_of(graph, results) | places)
    size, flops = work(frame)
    needs = Needs(
        inputs=len(graph.inputs),
        outputs=len(results) + 1 + len(packs),
        scalars=len(packs),
        registers=table.registers,
        arena=layout.memory.total,
        scratch=max([64 << 10, *(code.scratch for k in frame.kernels() for code in k.codes)]),
        alone=size < ALONE and flops < 16 * ALONE,
    )
    sizes = tuple(max(x.size, 1) * x.dtype.itemsize for x in results)
    returns = returns_of(graph, tuple(results))
    pairs = pairs_of(graph, tuple(results), over)
    verdicts = judge.told() if judge else ()
    numbers = {x: k for k, x in enumerate(graph.inputs)}
    kept = tuple(
        Packed(numbers[k.buffers[1]], nbytes(k.buffers[0]), k.code.symbol, k.numbers) for k in packs
    )
    return Plan(table.finish(), needs, layout.memory, sizes, returns, pairs, verdicts, kept)


def pairs_of(graph: Graph, results: Sequence[Node], over: Overlays) -> tuple[tuple[int, int], ...]:
    """Numbers of results and of the inputs that they may lie over."""
    numbers = {x: k for k, x in enumerate(results)}
    places = {x: k for k, x in enumerate(graph.inputs)}
    return tuple((numbers[x], places[y]) for x, under in over.items() for y in under)


def slots_of(graph: Graph, results: Iterable[Node]) -> dict[Node, Slot]:
    """Where a program's inputs and results lie: where its caller says."""
    slots: dict[Node, Slot] = {x: Input(k) for k, x in enumerate(graph.inputs)}
    return slots | {x: Output(k) for k, x in enumerate(results)}


def returns_of(graph: Graph, results: Sequence[Node]) -> tuple[tuple[bool, int], ...]:
    """For each output whether it is a result or an input, and which."""
    numbers = {x: k for k, x in enumerate(results)}
    places = {x: k for k, x in enumerate(graph.inputs)}
    return tuple((x in numbers, numbers[x] if x in numbers else places[x]) for x in graph.outputs)


def work(frame: Frame) -> tuple[int, int]:
    """The elements that a frame touches, and its operations, where threads can help each other.

    What is over before another thread has taken its part does not count, however often it is done.
    """
    size = flops = 0
    for part in frame.parts:
        if isinstance(part, Kernel):
            elements, operations, turns = sum(x.size for x in part.buffers), part.flops, 1
        else:
            inner = [work(x) for x in part.frames.values()]
            elements, operations = map(sum, zip(*inner, strict=True))
            turns = part.node.params.get("length", 1)
        if elements >= ALONE // 8 or operations >= ALONE:
            size, flops = size + turns * elements, flops + turns * operations
    return size, flops
