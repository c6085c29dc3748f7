"""Where transfers start and where they are waited for."""

from __future__ import annotations

import pytest

from gnomon.compiler import pipeline, target
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.collectives import all_gather, all_reduce
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
