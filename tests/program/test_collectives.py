"""Where transfers start and where they are waited for."""

from __future__ import annotations

import pytest

from gnomon.compiler import pipeline, target
from gnomon.dtypes import bool_, float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.collectives import all_gather, all_reduce
from gnomon.program.blocks import ControlCall
from gnomon.program.collectives import FIRST, calls_by_value, is_transfer
from gnomon.program.kernel import Kernel

pytestmark = pytest.mark.unit


def parts_of(*outputs: Node, inputs: tuple[Node, ...]) -> list[Kernel]:
    """The calls of a program, in order."""
    return list(pipeline.kernels_of(Graph(inputs, outputs), target.context()).kernels())


def names(parts: list[Kernel]) -> list[str]:
    """Their names, those of computing calls alike."""
    return [k.name if is_transfer(k) else "compute" for k in parts]


def test_a_transfer_starts_with_its_operand_and_ends_with_its_first_reader():
    arena = Arena()
    x, w = arena.input((64, 64), float32, "x"), arena.input((64, 64), float32, "w")
    sums = all_reduce(x, "a", 2)
    product = arena.node("contract", (w, w), spec="ab,bc->ac", leaves=(1,), dtype=float32)

    parts = parts_of(product, sums * product, inputs=(x, w))

    assert names(parts) == [
        *("all_reduce", "compute", "all_reduce.wait", "compute"),
    ]


def test_what_a_transfer_brings_may_be_sent_on():
    arena = Arena()
    x = arena.input((4,), float32, "x")

    parts = parts_of(all_gather(all_gather(x, 0, "a", 2), 0, "b", 2), inputs=(x,))

    assert names(parts) == [
        *("all_gather", "all_gather.wait", "all_gather", "all_gather.wait"),
    ]
    assert [k.mesh for k in parts] == ["a", "a", "b", "b"]


def test_both_calls_of_a_transfer_have_its_own_number():
    arena = Arena()
    x, y = arena.input((4,), float32, "x"), arena.input((4,), float32, "y")

    parts = parts_of(all_gather(x, 0, "a", 2), all_gather(y, 0, "a", 2), inputs=(x, y))

    numbers = [k.numbers[FIRST] for k in parts]
    assert sorted(numbers) == [0, 0, 2, 2]
    assert names(parts)[:2] == ["all_gather"] * 2


def gathering() -> Graph:
    """A graph with a transfer."""
    arena = Arena()
    x = arena.input((4,), float32, "x")
    return Graph([x], [all_gather(x, 0, "a", 2)])


def test_what_is_under_way_when_a_choice_begins_has_numbers_that_are_not_those_inside():
    arena = Arena()
    x, y = arena.input((4,), float32, "x"), arena.input((4,), float32, "y")
    truth = arena.input((), bool_, "truth")
    branches = {"then": gathering(), "other": gathering()}
    chosen = arena.node("cond", (truth, x), **branches, index=0)
    brought = all_gather(y, 0, "b", 2)
    graph = Graph((truth, x, y), [brought * chosen])

    parts = pipeline.kernels_of(graph, target.context()).parts

    inside = {
        k.numbers[FIRST] for part in parts if isinstance(part, ControlCall) for k in part.kernels()
    }
    outside = {part.numbers[FIRST] for part in parts if is_transfer(part)}
    assert inside
    assert outside
    assert not inside & outside


def test_calls_are_found_by_the_values_that_they_touch_and_make():
    arena = Arena()
    x = arena.input((64, 64), float32, "x")
    sums = all_reduce(x, "a", 2)
    parts = parts_of(sums * x, inputs=(x,))

    touched, made = calls_by_value(parts)

    assert all(list(places) == sorted(places) for places in (*touched.values(), *made.values()))
    for k, part in enumerate(parts):
        assert all(k in touched[value] for value in part.buffers)
        assert all(k in made[value] for value in part.buffers[: part.outputs])
