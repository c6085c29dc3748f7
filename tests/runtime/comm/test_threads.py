"""Ranks as threads: what every collective gives, on every axis of a mesh, and what failure says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gnomon.errors import CollectiveError
from gnomon.runtime.comm.threads import ThreadCommunicator, World

pytestmark = pytest.mark.unit


def on_all(world: World, work):
    """work(communicator) on every rank, each in its thread."""
    with ThreadPoolExecutor(world.size) as pool:
        return list(pool.map(lambda rank: work(world.communicator(rank)), range(world.size)))


def number(comm: ThreadCommunicator) -> np.ndarray:
    """An array that tells which rank made it."""
    return np.array([comm.rank * 10.0, comm.rank * 10.0 + 1], np.float32)


def test_all_reduce_sums_along_one_axis_only():
    world = World({"data": 2, "tensor": 2})

    made = on_all(world, lambda comm: comm.all_reduce("data", [number(comm)], "add")[0].tolist())

    assert made == [[20, 22], [40, 42], [20, 22], [40, 42]]


def test_all_reduce_takes_several_arrays_of_any_size_in_one_message():
    world = World({"data": 4})

    def work(comm):
        xs = [np.float32(comm.rank), np.full((3, 1), comm.rank, np.int64), np.zeros(0)]
        return comm.all_reduce("data", [np.asarray(x) for x in xs], "add")

    for scalar, column, nothing in on_all(world, work):
        assert scalar.shape == ()
        assert (scalar, column.tolist(), nothing.size) == (6.0, [[6], [6], [6]], 0)


def test_all_gather_is_in_rank_order():
    made = on_all(World({"a": 3}), lambda comm: comm.all_gather("a", [number(comm)], [0])[0])

    assert [x.tolist() for x in made] == [[0, 1, 10, 11, 20, 21]] * 3


def test_reduce_scatter_gives_each_rank_its_part_of_the_sum():
    made = on_all(
        World({"a": 2}), lambda comm: comm.reduce_scatter("a", [number(comm)], [0], "add")[0]
    )

    assert [x.tolist() for x in made] == [[10], [12]]


def test_all_to_all_turns_a_split_of_one_axis_into_a_split_of_another():
    whole = np.arange(16).reshape(4, 4)

    def work(comm):
        rows = np.split(whole, 2, 0)[comm.rank]
        return comm.all_to_all("a", [rows], [1], [0])[0]

    made = on_all(World({"a": 2}), work)

    assert np.array_equal(np.concatenate(made, 1), whole)


def test_permute_ranks_goes_around_the_ring():
    made = on_all(World({"a": 3}), lambda comm: comm.permute_ranks("a", [number(comm)], 1)[0][0])

    assert made == [20, 0, 10]


def test_a_missing_rank_is_reported_with_what_to_look_for():
    comm = World({"data": 2}, patience=0.05).communicator(0)

    with pytest.raises(CollectiveError, match="no answer along mesh axis 'data' within"):
        comm.all_gather("data", [np.zeros(1)], [0])


def test_a_rank_that_failed_is_named():
    world = World({"data": 2})
    world.fail(1, ValueError("out of paper"))

    with pytest.raises(CollectiveError, match="rank 1 failed: ValueError: out of paper"):
        world.communicator(0).all_gather("data", [np.zeros(1)], [0])
