"""Measure tiles of products, and fusions, within a budget of time for the whole program.

Candidates come from the problem (gnomon/codegen/choices.py, gnomon/schedule/excerpt.py) and give
the same bits, so that timing never chooses a result. Their runs are interleaved, over operands
larger than all L2 caches together, since a program finds its operands outside of them too;
measurements are stored on disk, for tiles once per class of products, for fusions once per excerpt.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Protocol, TypeVar

import msgspec

from gnomon.codegen.choices import Choice, candidates, class_of, decide, decided
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.product import Axis, MatmulSpec, OperandSlots, count
from gnomon.codegen.machine import Machine
from gnomon.codegen.opaque import kernel_code
from gnomon.codegen.products import oriented
from gnomon.compiler import target
from gnomon.ir.node import Graph, Node
from gnomon.ir.show import log
from gnomon.program.context import CompileContext, Moments
from gnomon.program.kernel import PACK, Kernel
from gnomon.program.listing import where
from gnomon.program.units import align_columns, counted
from gnomon.runtime.backend import HOST
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.cache import cache_of, digest, own_sources
from gnomon.runtime.program import Call, ConstantSlot, InputSlot, Needs, OutputSlot
from gnomon.schedule.excerpt import Excerpt, Verdicts
from gnomon.schedule.fusion import FusionVerdict
from gnomon.schedule.placed import Placed
from gnomon.settings import Settings, override

__all__ = ["Tuner", "explain", "measure"]

ROUNDS, MOST, MOMENT = 7, 50, 0.1
"""The fewest and the most samples per candidate; further ones than the fewest start within MOMENT
seconds.

Other work on the machine occupies a core for longer than a small kernel runs."""
MARGIN = 0.02
"""The part of the time by which a candidate must beat the model's choice."""
SETS = 8
"""The most sets of operands between which measured runs alternate."""
STEPS = 5
"""The steps of a product that take as long as one byte to or from memory."""


class Runs(Protocol):
    """Protocol of a program that can be measured."""

    def run(self, inputs: Sequence[DeviceBuffer]) -> object:
        """Run on row-major inputs."""


class Tuner(Verdicts):
    """Measurer of products and fusions whose choice is not known, within the program's budget.

    form: compiles a part of a program as a program of its own.
    """

    def __init__(self, context: CompileContext, form: Callable[[Placed], Runs]) -> None:
        super().__init__()
        self.machine, self.settings, self.form = context.machine, context.settings, form
        self.budget, self.moments = context.seconds, context.moments
        self.end: float | None = None
        self.waiting: dict[str, list[Excerpt]] = {}

    def find(self, excerpt: Excerpt) -> FusionVerdict | None:
        """The verdict on an excerpt, or None; if there is none, it is queued to be measured."""
        if excerpt.key not in self.known:
            found = remembered(excerpt.key, self.settings, FusionVerdict)
            if found is None:
                same = self.waiting.setdefault(excerpt.key, [])
                # the clusters change with the next fusion
                same += [excerpt] if same or excerpt.forms else []
                return None
            self.known[excerpt.key] = found
        return self.known[excerpt.key]

    def settle(self, graph: Graph) -> bool:
        """Measure products of a graph, and fusions that wait, the costliest first.

        Returns whether a partition may come out differently now. Parts for which no time is left
        are decided by bytes for good, so that the program is the same when it is built again.
        """
        if self.end is None:
            self.end = self.moments.clock() + self.budget
        waiting, self.waiting = self.waiting, {}
        jobs: list[tuple[int, Callable[[], None]]] = [
            (work, partial(self.cut, key, spec))
            for key, (spec, work) in wanted(graph.nodes, self.machine).items()
        ]
        # of equal work the tile is first, since a fusion is measured with it
        for same in waiting.values():
            made = wanted(same[0].graph.nodes, self.machine).values()
            work = len(same) * sum((w for _, w in made), STEPS * same[0].fusion.apart)
            jobs.append((work, partial(self.join, same[0])))
        for _, job in sorted(jobs, key=lambda pair: -pair[0]):
            job()
        return any(self.known[key] for key in waiting)

    def cut(self, key: Hashable, spec: MatmulSpec) -> None:
        """Choose the tile of a class of products, by a measurement if there is time for one."""
        if decided(key) is not None:
            return
        found, end = remembered(key, self.settings, Choice), self.end or 0.0
        if found is None and self.moments.clock() < end:
            found = measure(spec, self.machine, self.moments, end)
            remember(key, found, self.settings)
        if found is not None:
            decide(key, found)

    def join(self, excerpt: Excerpt) -> None:
        """Measure both forms of an excerpt in turn, if they differ and there is time."""
        start, self.known[excerpt.key] = self.moments.clock(), None
        if start >= (self.end or 0.0):
            return
        with override(debug=0):
            forms = [self.form(each) for each in excerpt.forms]
            sizes = [max(x.size, 1) * x.dtype.itemsize for x in excerpt.graph.inputs]
            sets = list(rotating(sizes, self.machine))
            apart, together = interleaved(
                [x.run for x in forms], sets, self.moments, self.end or 0.0
            )
        found = FusionVerdict(apart, together, self.moments.clock() - start)
        times = f"{1e3 * apart:.3g} ms apart, {1e3 * together:.3g} ms together"
        log(1, lambda: f"tune: {excerpt.fusion.kind} of {len(excerpt.nodes)} operations: {times}")
        remember(excerpt.key, found, self.settings)
        self.known[excerpt.key] = found


