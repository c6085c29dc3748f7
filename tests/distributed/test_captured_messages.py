"""Messages in compiled steps: rings, halos and pipelines give the bits that they give eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads

MANY = 140
"""Messages of one batch between two ranks: more than travel in one round."""


def halo(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """Three steps of smoothing rows whose neighbours other ranks hold."""
    for _ in range(3):
        above, below, ops = gn.zeros_like(x[0]), gn.zeros_like(x[0]), []
        if rank > 0:
            ops += [dist.P2POp(dist.isend, x[0], rank - 1), dist.P2POp(dist.irecv, above, rank - 1)]
        if rank < ranks - 1:
            ops += [dist.P2POp(dist.isend, x[-1], rank + 1)]
            ops += [dist.P2POp(dist.irecv, below, rank + 1)]
        dist.batch_isend_irecv(ops).wait_all()
        rows = gn.cat([above[None], x, below[None]])
        x = (rows[:-2] + rows[1:-1] + rows[2:]) / 3
    return x


def shifts(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """Exchange, compute, exchange again into the same tensor, compute: each reads its own."""
    came, total = gn.zeros_like(x), x
    for step in range(1, 3):
        right, left = (rank + step) % ranks, (rank - step) % ranks
        ops = [dist.P2POp(dist.isend, x * step, right), dist.P2POp(dist.irecv, came, left)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        total = total + came * step
    return total


def pipeline(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """One forward, one backward: a middle stage sends and receives both ways at once."""
    first, last, micro = rank == 0, rank == ranks - 1, 4
    grads, done = [], gn.zeros_like(x[0])
    warm = min(ranks - rank - 1, micro)
    kept: list[gn.Tensor] = []

    def trade(send: list, receive: list) -> list[gn.Tensor]:
        made = [gn.zeros_like(x[0]) for _ in receive]
        ops = [dist.P2POp(dist.isend, value, peer) for value, peer in send]
        ops += [dist.P2POp(dist.irecv, each, k) for each, k in zip(made, receive, strict=True)]
        dist.batch_isend_irecv(ops).wait_all()
        return made

    def begin(k: int) -> gn.Tensor:
        given = x[k] if first else trade([], [rank - 1])[0]
        kept.append((given * (rank + 2)).sin())
        return kept[-1]

    for k in range(warm):
        trade([(begin(k), rank + 1)], [])
    for k in range(micro):
        later = begin(warm + k) if warm + k < micro else None
        sends = [] if last or later is None else [(later, rank + 1)]
        back = trade(sends, [] if last else [rank + 1])
        gradient = (kept[k] if last else back[0]) * (rank + 1)
        grads.append(gradient)
        if not first:
            trade([(gradient, rank - 1)], [])
    for gradient in grads:
        done = done + gradient
    return done


def crowd(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """Many messages between neighbours in one batch, some of them empty, some to itself."""
    made = [gn.zeros(k % 3) for k in range(MANY)]
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    row, own = x.ravel(), gn.zeros(2)
    ops = [dist.P2POp(dist.isend, row[k % 5 : k % 5 + k % 3], right) for k in range(MANY)]
    ops += [dist.P2POp(dist.irecv, each, left) for each in made]
    ops += [dist.P2POp(dist.isend, row[:2], rank), dist.P2POp(dist.irecv, own, rank)]
    dist.batch_isend_irecv(ops).wait_all()
    return gn.cat([*made, own])


def both(rank: int, ranks: int) -> list:
    """What each gives on this rank, eager and compiled."""
    found = []
    for work in (halo, shifts, pipeline, crowd):
        x = (gn.arange(24.0) + 100 * rank).sin().reshape(4, 6)
        compiled = gn.compile(lambda x, work=work: work(x, rank, ranks))
        eager = work(x, rank, ranks).tolist()
        found.append([eager, compiled(x).tolist() == eager, compiled(x).tolist() == eager])
    return found


@pytest.fixture(scope="module")
def found() -> list:
    """What three threads have."""
    return on_threads(both, 3)


def test_compiled_messages_bring_the_bits_of_eager_ones(found: list):
    assert all(row[1:] == [True, True] for rank in found for row in rank)


def test_processes_bring_the_bits_of_threads(found: list):
    assert on_mpi(both, 3) == found


def test_identical_sends_are_two():
    def twice(rank: int, ranks: int) -> list[float]:
        @gn.compile
        def step(x: gn.Tensor) -> gn.Tensor:
            first, second = gn.zeros(2), gn.zeros(2)
            if rank == 0:
                dist.send(x, 1)
                dist.send(x, 1)
                return x
            dist.recv(first, 0)
            dist.recv(second, 0)
            return first + second

        return step(gn.ones(2)).tolist()

    assert on_threads(twice, 2) == [[1.0, 1.0], [2.0, 2.0]]


def test_sizes_from_data_that_differ_between_ranks():
    def run(rank: int, ranks: int) -> list[Any]:
        def kept(x: gn.Tensor) -> gn.Tensor:
            total = dist.functional.all_reduce(x)
            rows = total[total[:, 0] > 0]  # the same on all ranks
            own = x[x[:, 0] > 0]  # others on each
            return own.sum() + rows.sum() * own.shape[0]

        compiled, found = gn.compile(kept), []
        for k in range(8):
            x = gn.from_numpy(np.random.default_rng(10 * k + rank).standard_normal((9, 2)))
            if rank:
                x = x.abs() + 10  # sizes that this rank has met, and the other not
            found.append((compiled(x).item(), kept(x).item()))
        return found

    for found in on_threads(run, 2):
        assert all(one == other for one, other in found)
