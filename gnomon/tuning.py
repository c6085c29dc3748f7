"""Products are measured, once per class, within a budget for the whole program.

Candidates come from the problem (gnomon/codegen/choices.py) and give the same bits, so that timing
never chooses a result. They take turns over operands that are more than L2 together holds, since a
program finds them there; what was measured is kept on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from time import perf_counter

import msgspec

from gnomon.codegen.calls import oriented
from gnomon.codegen.choices import Choice, candidates, class_of, decide, decided
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.product import Axis, MatmulSpec, Slots, count
from gnomon.codegen.machine import Machine
from gnomon.codegen.opaque import written
from gnomon.codegen.scope import budget
from gnomon.ir.show import log
from gnomon.listing import Kernel, aligned, counted, where
from gnomon.runtime import cpu, device
from gnomon.runtime.buffer import Buffer
from gnomon.runtime.cache import Cache, digest, fingerprint
from gnomon.runtime.program import Call, Constant, Input, Needs, Output, Program
from gnomon.settings import Settings

__all__ = ["explain", "improve", "measure"]

ROUNDS = 7
"""Turns that each candidate takes at most."""
MARGIN = 0.02
"""By how much a candidate must beat the model's choice."""
SETS = 8
"""Sets of operands at most."""
Timer = Callable[[], float]


def improve(
    kernels: Iterable[Kernel], machine: Machine, settings: Settings, timer: Timer = perf_counter
) -> None:
    """Measure products of which nothing is known, the costliest first, while the budget lasts."""
    end = timer() + budget.value
    for key, spec in wanted(kernels, machine).items():
        if decided(key) is not None:
            continue
        found = remembered(key, settings)
        if found is None and timer() < end:
            found = measure(spec, machine, timer, end)
            remember(key, found, settings)
        if found is not None:
            decide(key, found)


def wanted(kernels: Iterable[Kernel], machine: Machine) -> dict[Hashable, MatmulSpec]:
    """The products of a program that may be cut in several ways, by class, the costliest first."""
    specs: dict[Hashable, MatmulSpec] = {}
    work: dict[Hashable, int] = {}
    for kernel, spec in products(kernels):
        if len(candidates(spec, machine)) > 1:
            key = class_of(spec, machine)
            specs.setdefault(key, spec)
            work[key] = work.get(key, 0) + kernel.flops * kernel.times
    return {key: specs[key] for key in sorted(specs, key=lambda key: -work[key])}


def products(kernels: Iterable[Kernel]) -> Iterator[tuple[Kernel, MatmulSpec]]:
    """Kernels that are products, and what they compute."""
    for kernel in kernels:
        if kernel.nodes and kernel.nodes[0].op == "contract" and not kernel.members:
            yield kernel, oriented(kernel.nodes[0])[2]


# measuring


def measure(spec: MatmulSpec, machine: Machine, timer: Timer, end: float) -> Choice:
    """Run every candidate in turns; the one that is quickest at its best is the choice."""
    start, shapes = timer(), candidates(spec, machine)
    runs = [runner(replace(spec, tile=shape, slots=Slots()), machine) for shape in shapes]
    sets = list(operands(spec, machine))
    times: list[list[float]] = [[] for _ in shapes]
    for turn in range(ROUNDS):
        for run, own in zip(runs, times, strict=True):
            given = sets[turn % len(sets)]
            begun = timer()
            run(given)
            own.append(timer() - begun)
        if turn and timer() > end:
            break
    # other work on the machine only ever adds; the model stands unless it is clearly beaten
    least = [min(own) for own in times]
    best = least.index(min(least))
    best = best if least[best] < (1 - MARGIN) * least[0] else 0
    choice = Choice(shapes[best], tuple(zip(shapes, least, strict=True)), timer() - start)
    log(1, lambda: f"tune: {shape_of(spec)}: {told(choice)}")
    return choice


def runner(spec: MatmulSpec, machine: Machine) -> Callable[[Sequence[Buffer]], None]:
    """A product alone, as a program of (C, A, B)."""
    given = written("matmul", emit_matmul, (spec, machine), 3)
    codes = (given.code, *given.code.parts)
    addresses = cpu.load({code.symbol: code.text for code in codes})
    slots = (Output(0), Input(0), Input(1), *map(Constant, given.numbers))
    needs = Needs(inputs=2, outputs=1, scratch=given.code.scratch)
    program = Program([Call(given.code.symbol, slots)], addresses, needs)
    return lambda x: program.run([x[1].address, x[2].address], [x[0].address])


