"""Slow transfers take wall time; gradients of a layer travel while the one before is computed."""

from __future__ import annotations

from threading import get_ident
from time import monotonic

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.placing import split_rows
from gnomon.distributed.ranks import run_ranks
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import all_gather
from gnomon.profiler.collect import Collector
from gnomon.profiler.model import Event, Profile
from gnomon.runtime.comm.slow import SlowWorld, Wire
from tests.distributed.rank_programs import compiled

pytestmark = pytest.mark.unit

DATA2 = DeviceMesh.of({"data": 2})


def test_a_transfer_takes_its_time():
    x = Arena().input((1000,), float32, "x")
    graph, given = Graph([x], [all_gather(x, 0, "data", 2)]), np.ones(1000, np.float32)

    def work(rank: int) -> float:
        compiled(graph, [given])
        began = monotonic()
        compiled(graph, [given])
        return monotonic() - began

    seconds = run_ranks(DATA2, work, world=SlowWorld(2, Wire(bandwidth=4e4, latency=0.0)))

    assert min(seconds) >= 0.1


LAYERS = 12


def profile_of_a_step() -> Profile:
    """The second step of twelve layers on two ranks; the first compiles."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((128, 128)).astype(np.float32) / 12 for _ in range(LAYERS)]
    rows = rng.standard_normal((64, 128)).astype(np.float32)
    made = Collector()

    def work(rank: int) -> None:
        model = nn.Sequential(*(nn.Linear(128, 128, bias=False) for _ in range(LAYERS)))
        for p, weight in zip(model.parameters(), weights, strict=True):
            p.data = gn.from_numpy(weight)

        @gn.compile
        def step(x: gn.Tensor) -> None:
            model(split_rows(x, DATA2, "data")).square().sum().backward()
            for p in model.parameters():
                p.data -= 0.01 * p.grad
                p.grad = None

        step(gn.from_numpy(rows))
        if rank == 0:
            made.main = get_ident()
            made.start()
        step(gn.from_numpy(rows))
        if rank == 0:
            made.stop()

    run_ranks(DATA2, work, world=SlowWorld(2, Wire(bandwidth=2.5e8)))
    return made.profile()


def layer_of(profile: Profile, event: Event) -> int:
    """The layer that an event's line names; -1 where it names none."""
    names = [line.module for line in profile.lines_of(event) if line.module]
    return int(names[0].rpartition(".")[2]) if names and names[0][-1].isdigit() else -1


@pytest.mark.long
def test_a_gradient_travels_while_the_layer_before_is_computed():
    profile = profile_of_a_step()
    own = [e for e in profile.events if e.thread == 0]
    moved = {layer_of(profile, e): e for e in own if e.name.startswith("all_reduce.scatter along")}
    products = [e for e in own if e.kind == "kernel" and e.name.startswith("contract")]

    assert len(moved) >= LAYERS - 1
    for layer in range(2, LAYERS):
        during = [
            e
            for e in products
            if moved[layer].start < e.start < moved[layer].end and layer_of(profile, e) < layer
        ]
        assert during, f"nothing is computed while the gradient of layer {layer} travels"
