"""Collectives take complex tensors, and refuse folds that are not those of both parts."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.errors import DtypeError
from tests.distributed.on_threads import on_threads


def test_complex_tensors_are_folded_moved_and_gathered():
    def work(rank: int, ranks: int) -> None:
        x = gn.tensor([1 + 2j, 3 - 1j]) * (rank + 1)
        total = x.clone()
        dist.all_reduce(total)
        assert total.tolist() == [3 + 6j, 9 - 3j]
        dist.all_reduce(total, dist.ReduceOp.AVG)
        assert total.tolist() == [3 + 6j, 9 - 3j]
        rows = [gn.zeros(2, dtype=gn.complex64) for _ in range(2)]
        dist.all_gather(rows, x)
        assert [row.tolist() for row in rows] == [[1 + 2j, 3 - 1j], [2 + 4j, 6 - 2j]]
        dist.broadcast(x, src=1)
        assert x.tolist() == [2 + 4j, 6 - 2j]
        other = gn.zeros(2, dtype=gn.complex64)
        works = [dist.isend(x * 1j, 1 - rank), dist.irecv(other, 1 - rank)]
        for each in works:
            each.wait()
        assert other.tolist() == [-4 + 2j, 2 + 6j]
        made = dist.functional.all_gather_single(x.reshape(1, 2), -2)
        assert made.tolist() == [[2 + 4j, 6 - 2j]] * 2
        with pytest.raises(DtypeError, match=r"all_reduce: complex numbers have no fold MAX"):
            dist.all_reduce(x, dist.ReduceOp.MAX)
        with pytest.raises(DtypeError, match=r"all_reduce: complex numbers have no fold PRODUCT"):
            dist.functional.all_reduce(x, "product")

    on_threads(work, 2)
