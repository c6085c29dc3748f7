"""Ranks as threads: what every collective gives, on every axis of a mesh, and what failure says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import connect, run_ranks
from gnomon.dtypes import dtype_of, float32
from gnomon.errors import CollectiveError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.collectives import (
    all_gather,
    all_reduce,
    all_to_all,
    permute_ranks,
    reduce_scatter,
)
from gnomon.passes import lower_collectives
from gnomon.runtime.comm import here
from gnomon.runtime.comm.threads import World
from tests.distributed.rank_programs import compiled

pytestmark = pytest.mark.unit

Axes = tuple[tuple[str, int], ...]
DATA2: Axes = (("data", 2),)


def on_all(
    axes: Axes, do: Callable[..., Node], given: Callable[[int], np.ndarray], patience: float = 60.0
) -> list[np.ndarray]:
    """What a collective of each rank's array gives on every rank."""

    def work(rank: int) -> np.ndarray:
        x = Arena().input(given(rank).shape, dtype_of(given(rank).dtype), "x")
        (made,) = compiled(Graph([x], [do(x)]), [given(rank)])
        return made

    return run_ranks(DeviceMesh.of(axes), work, patience)


def number(rank: int) -> np.ndarray:
    """An array that tells which rank made it."""
    return np.array([rank * 10.0, rank * 10.0 + 1], np.float32)


def test_all_reduce_sums_along_one_axis_only():
    made = on_all((*DATA2, ("tensor", 2)), lambda x: all_reduce(x, "data", 2), number)

    assert [x.tolist() for x in made] == [[20, 22], [40, 42], [20, 22], [40, 42]]


@pytest.mark.parametrize("size", [1, 4, 6, 40_000])
def test_a_sum_over_ranks_is_a_tree_of_neighbours_on_every_rank(size: int):
    parts = [np.full(size, x, np.float32) for x in (1.0, 2.0**24, 3.0, -(2.0**24))]

    made = on_all((("a", 4),), lambda x: all_reduce(x, "a", 4), parts.__getitem__)

    expected = (parts[0] + parts[1]) + (parts[2] + parts[3])
    assert expected[0] != (parts[0] + parts[1] + parts[2] + parts[3])[0]
    assert [x.tobytes() for x in made] == [expected.tobytes()] * 4


@pytest.mark.parametrize("shape", [(), (3, 1), (0,), (5, 0)])
def test_all_reduce_takes_any_size(shape: Sequence[int]):
    made = on_all(
        (("data", 4),),
        lambda x: all_reduce(x, "data", 4),
        lambda rank: np.full(shape, rank, np.int64),
    )

    assert all(np.array_equal(x, np.full(shape, 6)) for x in made)


@pytest.mark.parametrize("small", [0, 1 << 30])
def test_whole_messages_and_stretches_give_the_same_bits(small: int, monkeypatch, rng):
    monkeypatch.setattr(lower_collectives, "SMALL", small)
    parts = rng.standard_normal((4, 8, 6)).astype(np.float32)

    made = on_all((("a", 4),), lambda x: all_reduce(x, "a", 4), parts.__getitem__)

    assert made[0].tobytes() == ((parts[0] + parts[1]) + (parts[2] + parts[3])).tobytes()


@pytest.mark.parametrize("monoid", ["max", "min"])
def test_other_folds(monoid: str, rng: np.random.Generator):
    parts = rng.standard_normal((3, 5)).astype(np.float32)

    made = on_all((("a", 3),), lambda x: all_reduce(x, "a", 3, monoid), parts.__getitem__)

    assert made[2].tolist() == getattr(np, monoid)(parts, axis=0).tolist()


@pytest.mark.parametrize(("monoid", "fold"), [("and", np.all), ("or", np.any)])
def test_folds_of_truth_values(monoid: str, fold: Callable):
    parts = np.array([[True, True, False, False], [True, False, True, False]])

    made = on_all((("a", 2),), lambda x: all_reduce(x, "a", 2, monoid), parts.__getitem__)

    assert made[0].tolist() == fold(parts, axis=0).tolist()


def test_all_gather_is_in_rank_order():
    made = on_all((("a", 3),), lambda x: all_gather(x, 0, "a", 3), number)

    assert [x.tolist() for x in made] == [[0, 1, 10, 11, 20, 21]] * 3


def test_reduce_scatter_gives_each_rank_its_part_of_the_sum():
    made = on_all((("a", 2),), lambda x: reduce_scatter(x, 0, "a", 2), number)

    assert [x.tolist() for x in made] == [[10], [12]]


def test_all_to_all_turns_a_split_of_one_axis_into_a_split_of_another():
    whole = np.arange(16).reshape(4, 4)

    made = on_all(
        (("a", 2),),
        lambda x: all_to_all(x, 1, 0, "a", 2),
        lambda rank: np.split(whole, 2, 0)[rank],
    )

    assert np.array_equal(np.concatenate(made, 1), whole)


def test_permute_ranks_goes_around_the_ring():
    made = on_all((("a", 3),), lambda x: permute_ranks(x, 1, "a", 3), number)

    assert [x[0] for x in made] == [20, 0, 10]


def test_a_missing_rank_is_reported_with_what_to_look_for():
    x = Arena().input((1,), float32, "x")

    def work(rank: int) -> None:
        if rank == 0:
            compiled(Graph([x], [all_gather(x, 0, "data", 2)]), [np.zeros(1, np.float32)])

    with pytest.raises(CollectiveError, match="no answer along mesh axis 'data' within"):
        run_ranks(DeviceMesh.of(DATA2), work, patience=0.05)


def test_a_rank_that_failed_is_named():
    world = World(2)
    world.fail(1, ValueError("out of paper"))
    x = Arena().input((1,), float32, "x")

    with (
        here.along(connect(DeviceMesh.of(DATA2), world.backend(0))),
        pytest.raises(CollectiveError, match="rank 1 failed: ValueError: out of paper"),
    ):
        compiled(Graph([x], [all_gather(x, 0, "data", 2)]), [np.zeros(1, np.float32)])
