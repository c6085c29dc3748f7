"""One rank's program of a training step, from shapes alone, for worlds and models of any size.

Nothing is run, parameters have no values, and other ranks need not exist. The program is the one
that training would compile.
"""

from __future__ import annotations

from gnomon.capture.unrun import program_for
from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.plans import PLAN, ShardingPlan, distribute
from gnomon.distributed.ranks import connect
from gnomon.dtypes import int64
from gnomon.ir import collector
from gnomon.ir.node import Graph
from gnomon.models.registry import kind_of
from gnomon.program.blocks import ProgramBlock
from gnomon.runtime.comm import here
from gnomon.runtime.comm.fake import FakeBackend
from gnomon.tensor.creation import empty
from gnomon.tensor.device import META
from gnomon.train.config import Config
from gnomon.train.step import TrainStep, make_optimizer

__all__ = ["rank_program", "step_graph"]


def step_graph(config: Config, mesh: DeviceMesh, plan: ShardingPlan = PLAN) -> Graph:
    """The graph of a step over a mesh, captured by the first rank: global values with layouts.

    The exchange of tokens has the capacity of an even load, with a margin.
    """
    train = config.train
    with here.along(connect(mesh, FakeBackend(0, mesh.size()))):
        kind = kind_of(config.model)
        with META:
            model = kind.model(config.model)
        distribute(model, plan.table(model, kind.axes, mesh), mesh)
        step = TrainStep(model, make_optimizer(model, config), config, mesh, plan)
        if step.travel:
            step.travel.is_even = True
        shape = (train.batch_size, train.sequence_length + 1)
        window = empty(shape, dtype=int64, device=META)
        return program_for(step.program, window).graph


@collector.paused()
def rank_program(config: Config, mesh: DeviceMesh, plan: ShardingPlan = PLAN) -> ProgramBlock:
    """The first rank's kernels and transfers in the order of execution."""
    return kernels_of(step_graph(config, mesh, plan), context())