def wanted(nodes: Iterable[Node], machine: Machine) -> dict[Hashable, tuple[MatmulSpec, int]]:
    """The products with several candidate tiles: class -> a description, and the work of all."""
    found: dict[Hashable, tuple[MatmulSpec, int]] = {}
    for node in (x for x in nodes if x.op == "contract"):
        spec = oriented(node)[2]
        if len(candidates(spec, machine)) > 1:
            key = class_of(spec, machine)
            first, work = found.get(key, (spec, 0))
            found[key] = first, work + node.size * count(spec.steps)
    return found


def products(kernels: Iterable[Kernel]) -> Iterator[tuple[Kernel, MatmulSpec]]:
    """Yield each matrix product among kernels, with its description."""
    for kernel in kernels:
        for node in () if kernel.members or kernel.name == PACK else kernel.nodes:
            if node.op == "contract":
                yield kernel, oriented(node)[2]


# measuring


def measure(spec: MatmulSpec, machine: Machine, moments: Moments, end: float) -> Choice:
    """Measure all candidate tiles in turn; the choice is the one with the shortest run."""
    start, shapes = moments.clock(), candidates(spec, machine)
    runs = [runner(replace(spec, tile=shape, slots=OperandSlots()), machine) for shape in shapes]
    sets = list(operands(spec, machine))
    least = interleaved(runs, sets, moments, end)
    best = least.index(min(least))
    best = best if least[best] < (1 - MARGIN) * least[0] else 0
    choice = Choice(shapes[best], tuple(zip(shapes, least, strict=True)), moments.clock() - start)
    log(1, lambda: f"tune: {shape_of(spec)}: {origin(choice)}")
    return choice


def interleaved(
    runs: Sequence[Callable[[Sequence[DeviceBuffer]], object]],
    sets: Sequence[Sequence[DeviceBuffer]],
    moments: Moments,
    end: float,
) -> list[float]:
    """The shortest run of each candidate in seconds, since other load only lengthens runs."""
    times: list[list[float]] = [[] for _ in runs]
    timer = moments.clock
    first = timer()
    for sample in range(MOST):
        with moments.measurement():
            for run, own in zip(runs, times, strict=True):
                given = sets[sample % len(sets)]
                begun = timer()
                run(given)
                own.append(timer() - begun)
        now = timer()
        if sample and (now > end or (sample >= ROUNDS - 1 and now > first + MOMENT)):
            break
    return list(map(min, times))


def runner(spec: MatmulSpec, machine: Machine) -> Callable[[Sequence[DeviceBuffer]], None]:
    """Compile a single product, as a function that runs it on buffers C, A and B."""
    given = kernel_code("matmul", emit_matmul, (spec, machine), 3)
    codes = (given.code, *given.code.parts)
    handles = HOST.kernels.load({code.symbol: code.text for code in codes})
    slots = (OutputSlot(0), InputSlot(0), InputSlot(1), *map(ConstantSlot, given.numbers))
    needs = Needs(inputs=2, outputs=1, scratch=given.code.scratch)
    program = HOST.program([Call(given.code.symbol, slots)], handles, needs)
    return lambda x: program.run([x[1].address, x[2].address], [x[0].address])