def operands(spec: MatmulSpec, machine: Machine) -> Iterator[tuple[Buffer, Buffer, Buffer]]:
    """C, A and B, as often as it takes to fill L2 twice; all zero."""
    sizes = [extent(spec, side) for side in "cab"]
    widths = (spec.item, spec.operand_item, spec.operand_item)
    nbytes = [size * width for size, width in zip(sizes, widths, strict=True)]
    for _ in range(min(max(2 * machine.l2 // sum(nbytes), 1), SETS)):
        yield tuple(map(zeros, nbytes))  # type: ignore[misc]


def zeros(nbytes: int) -> Buffer:
    """A buffer of zeros."""
    made = Buffer(nbytes)
    ctypes.memset(made.address, 0, nbytes)
    return made


def extent(spec: MatmulSpec, side: str) -> int:
    """One more than the last element of an operand that a product touches."""
    start = spec.starts["abc".index(side)]
    axes = (*spec.batch, *spec.rows, *spec.columns, *spec.steps)
    return start + sum(far(axis, side) for axis in axes) + 1


def far(axis: Axis, side: str) -> int:
    """How far an axis goes up."""
    return max((axis.size - 1) * getattr(axis, side), 0)


# on disk


def shelf(settings: Settings) -> Cache | None:
    """Where choices are kept."""
    return Cache(settings.path_of_cache() / "choices") if settings.cache else None


def key_of(key: Hashable) -> str:
    """The digest of all that a measurement depends on."""
    return digest(repr(key), fingerprint(Path(__file__).parent), cpu.key_of("", device.target()))


def remember(key: Hashable, choice: Choice, settings: Settings) -> None:
    """Keep a choice."""
    folder = shelf(settings)
    if folder is not None:
        folder.store(key_of(key), msgspec.msgpack.encode(choice))


def remembered(key: Hashable, settings: Settings) -> Choice | None:
    """A choice of an earlier process."""
    folder = shelf(settings)
    content = None if folder is None else folder.load(key_of(key))
    if content is None:
        return None
    return replace(msgspec.msgpack.decode(content, type=Choice), source="remembered")


# reports


def explain(kernels: Iterable[Kernel], machine: Machine) -> str:
    """Every product of a program: its tile, by what it was chosen, and what that cost."""
    found: dict[tuple, tuple[str, ...]] = {}
    for kernel, spec in products(kernels):
        found.setdefault(row(spec, machine), (where(kernel),))
    rows = [(*one, *line) for one, line in found.items()]
    return "\n".join([counted(len(rows), "kind") + " of products", *aligned(rows)])


def row(spec: MatmulSpec, machine: Machine) -> tuple[str, ...]:
    """What is told of one product."""
    choice, shapes = decided(class_of(spec, machine)), candidates(spec, machine)
    if not shapes:
        return shape_of(spec), "rows as they lie", ""
    if choice is None:
        return shape_of(spec), f"tile {by(shapes[0])}", "by the model"
    return shape_of(spec), f"tile {by(choice.tile)}", told(choice)


def told(choice: Choice) -> str:
    """How a choice came about."""
    times = ", ".join(f"{by(tile)} {1e3 * seconds:.3g} ms" for tile, seconds in choice.timings)
    spent = f"{choice.source} in {choice.seconds:.2g} s"
    return f"{spent}: {times}; the model's takes {choice.regret:.1%} more"


def shape_of(spec: MatmulSpec) -> str:
    """Rows, columns and steps of a product, and its batch."""
    sizes = by([count(axes) for axes in (spec.rows, spec.columns, spec.steps)])
    batch = prod(axis.size for axis in spec.batch)
    return f"{spec.scalar} {sizes}" + (f", {batch} times" if batch > 1 else "")


def by(sizes: Sequence[int]) -> str:
    """Sizes with signs between.

    >>> by((6, 16))
    '6×16'
    """
    return "×".join(map(str, sizes))
