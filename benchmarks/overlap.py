"""What of a step's transfers hides behind computing, on a network of a known speed.

Run by hand (python -m benchmarks.overlap [--axis data] [--ranks 2] [--steps 20]): fully
sharded, or data parallel. Ranks are threads, and
their transfers take wall time and no processor (the `slow` backend). A row is a network on which
all transfers of a step take a given part of its computing: the time of a step on it (the least of
all steps), beside the longer of computing and transfers, and beside the same on the virtual clock.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.plans import PLAN, distribute
from gnomon.distributed.ranks import run_ranks
from gnomon.models.decoder import AXES, DecoderForCausalLM
from gnomon.models.initialization import initialize
from gnomon.program.collectives import WAIT, bytes_sent
from gnomon.program.kernel import Kernel
from gnomon.program.virtual_clock import timeline
from gnomon.runtime.comm.slow import SlowWorld, Wire
from gnomon.train.config import Config
from gnomon.train.recipes import configure
from gnomon.train.step import TrainStep, make_optimizer

AIMS = {"shard": 1.15, "data": 1.05}
"""Mesh axis -> the step's time over the longer of computing and transfers, at most."""
PARTS = (0.25, 0.5, 1.0, 2.0)
"""The time of all transfers over that of computing."""
AT_ONCE = Wire(bandwidth=1e18, latency=0.0)
SIZES = [
    *("model.hidden_size=256", "model.intermediate_size=512", "model.num_hidden_layers=10"),
    *("model.num_attention_heads=4", "model.num_key_value_heads=4", "model.head_dim=64"),
    *("model.vocab_size=512", "model.max_position_embeddings=64", "train.batch_size=8"),
    *("train.sequence_length=64", "evaluation.stride=32"),
]


def step_of(config: Config, mesh: DeviceMesh) -> TrainStep:
    """A rank's step."""
    model = DecoderForCausalLM(config.model)
    initialize(model, config.run.seed)
    distribute(model, PLAN.table(model, AXES, mesh), mesh)
    return TrainStep(model, make_optimizer(model, config), config, mesh)


def stepped(mesh: DeviceMesh, wire: Wire, steps: int) -> tuple[float, TrainStep]:
    """The least seconds of a step on a network, when all ranks are done; the first rank's step."""
    config = configure("tiny", SIZES)
    shape = (config.train.batch_size, config.train.sequence_length + 1)
    window = np.random.default_rng(0).integers(0, config.model.vocab_size, shape, np.int64)

    def work(rank: int) -> tuple[list[float], TrainStep]:
        step, seconds = step_of(config, mesh), []
        for _ in range(steps + 2):
            began = perf_counter()
            step(window, 1e-3)
            seconds.append(perf_counter() - began)
        return seconds[2:], step

    found = run_ranks(mesh, work, 600.0, world=SlowWorld(mesh.size(), wire))
    return min(map(max, zip(*(seconds for seconds, _ in found), strict=True))), found[0][1]


def main() -> None:
    """Print a row for each network."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--axis", choices=AIMS, default="shard")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    asked = parser.parse_args()
    mesh = DeviceMesh.of({asked.axis: asked.ranks})
    computing, step = stepped(mesh, AT_ONCE, asked.steps)
    parts = kernels_of(step.captured.graph, context()).parts
    starts = [k for k in parts if isinstance(k, Kernel) and k.mesh and not k.name.endswith(WAIT)]
    sent = sum(map(bytes_sent, starts))
    modelled = timeline(parts)
    longer = max(modelled.sum("kernel"), modelled.sum("transfer"))
    print(f"{len(starts)} transfers of {sent:,} bytes; computing alone {1e3 * computing:.1f} ms")
    print(f"virtual clock: {modelled.makespan / longer:.3f} of the longer one")
    aim = AIMS[asked.axis]
    for part in PARTS:
        wire = Wire(sent / (part * computing), latency=0.0)
        seconds, _ = stepped(mesh, wire, asked.steps)
        ratio = seconds / max(computing, part * computing)
        verdict = "" if ratio <= aim else f"  above {aim}"
        print(f"transfers {part:4.2f}: {1e3 * seconds:6.1f} ms, {ratio:.3f} of the longer{verdict}")


if __name__ == "__main__":
    main()
