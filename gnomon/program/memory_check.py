"""Whether a program fits in memory, and if not, which of your lines need most of it.

It is asked before a run takes its first byte. Where values lie is buffer_assignment.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from gnomon.errors import OutOfMemory
from gnomon.ir.node import Node
from gnomon.ir.provenance import Site
from gnomon.ops.registry import REGIONS
from gnomon.program.blocks import ProgramBlock
from gnomon.program.liveness import values_of
from gnomon.program.units import metric
from gnomon.schedule.memory import nbytes

__all__ = ["LiveValue", "check", "live_at_peak"]

MOST = 10
"""Buffers that are listed."""


@dataclass(frozen=True)
class LiveValue:
    """A value that is live at the peak of memory: its role in the program, and its source lines."""

    node: Node
    nbytes: int
    role: str
    sites: tuple[Site, ...] = ()

    def __str__(self) -> str:
        kind = f"{self.node.dtype.name}[{', '.join(map(str, self.node.shape))}]"
        name = f" {self.sites[0].name}" if self.sites and self.sites[0].name else ""
        phase = f", {self.sites[0].phase}" if self.sites else ""
        line = f"  {self.sites[0]}" if self.sites else ""
        return f"{metric(self.nbytes, 'B'):>9}  {kind}  {self.role}{name}{phase}{line}"


def live_at_peak(block: ProgramBlock) -> list[LiveValue]:
    """The values live at a program's peak, the largest first; inputs and results always are."""
    inner = values_of(block)
    ends = sorted({v.first for v in inner})
    totals = {k: sum(v.nbytes for v in inner if v.first <= k <= v.last) for k in ends}
    peak = max(totals, key=totals.__getitem__, default=0)
    found = [
        LiveValue(v.node, v.nbytes, "between", v.sites) for v in inner if v.first <= peak <= v.last
    ]
    inputs = dict.fromkeys(block.graph.inputs)
    found += [LiveValue(x, nbytes(x), "input", x.sites) for x in inputs]
    made = dict.fromkeys(x for x in block.graph.outputs if x not in inputs)
    found += [LiveValue(x, nbytes(x), "result", x.sites) for x in made]
    return sorted(found, key=lambda each: -each.nbytes)


def check(block: ProgramBlock, title: str, needed: int, used: int, limit: int) -> None:
    """Refuse a program that needs more bytes than are left."""
    if needed + used <= limit:
        return
    live = live_at_peak(block)
    rows = "\n".join(f"  {each}" for each in live[:MOST])
    hints = "; ".join(advice(live))
    wanted, taken, most = (metric(size, "B") for size in (needed, used, limit))
    raise OutOfMemory(
        f"memory: {title} needs {wanted} beside {taken} in use: the limit is "
        f"{most}. Nothing was run. Its largest buffers when it holds most:\n{rows}\n"
        f"What would help: {hints}."
    )


def advice(live: Sequence[LiveValue]) -> Iterator[str]:
    """Advice for using less memory, the most certain first."""
    phases = {site.phase for each in live for site in each.sites}
    between = [each for each in live if each.role == "between"]
    for name in {site.op.partition(".")[0]: 0 for x in live[:MOST] for site in x.node.sites}:
        if name in REGIONS and REGIONS[name].facts.lighter:
            yield REGIONS[name].facts.lighter
    if "backward" in phases and between:
        yield "fewer rows at a time: gn.accumulate(loss, batch, microbatches=2)"
    elif between:
        yield "a smaller batch"
    if "forward" in phases and "backward" not in phases:
        yield "gn.no_grad(), if no gradients are wanted"
    if is_wide(live[:MOST]):
        yield "gn.autocast or bfloat16 tensors, which take half"
    yield "letting go of tensors that are not needed, or gn.set_memory_limit"


def is_wide(live: Collection[LiveValue]) -> bool:
    """Whether wide floats have most of the bytes."""
    wide = sum(x.nbytes for x in live if x.node.dtype.name in ("float32", "float64"))
    return 2 * wide > sum(x.nbytes for x in live)
