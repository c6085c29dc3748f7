"""Tensors interleaved along axes, as one: emit_interleave.

Element i of an axis stands in part i % step, at i // step. Rows of the result are shared among
threads; along a row, two parts are interleaved in registers. Knows nothing of what the parts are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gnomon.codegen.emitter import BITS, KERNEL, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.strides import unflatten

PAIRS = (8, 4)
"""The numbers of pairs that are interleaved at once, largest first."""


@dataclass(frozen=True)
class InterleaveSpec:
    """An interleaving: sizes of axes with their numbers of parts; `lead`: leading elements.

    Parts come in row-major order of their numbers along the axes.
    """

    scalar: str
    lead: int
    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def item(self) -> int:
        """Bytes of one value."""
        return BITS[self.scalar] // 8

    def length(self, number: int) -> int:
        """The number of a row's elements in a part."""
        return (self.sizes[-1] - number + self.steps[-1] - 1) // self.steps[-1]


def emit_interleave(module: LLVMModule, name: str, spec: InterleaveSpec) -> int:
    """Define kernel `name` in the module; it needs no scratch memory."""
    e = module.function(name, KERNEL)
    goal = e.buffer(0)
    low, high = part(e, spec.lead * prod(spec.sizes[:-1]), "%thread", "%threads")

    def row(index: str) -> None:
        number, place = find_row(e, spec, index)
        line = e.offset(goal, e.mul(index, spec.sizes[-1] * spec.item))
        sources = []
        for k in range(spec.steps[-1]):
            slot = e.add(e.mul(number, spec.steps[-1]), 1 + k)
            base = e.buffer(slot)
            sources.append(e.offset(base, e.mul(place, spec.length(k) * spec.item)))
        write_row(e, spec, line, sources)

    e.loop(low, high, 1, row)
    e.ret()
    return 0


def find_row(e: Emitter, spec: InterleaveSpec, index: str) -> tuple[str, str]:
    """The parts that a row of the result comes from, and its rows in them."""
    lead, *inner = unflatten(e, index, [spec.lead, *spec.sizes[:-1]])
    number, place = "0", lead
    for at, size, step in zip(inner, spec.sizes, spec.steps, strict=False):
        mine = e.value(f"urem i64 {at}, {step}")
        number = e.add(e.mul(number, step), mine)
        rows = e.value(f"udiv i64 {e.sub(str(size + step - 1), mine)}, {step}")
        place = e.add(e.mul(place, rows), e.value(f"udiv i64 {at}, {step}"))
    return number, place


def write_row(e: Emitter, spec: InterleaveSpec, line: str, sources: list[str]) -> None:
    """Emit one row of the result: pairs in registers, the rest one by one."""
    step, item, done = len(sources), spec.item, 0
    for lanes in PAIRS if step == 2 else ():
        end = done + (spec.length(1) - done) // lanes * lanes
        order = [k // 2 + k % 2 * lanes for k in range(2 * lanes)]

        def pairs(at: str, lanes: int = lanes, order: list[int] = order) -> None:
            here = e.mul(at, item)
            both = [e.load(e.offset(x, here), vector(spec.scalar, lanes), item) for x in sources]
            made = e.shuffle(*both, order, spec.scalar, lanes)
            there = e.offset(line, e.mul(here, 2))
            e.store(made, there, vector(spec.scalar, 2 * lanes), item)

        e.loop(done, end, lanes, pairs)
        done = end
    for k, source in enumerate(sources):

        def single(at: str, k: int = k, source: str = source) -> None:
            value = e.load(e.offset(source, e.mul(at, item)), spec.scalar, item)
            there = e.mul(e.add(e.mul(at, step), k), item)
            e.store(value, e.offset(line, there), spec.scalar, item)

        e.loop(done, spec.length(k), 1, single)
