"""Forecast one rank's step on a chip: its time, memory and communication.

Calls run in their real order on the virtual clock, each for as long as the chip's peaks allow.
Layers are alike, so a deep model's figures are extrapolated from two shallow ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.plans import PLAN, ShardingPlan
from gnomon.ir.node import Node
from gnomon.program.blocks import ProgramBlock
from gnomon.program.buffer_assignment import BufferAssignment, given_up, places_of
from gnomon.program.collectives import WAIT, bytes_sent
from gnomon.program.kernel import Kernel, traffic
from gnomon.program.liveness import values_of
from gnomon.program.overlap import CALL, LATENCY
from gnomon.program.virtual_clock import timeline
from gnomon.schedule.memory import in_lines, nbytes
from gnomon.train.chips import Chip
from gnomon.train.config import Config
from gnomon.train.rank_program import rank_program

__all__ = ["COARSE", "DEPTHS", "Forecast", "forecast", "forecast_of"]

COARSE, DEPTHS = (1, 2), (4, 8)
"""The numbers of layers of two shallow models: COARSE to compare layouts, DEPTHS to report them. A
model that is not deeper than the second of DEPTHS is built as it is.
"""
STRETCHES = 4
"""The number of parts of a step whose memory peaks are extrapolated separately."""


@dataclass(frozen=True)
class Forecast:
    """The predicted time, memory and transfers of one rank's step."""

    seconds: float
    waiting: float
    """The seconds without computation, waiting for transfers."""
    flops: float
    held: float
    """The bytes of parameters, gradients and optimizer state, which persist between steps."""
    peaks: tuple[float, ...]
    """The peak bytes of other values, in each part of the step."""
    sent: Mapping[str, float]
    """The bytes that the rank sends along each mesh axis."""

    @property
    def memory(self) -> float:
        """The peak of memory in bytes."""
        return self.held + max(self.peaks)

    def towards(self, other: Forecast, steps: float) -> Forecast:
        """Extrapolate linearly from this forecast through another one.

        >>> one = Forecast(1.0, 0.0, 8.0, 4.0, (2.0, 1.0), {"data": 1.0})
        >>> two = Forecast(1.5, 0.0, 12.0, 6.0, (2.5, 3.0), {"data": 2.0})
        >>> one.towards(two, 3.0).memory, one.towards(two, 3.0).sent
        (17.0, {'data': 4.0})
        """

        def line(a: float, b: float) -> float:
            return a + steps * (b - a)

        return Forecast(
            line(self.seconds, other.seconds),
            line(self.waiting, other.waiting),
            line(self.flops, other.flops),
            line(self.held, other.held),
            tuple(map(line, self.peaks, other.peaks)),
            {name: line(self.sent.get(name, 0.0), size) for name, size in other.sent.items()},
        )


def forecast_of(block: ProgramBlock, mesh: DeviceMesh, chip: Chip) -> Forecast:
    """The forecast of a program on a chip."""
    run, sent = timeline(block.parts, seconds_on(chip, mesh)), Counter[str]()
    for kernel in block.kernels():
        if kernel.mesh and not kernel.name.endswith(WAIT):
            sent[kernel.mesh] += bytes_sent(kernel) * kernel.times
    flops = float(sum(k.flops * k.times for k in block.kernels()))
    held, peaks = float(held_by(block)), peaks_of(block)
    return Forecast(run.makespan, run.sum("stall"), flops, held, peaks, dict(sent))


def seconds_on(chip: Chip, mesh: DeviceMesh) -> Callable[[Kernel], float]:
    """A function of each call's time on a chip, which computes while it reads and writes."""
    links = chip.links(mesh)

    def seconds(kernel: Kernel) -> float:
        if kernel.mesh:
            return LATENCY + bytes_sent(kernel) / links[kernel.mesh]
        return CALL + max(kernel.flops / chip.flops, traffic(kernel) / chip.bandwidth)

    return seconds


def held_by(block: ProgramBlock) -> int:
    """The bytes of inputs that a program reads, and of results that do not alias them."""
    touched = dict.fromkeys(x for part in block.parts for x, _ in places_of(part))
    ends, taken = {*block.graph.inputs, *block.graph.outputs}, set[Node]()
    for under in given_up(block).values():
        taken.update([y for y in under if y not in taken][:1])
    return sum(nbytes(x) for x in touched if x in ends) - sum(map(nbytes, taken))


def peaks_of(block: ProgramBlock) -> tuple[float, ...]:
    """The peak of the program's own memory in each part of its calls.

    The largest is the memory plan's total, which includes gaps between values.
    """
    values = values_of(block)
    calls = 1 + max((v.last for v in values), default=0)
    changes = [0] * (calls + 1)
    for value in values:
        changes[value.first] += in_lines(value.nbytes)
        changes[value.last + 1] -= in_lines(value.nbytes)
    alive, peaks = 0, [0.0] * STRETCHES
    for call in range(calls):
        alive += changes[call]
        stretch = STRETCHES * call // calls
        peaks[stretch] = max(peaks[stretch], float(alive))
    whole, most = BufferAssignment(block).memory.total, max(1.0, *peaks)
    return tuple(peak / most * whole for peak in peaks)


def forecast(
    config: Config,
    mesh: DeviceMesh,
    chip: Chip,
    plan: ShardingPlan = PLAN,
    depths: tuple[int, int] = DEPTHS,
) -> Forecast:
    """The forecast of a recipe's step over a mesh; deep models are extrapolated."""
    layers, (thin, thick) = config.model.num_hidden_layers, depths

    def built(count: int) -> Forecast:
        model = replace(config.model, num_hidden_layers=count)
        return forecast_of(rank_program(replace(config, model=model), mesh, plan), mesh, chip)

    if layers <= thick:
        return built(layers)
    return built(thin).towards(built(thick), (layers - thin) / (thick - thin))
