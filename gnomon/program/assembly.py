"""From kernels in order to a plan: where each value is stored, and the table of steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gnomon.ir.node import Graph, Node
from gnomon.ir.sizes import late
from gnomon.passes.localize import mesh_axis_of, ranks_of
from gnomon.program.blocks import ProgramBlock
from gnomon.program.buffer_assignment import BufferAssignment, Overlays, given_up
from gnomon.program.communication import moves_of
from gnomon.program.kernel import PACK, Kernel
from gnomon.program.saved import Packed, SavedProgram
from gnomon.program.steps import StepTable
from gnomon.runtime.program import InputSlot, Needs, OutputSlot, Slot
from gnomon.schedule.excerpt import Verdicts
from gnomon.schedule.memory import largest, nbytes

__all__ = ["plan_of"]

ALONE = 1 << 15
"""Programs that touch fewer elements than this run on their caller: waking others takes longer."""


def plan_of(block: ProgramBlock, judge: Verdicts | None = None) -> SavedProgram:
    """The plan of a block: memory for every value, and the table of steps."""
    graph, assignment = block.graph, BufferAssignment(block)
    results = dict.fromkeys(x for x in graph.outputs if x.op != "input")
    over = given_up(block)
    meshes = tuple(dict.fromkeys(k.mesh for k in block.kernels() if k.mesh))
    externals = tuple(dict.fromkeys(k.external for k in block.kernels() if k.external))
    table = StepTable(OutputSlot(len(results)), over, meshes, externals)
    packs = [part for part in block.parts if isinstance(part, Kernel) and part.name == PACK]
    places = {k.buffers[0]: OutputSlot(len(results) + 1 + j) for j, k in enumerate(packs)}
    table.add(assignment, slots_of(graph, results) | places)
    needs = Needs(
        inputs=len(graph.inputs),
        outputs=len(results) + 1 + len(packs),
        scalars=len(meshes) + len(externals) + len(packs),
        registers=table.registers,
        arena=assignment.memory.total,
        scratch=late(largest, 0, *(code.scratch for k in block.kernels() for code in k.codes)),
        alone=late(is_alone, *(n for row in work(block) for n in row)),
    )
    sizes = tuple(max(x.size, 1) * x.dtype.itemsize for x in results)
    returns = returns_of(graph, tuple(results))
    pairs = pairs_of(graph, tuple(results), over)
    verdicts = judge.rows() if judge else ()
    numbers = {x: k for k, x in enumerate(graph.inputs)}
    kept = tuple(
        Packed(numbers[k.buffers[1]], nbytes(k.buffers[0]), k.code.symbol, k.numbers) for k in packs
    )
    memory, numbers_of = assignment.memory, tuple(map(mesh_axis_of, ranks_of(graph)))
    steps, moves = table.finish(), moves_of(block)
    rest = verdicts, kept, meshes, numbers_of, moves, externals
    return SavedProgram(steps, needs, memory, sizes, returns, pairs, *rest)


def pairs_of(graph: Graph, results: Sequence[Node], over: Overlays) -> tuple[tuple[int, int], ...]:
    """The numbers of results, each with the inputs whose memory it may reuse."""
    numbers = {x: k for k, x in enumerate(results)}
    places = {x: k for k, x in enumerate(graph.inputs)}
    return tuple((numbers[x], places[y]) for x, under in over.items() for y in under)


def slots_of(graph: Graph, results: Iterable[Node]) -> dict[Node, Slot]:
    """The slots of a program's inputs and results, whose addresses the caller passes."""
    slots: dict[Node, Slot] = {x: InputSlot(k) for k, x in enumerate(graph.inputs)}
    return slots | {x: OutputSlot(k) for k, x in enumerate(results)}


def returns_of(graph: Graph, results: Sequence[Node]) -> tuple[tuple[bool, int], ...]:
    """For each output, whether it is a result or an input, and its number."""
    numbers = {x: k for k, x in enumerate(results)}
    places = {x: k for k, x in enumerate(graph.inputs)}
    return tuple((x in numbers, numbers[x] if x in numbers else places[x]) for x in graph.outputs)


def work(block: ProgramBlock, times: int = 1) -> Iterator[tuple[int, int, int]]:
    """Yield for each kernel the elements it touches, its operations, and how often it runs."""
    for part in block.parts:
        if isinstance(part, Kernel):
            yield sum(x.size for x in part.buffers), part.flops, times
        else:
            for inner in part.blocks.values():
                yield from work(inner, times * part.node.params.get("length", 1))


def is_alone(*numbers: int) -> bool:
    """Whether a program runs on its caller alone, since threads would not make it faster.

    Calls that are over before another thread has taken its part do not count, however many.
    """
    size = flops = 0
    rows = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    for elements, operations, times in rows:
        if elements >= ALONE // 8 or operations >= ALONE:
            size, flops = size + times * elements, flops + times * operations
    return size < ALONE and flops < 16 * ALONE