def operands(spec: MatmulSpec, machine: Machine) -> Iterator[tuple[DeviceBuffer, ...]]:
    """Sets of buffers C, A and B, large enough together to exceed L2."""
    sizes = [extent(spec, side) for side in "cab"]
    widths = (spec.item, spec.item_of("a"), spec.item_of("b"))
    return rotating([x * width for x, width in zip(sizes, widths, strict=True)], machine)


def rotating(nbytes: Sequence[int], machine: Machine) -> Iterator[tuple[DeviceBuffer, ...]]:
    """Yield sets of zero buffers of these sizes that together fill L2 twice."""
    for _ in range(min(max(2 * machine.l2 // sum(nbytes), 1), SETS)):
        yield tuple(map(zeros, nbytes))


def zeros(nbytes: int) -> DeviceBuffer:
    """Create a buffer of zeros."""
    made = DeviceBuffer(nbytes)
    ctypes.memset(made.address, 0, nbytes)
    return made


def extent(spec: MatmulSpec, side: str) -> int:
    """The number of elements of an operand's buffer that a product needs."""
    start = spec.starts["abc".index(side)]
    axes = (*spec.batch, *spec.rows, *spec.columns, *spec.steps)
    return start + sum(far(axis, side) for axis in axes) + 1


def far(axis: Axis, side: str) -> int:
    """The distance from the first to the last element of an axis in an operand."""
    return max((axis.size - 1) * getattr(axis, side), 0)


# on disk


def key_of(key: Hashable) -> str:
    """The digest of everything that a measurement depends on."""
    return digest(repr(key), own_sources(), HOST.kernels.key_of(""))


Found = TypeVar("Found", Choice, FusionVerdict)


def remember(key: Hashable, choice: Choice | FusionVerdict, settings: Settings) -> None:
    """Store a measured choice on disk."""
    folder = cache_of(settings, "choices")
    if folder is not None:
        folder.store(key_of(key), msgspec.msgpack.encode(choice))


def remembered(key: Hashable, settings: Settings, kind: type[Found]) -> Found | None:
    """The choice that an earlier process stored on disk, or None."""
    folder = cache_of(settings, "choices")
    content = None if folder is None else folder.load(key_of(key))
    if content is None:
        return None
    return replace(msgspec.msgpack.decode(content, type=kind), source="remembered")


# reports


def explain(kernels: Iterable[Kernel]) -> str:
    """A listing of every product of a program: its tile, the origin of that, and the costs."""
    found: dict[tuple, tuple[str, ...]] = {}
    kernels, processor = list(kernels), target.machine()
    panels = {kernel.buffers[0] for kernel in kernels if kernel.name == PACK}
    for kernel, spec in products(kernels):
        kept = "right factor kept in panels" if panels & {*kernel.buffers} else ""
        found.setdefault((*row_of_product(spec, processor), kept), (where(kernel),))
    rows = [(*one, *line) for one, line in found.items()]
    return "\n".join([counted(len(rows), "kind") + " of products", *align_columns(rows)])


def row_of_product(spec: MatmulSpec, machine: Machine) -> tuple[str, ...]:
    """The row of one product in `explain_gemm`: sizes, tile, and the origin of the choice."""
    choice, shapes = decided(class_of(spec, machine)), candidates(spec, machine)
    if not shapes:
        return shape_of(spec), "rows as they lie", ""
    if choice is None:
        return shape_of(spec), f"tile {by(shapes[0])}", "by the model"
    return shape_of(spec), f"tile {by(choice.tile)}", origin(choice)


def origin(choice: Choice) -> str:
    """The origin of a choice, with the times of all candidates."""
    times = ", ".join(f"{by(tile)} {1e3 * seconds:.3g} ms" for tile, seconds in choice.timings)
    spent = f"{choice.source} in {choice.seconds:.2g} s"
    return f"{spent}: {times}; the model's takes {choice.regret:.1%} more"


def shape_of(spec: MatmulSpec) -> str:
    """The sizes of a product as text: rows, columns and steps, and the batch."""
    sizes = by([count(axes) for axes in (spec.rows, spec.columns, spec.steps)])
    batch = prod(axis.size for axis in spec.batch)
    return f"{spec.scalar} {sizes}" + (f", {batch} times" if batch > 1 else "")


def by(sizes: Sequence[int]) -> str:
    """Sizes as text, with multiplication signs between.

    >>> by((6, 16))
    '6×16'
    """
    return "×".join(map(str, sizes))
