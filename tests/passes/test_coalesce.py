"""Units: one message gathers a unit's parameters in each pass, one scatters its gradients."""

from __future__ import annotations

from collections import Counter

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import Site, inherit, phase
from gnomon.ops.layouts import MeshLayout, Unit, from_local, place, to_local
from gnomon.ops.linalg import linear
from gnomon.ops.placements import Split
from gnomon.ops.primitives import reduce
from gnomon.passes.divide import divide
from tests.gradients import gradients
from tests.graphs import seed_of

pytestmark = pytest.mark.unit

LAYERS, WIDTH, RANKS = 3, 8, 2
ROWS: MeshLayout = (("shard", RANKS, Split(0)),)
FORWARD, BACKWARD = Site("model.py", 1, "f"), Site("model.py", 1, "f", phase="backward")


def step(layers: int = LAYERS) -> Graph:
    """Layers of a weight and a bias, and the gradients of both, in parts."""
    arena = Arena()
    x = arena.input((4, WIDTH), float32, "x")
    given: list[Node] = []
    whole: list[Node] = []
    with inherit((FORWARD,)):
        y = place(x, ROWS, stays=True)
        for layer in range(layers):
            given += [
                arena.input((WIDTH // RANKS, WIDTH), float32, "w"),
                arena.input((WIDTH // RANKS,), float32, "b"),
            ]
            w, b = (from_local(part, ROWS, (), Unit(layer)) for part in given[-2:])
            whole += [w, b]
            y = linear(y, w, b)
        loss = reduce("add", y * y, (0, 1))
    with phase("backward"), inherit((BACKWARD,)):
        found = gradients(loss, seed_of(loss), whole)
    parts = [to_local(g, ROWS, Unit(k // 2)) for k, g in enumerate(found)]
    return Graph([x, *given], [loss, *parts])


def units(graph: Graph, op: str) -> Counter[tuple]:
    """How often a unit's parameters are moved, and for which pass."""
    moves = [x for x in graph if x.op == op and "unit" in x.params]
    return Counter((x.params["unit"].number, x.params.get("phase", "")) for x in moves)


def test_a_unit_is_gathered_once_for_each_pass_that_reads_it():
    local = divide(step())

    # the first layer's weight has no reader in the backward pass: nobody wants the slope of x
    late = {(k, "backward"): 1 for k in range(1, LAYERS)}
    assert units(local, "all_gather") == {(k, "forward"): 1 for k in range(LAYERS)} | late


def test_gradients_of_a_unit_are_scattered_in_one_message():
    local = divide(step())

    scattered = [x for x in local if x.op == "reduce_scatter"]
    assert len(scattered) == LAYERS
    assert {x.shape for x in scattered} == {(1, (WIDTH * WIDTH + WIDTH) // RANKS)}


def test_no_activation_is_sent():
    local = divide(step())

    sizes = {x.inputs[0].size for x in local if x.op in ("all_gather", "all_to_all")}
    assert sizes <= {WIDTH * WIDTH // RANKS, (WIDTH * WIDTH + WIDTH) // RANKS}
