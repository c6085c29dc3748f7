"""Every row of the table on every backend: what works gives numpy's values, all else is refused."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.dtypes import ALL
from gnomon.errors import CollectiveError
from gnomon.ops.group_folds import FOLDS, refusal_of
from gnomon.runtime.comm.base import Backend
from gnomon.runtime.comm.capabilities import FOLDING, MOVING, table_of
from gnomon.runtime.comm.fake import FakeBackend
from gnomon.runtime.comm.mpi import MpiBackend
from gnomon.runtime.comm.node import NodeBackend
from gnomon.runtime.comm.tcp import TcpBackend
from gnomon.runtime.comm.threads import ThreadBackend
from tests.distributed.conformance import failures, refused, rows
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads


def narrow(rank: int, ranks: int) -> list[str]:
    """The rows of four dtypes that give something else."""
    return failures(rank, ranks, narrow=True)


def test_threads_give_what_numpy_gives():
    assert on_threads(failures, 2) == [[], []]


def test_three_ranks_give_what_numpy_gives():
    assert on_threads(narrow, 3) == [[], [], []]


def test_processes_give_what_numpy_gives():
    assert on_mpi(narrow, 2) == [[], []]


def test_a_rank_without_others_has_every_shape_of_them():
    dist.init_process_group("fake", world_size=4, rank=2)
    try:
        for row in rows():
            if "float32" not in row.name:
                continue
            made, expected = row.do(2, 4), row.expected(2, 4)
            assert [tuple(x.shape) for x in made] == [x.shape for x in expected], row.name
    finally:
        dist.destroy_process_group()


BACKENDS = [ThreadBackend, MpiBackend, TcpBackend, NodeBackend, FakeBackend]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_table_and_the_kit_agree_both_ways(backend: type[Backend]):
    table = table_of(backend.native)
    unsupported = {key for key, (how, _) in table.items() if how == "unsupported"}
    expected = {(name, t.name, op.name) for _, t, op, _ in refused() for name in FOLDING}

    assert unsupported == expected
    assert {key[0] for key in table} == {*MOVING, *FOLDING}
    assert {key[1] for key in table} == {dtype.name for dtype in ALL}


def test_all_that_a_captured_function_cannot_do_is_told_before_it_runs():
    ran = []

    def refuses(rank: int, ranks: int) -> str:
        @gn.compile
        def step(x: gn.Tensor, y: gn.Tensor) -> gn.Tensor:
            dist.all_reduce(x, dist.ReduceOp.BAND)
            dist.all_reduce(y, dist.ReduceOp.AVG)
            ran.append(rank)
            return x

        with pytest.raises(CollectiveError) as told:
            step(gn.ones(2), gn.ones(2, dtype=gn.int64))
        return str(told.value)

    first, second = on_threads(refuses, 2)

    assert first == second
    assert [line.partition("   [")[0] for line in first.splitlines()] == [
        "all_reduce: threads: ReduceOp.BAND of float32: bits are of integers and bools. "
        "Use SUM, MIN or MAX.",
        "all_reduce: threads: ReduceOp.AVG of int64: averages and factors are of floats. Use SUM.",
    ]
    assert all("test_conformance.py:" in line for line in first.splitlines())


def test_what_is_refused_has_a_reason_for_each_fold_and_dtype():
    assert {bool(refusal_of(op, dtype)) for op in FOLDS.values() for dtype in ALL} == {True, False}
