"""The virtual clock: exact stalls, and a data-parallel step whose transfers hide behind it."""

from __future__ import annotations

import pytest

from gnomon.codegen.kernels.transfer import transfer_code
from gnomon.compiler import pipeline, target
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import constant, elementwise
from gnomon.ops.layouts import from_local, to_local
from gnomon.ops.linalg import linear
from gnomon.ops.placements import Split
from gnomon.ops.primitives import reduce
from gnomon.program.kernel import Kernel
from gnomon.program.virtual_clock import Timeline, timeline
from tests.gradients import gradients

pytestmark = pytest.mark.unit


def call(name: str) -> Kernel:
    """A call that computes."""
    return Kernel(name, transfer_code("start"), (), 0, None, (), 0)


def moved(name: str, number: int) -> Kernel:
    """A call that starts a transfer, or waits for it."""
    code = transfer_code("start")
    return Kernel(name, code, (), 0, None, (), 0, mesh="a", numbers=(0, 8, number, 0))


def test_stalls_are_exact():
    parts = [call("a"), moved("t", 0), call("b"), moved("t.wait", 0), call("c")]
    seconds = {"a": 1.0, "t": 5.0, "b": 2.0, "c": 1.0}

    found = timeline(parts, lambda k: seconds[k.name])

    assert found.makespan == 7.0
    assert (found.sum("kernel"), found.sum("stall"), found.sum("transfer")) == (4.0, 3.0, 5.0)


def test_transfers_follow_each_other_on_the_wire():
    parts = [moved("s", 0), moved("t", 2), moved("s.wait", 0), moved("t.wait", 2)]

    found = timeline(parts, lambda k: 2.0)

    assert found.makespan == 4.0


def test_a_transfer_that_is_done_stalls_nobody():
    parts = [moved("t", 0), call("a"), moved("t.wait", 0)]

    found = timeline(parts, lambda k: 3.0 if k.name == "a" else 1.0)

    assert (found.makespan, found.sum("stall")) == (3.0, 0.0)


LAYERS, WIDTH = 12, 256


def step(rows: int) -> Graph:
    """The gradients of twelve layers, rows spread over two ranks."""
    arena, layout = Arena(), (("data", 2, Split(0)),)
    x = arena.input((rows, WIDTH), float32, "x")
    weights = [arena.input((WIDTH, WIDTH), float32, f"w{k}") for k in range(LAYERS)]
    y = from_local(to_local(x, layout), layout)
    for weight in weights:
        y = elementwise("tanh", linear(y, weight))
    loss = reduce("add", y * y, (0, 1))
    found = gradients(loss, constant(arena, 1.0, float32), weights)
    fresh = [w - g * 0.1 for w, g in zip(weights, found, strict=True)]
    return Graph([x, *weights], [loss, *fresh])


def run(rows: int) -> Timeline:
    """A step on the model's own processor and network."""
    return timeline(pipeline.kernels_of(step(rows), target.context()).parts)


@pytest.mark.parametrize("rows", [512, 1024])
def test_a_data_parallel_step_hides_its_transfers(rows: int):
    found = run(rows)

    longer = max(found.sum("kernel"), found.sum("transfer"))
    assert found.sum("transfer") > 0.2 * found.sum("kernel")
    assert found.makespan <= 1.1 * longer


def test_in_the_order_of_the_program_it_takes_longer(monkeypatch):
    ours = run(256)
    monkeypatch.setattr("gnomon.program.reductions.overlapped", lambda works: range(len(works)))

    assert run(256).makespan > 1.4 * ours.makespan
