"""Scatter in canonical order: slots per leaf, letters nested, whatever the threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.compiler import target
from gnomon.compiler.target import machine
from gnomon.dtypes import DType, bfloat16, float16, float32, float64, int32, int64, uint8
from gnomon.errors import IndexOutOfBounds
from gnomon.ir.node import Arena, Graph
from gnomon.ops.lookup_primitives import scatter
from tests.compiled import execute, program, run, threads
from tests.oracle.graphs import exact
from tests.strategies import same_bits


def scattered(
    spec: str, values: np.ndarray, index: np.ndarray, size: int, monoid: str = "add"
) -> tuple[Graph, list[np.ndarray]]:
    """A graph of one scatter and what it reads."""
    arena = Arena()
    leaves = [arena.input(values.shape, float32), arena.input(index.shape, int64)]
    arrays = [values.astype(np.float32), index]
    return Graph(leaves, [scatter(monoid, spec, *leaves, size)]), arrays


SPECS = {
    "rows": ("bd,b->vd", (96, 20), 7),
    "rows and tokens": ("btd,bt->vd", (12, 256, 5), 9),
    "tokens of each row": ("btd,bt->bvd", (3, 33, 5), 4),
    "no free axis": ("bt,bt->v", (4, 70), 5),
    "another layout": ("dtb,bt->dv", (33, 7, 4), 9),
    "few rows of many": ("bd,b->vd", (24, 20), 40),
    "more free than a block": ("bd,b->vd", (5, 130), 3),
}


@pytest.mark.parametrize("name", SPECS)
def test_every_layout_has_the_bits_of_the_oracle(name: str, rng: np.random.Generator):
    spec, shape, size = SPECS[name]
    own, names = spec.split("->")[0].split(",")
    index = rng.integers(0, size, [shape[own.index(c)] for c in names])
    graph, arrays = scattered(spec, rng.normal(size=shape), index, size)
    expected = exact(graph, arrays)[0]

    for count in (1, 2, 3):
        with threads(count):
            assert same_bits(run(graph, arrays)[0], expected)


@pytest.mark.parametrize("free", [16, 80])
def test_what_is_larger_than_the_caches_is_written_past_them(
    free: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
):
    index = rng.integers(0, 9, 40)
    graph, arrays = scattered("bd,b->vd", rng.normal(size=(40, free)), index, 12)
    near = replace(machine(), last=12 * 4 * free - 1)
    monkeypatch.setattr(target, "machine_of", lambda _: near)

    made = program(graph)

    assert "nontemporal" in made.kernels[0].code.text
    assert same_bits(execute(made, graph, arrays)[0], exact(graph, arrays)[0])


def test_leaves_meet_as_in_the_whole_tree(rng: np.random.Generator):
    for _ in range(20):
        shape, size = (int(rng.choice([8, 16, 96])), int(rng.choice([3, 128, 512]))), 5
        index = rng.integers(0, size, shape)
        # most leaves of most places are empty
        values = np.where(rng.random(shape) < 0.1, index, size)
        graph, arrays = scattered("bt,bt->v", rng.normal(size=shape), values, size + 1)

        assert same_bits(run(graph, arrays)[0], exact(graph, arrays)[0])


@pytest.mark.parametrize("dtype", [float64, bfloat16, float16, int32, uint8])
def test_narrow_sums_are_rounded_once(dtype: DType, rng: np.random.Generator):
    arena = Arena()
    leaves = [arena.input((200,), dtype), arena.input((200,), int64)]
    graph = Graph(leaves, [scatter("add", "a,a->z", *leaves, 3)])
    arrays = [(rng.random(200) * 9).astype(dtype.numpy), rng.integers(0, 3, 200)]

    (found,) = run(graph, arrays)

    assert same_bits(found, exact(graph, arrays)[0])
    if dtype.is_floating_point:
        true = np.bincount(arrays[1], arrays[0].astype(np.float64))
        assert same_bits(found, true.astype(np.float32).astype(dtype.numpy)) or dtype is float64


@pytest.mark.parametrize("monoid", ["max", "min", "mul"])
def test_other_monoids(monoid: str, rng: np.random.Generator):
    graph, arrays = scattered(
        "bd,b->vd", rng.normal(size=(20, 5)), rng.integers(0, 4, 20), 6, monoid
    )

    assert same_bits(run(graph, arrays)[0], exact(graph, arrays)[0])


def test_a_place_that_nothing_reaches_holds_plus_zero():
    graph, arrays = scattered("a,a->z", np.array([-0.0, -0.0]), np.array([1, 1]), 3)

    (found,) = run(graph, arrays)

    assert not np.signbit(found).any()


def test_order_of_occurrences_is_theirs():
    values = np.array([1e8, 1, -1e8, 1])
    graph, arrays = scattered("a,a->z", values, np.zeros(4, np.int64), 1)

    # rows: four leaves of one, (1e8 + 1) + (-1e8 + 1)
    assert run(graph, arrays)[0].tolist() == [np.float32(1e8 + 1) + np.float32(-1e8 + 1)]


@pytest.mark.parametrize("position", [-1, 3, 2**40])
def test_a_position_outside_the_axis_is_an_error_that_names_the_line(position: int):
    graph, arrays = scattered("bd,b->vd", np.ones((2, 4)), np.array([1, position]), 3)

    with pytest.raises(IndexOutOfBounds, match=r"outside its axis.*test_scatter\.py"):
        run(graph, arrays)
