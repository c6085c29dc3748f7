"""A program's run on a virtual clock: the real order of its calls over modelled times.

The processor does one call after the other; transfers have a wire of their own, on which they
follow each other. A call that waits for a transfer stalls until that is done. Nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from gnomon.program.blocks import ControlCall
from gnomon.program.collectives import FIRST, WAIT, bytes_sent
from gnomon.program.kernel import Kernel, traffic
from gnomon.program.overlap import computing, travelling

__all__ = ["Moment", "Timeline", "modelled", "timeline"]

Seconds = Callable[[Kernel], float]
"""The time of a call, or of the transfer that it starts."""


@dataclass(frozen=True)
class Moment:
    """A call or a transfer in a simulated run, in seconds."""

    name: str
    start: float
    end: float
    kind: str = "kernel"
    """"kernel", "stall" where the processor waits, or "transfer"."""


@dataclass(frozen=True)
class Timeline:
    """A simulated run."""

    moments: tuple[Moment, ...]

    @property
    def makespan(self) -> float:
        """The seconds of the run."""
        return max((x.end for x in self.moments), default=0.0)

    def sum(self, kind: str) -> float:
        """The seconds of all moments of a kind."""
        return sum(x.end - x.start for x in self.moments if x.kind == kind)


def modelled(kernel: Kernel) -> float:
    """The time of a call or transfer by the cost model that chose the order (overlap.py)."""
    if kernel.mesh:
        return travelling(bytes_sent(kernel))
    return computing(kernel.flops, traffic(kernel))


def timeline(parts: Sequence[Kernel | ControlCall], seconds: Seconds = modelled) -> Timeline:
    """The simulated run of a program's calls, in their order, with these times."""
    found: list[Moment] = []
    clock = wire = 0.0
    arrives: dict[int, float] = {}
    for kernel in chain.from_iterable(map(calls_of, parts)):
        if not kernel.mesh:
            found.append(Moment(kernel.name, clock, clock + seconds(kernel)))
            clock = found[-1].end
            continue
        name, number = kernel.name.removesuffix(WAIT), kernel.numbers[FIRST]
        if kernel.name.endswith(WAIT):
            if arrives[number] > clock:
                found.append(Moment(name, clock, arrives[number], "stall"))
            clock = max(clock, arrives[number])
        else:
            start = max(clock, wire)
            wire = arrives[number] = start + seconds(kernel)
            found.append(Moment(name, start, wire, "transfer"))
    return Timeline(tuple(found))


def calls_of(part: Kernel | ControlCall) -> Iterable[Kernel]:
    """The kernels of a part, those of a loop once."""
    return (part,) if isinstance(part, Kernel) else part.kernels()
