"""What is heard is kept as it is, up to a limit, and told afterwards."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ir.provenance import Site, inherit
from gnomon.ops.placements import Split
from gnomon.ops.primitives import contract
from gnomon.profiler import collect
from gnomon.profiler.collect import Collector
from gnomon.profiler.merge import meetings
from gnomon.profiler.model import Line
from tests.distributed.rank_programs import Division, RankProgram


def collected(work) -> Collector:
    """A collector that heard some work."""
    made = Collector()
    made.start()
    try:
        work()
    finally:
        made.stop()
    return made


def test_nothing_is_heard_before_the_start_and_after_the_stop():
    made = collected(lambda: None)
    (gn.ones(3) * 2).tolist()

    assert made.heard == []
    assert made.profile().events == []


def test_calls_beyond_the_limit_are_counted_as_lost(monkeypatch):
    monkeypatch.setattr(collect, "MOST_CALLS", 3)
    made = collected(lambda: [(gn.ones(3) * k).tolist() for k in (2.5, 3.5, 4.5, 5.5)])

    assert 0 < made.calls - made.lost <= 3
    assert made.profile().lost == made.lost


def test_a_free_without_its_allocation_is_left_out():
    x = gn.ones(5000) * 2
    x.tolist()
    numbers = [x]
    made = collected(numbers.clear)
    del x

    assert all(event.kind != "free" for event in made.profile().events)


def test_ranks_have_lanes_and_their_messages_lines():
    arena = Arena()
    x, w = arena.input((4, 256), float32, "x"), arena.input((8, 256), float32, "w")
    with inherit((Site("model.py", 7, "forward", "head"),)):
        graph = Graph([x, w], [contract("bi,oi->bo", x, w)])
    mesh, split = DeviceMesh.of({"tensor": 2}), {"tensor": Split(1)}
    program = RankProgram(graph, Division(mesh, (split, split), ({},)))
    parts = [np.ones((4, 128), np.float32), np.ones((8, 128), np.float32)]

    data = collected(lambda: run_ranks(mesh, lambda rank: program.run(parts))).profile()

    messages = [e for e in data.events if e.kind == "comm"]
    kernels = [e for e in data.events if e.kind == "kernel"]
    assert len({e.thread for e in messages}) == 2
    assert len(meetings([data])) == 1
    for event in messages:
        assert (event.name, event.nbytes) == ("all_reduce along tensor", 3 * 4 * 8 * 4)
        assert event.lines == (Line("model.py", 7, "forward", "head", "comm"),)
    assert {line.file for e in kernels for line in data.records[e.record].lines} == {"model.py"}
    assert len({e.thread for e in kernels}) >= 2
