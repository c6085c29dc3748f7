"""Messages between two ranks: in order, by tags, in batches, eager and captured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.errors import ArgumentError
from gnomon.runtime.comm.base import Transfer
from gnomon.runtime.comm.threads import ThreadLink
from gnomon.tensor.collectives import MOST_AT_ONCE
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads

LARGE = 1 << 18
"""Elements of messages that no backend takes before somebody asks for them: a megabyte."""


def both_ways(rank: int, ranks: int) -> list:
    """Two ranks that both send first: fine, for a send that has begun waits for nobody."""
    other, came = 1 - rank, gn.zeros(LARGE)
    sent = dist.isend(gn.full((LARGE,), float(rank)), other)
    coming = dist.irecv(came, other)
    assert sent.wait()
    assert coming.wait()
    assert coming.is_completed()
    return [came[0].item(), came[-1].item()]


def by_tags(rank: int, ranks: int) -> list:
    """Messages that are asked for in another order than they were sent in, by their tags."""
    first, second = gn.zeros(1), gn.zeros(1)
    if rank == 0:
        dist.send(gn.ones(1), 1, tag=5)
        dist.send(gn.ones(1) * 2, 1, tag=6)
    else:
        dist.recv(second, 0, tag=6)
        assert dist.recv(first, 0, tag=5) == 0
    return [first.item(), second.item()]


def into_parts(rank: int, ranks: int) -> list:
    """Messages from a column and into a row: views of tensors."""
    x, y = gn.arange(6.0).reshape(2, 3) + 10 * rank, gn.zeros(2, 2)
    ops = [dist.P2POp(dist.irecv, y[1], 1 - rank), dist.P2POp(dist.isend, x[:, 1], 1 - rank)]
    works = dist.batch_isend_irecv(ops)
    assert len(works) == 2
    works.wait_all()
    return y.tolist()


SIZES = (0, 1, 15, 16, 17, (1 << 14) - 1, (1 << 14) + 1, (1 << 18) - 16, LARGE, 5 * LARGE + 3)


def beyond_windows(rank: int, ranks: int) -> list[int]:
    """Sizes around a line, a round and a window of shared memory, asked for in another order."""
    sent = [gn.from_numpy(content(k + rank, size)) for k, size in enumerate(SIZES)]
    works = [dist.isend(x, 1 - rank, tag=k) for k, x in enumerate(sent)]
    works.append(dist.isend(sent[-1], rank))
    came, own = [gn.zeros(size) for size in SIZES], gn.zeros(SIZES[-1])
    dist.recv(own, rank)
    for k in np.random.default_rng(rank).permutation(len(SIZES)):
        dist.recv(came[k], 1 - rank, tag=int(k))
    for work in works:
        work.wait()
    expected = [content(k + 1 - rank, size) for k, size in enumerate(SIZES)]
    pairs = zip([*came, own], [*expected, sent[-1].numpy()], strict=True)
    return [k for k, (x, y) in enumerate(pairs) if x.numpy().tobytes() != y.tobytes()]


@pytest.mark.parametrize("work", [both_ways, by_tags, into_parts, beyond_windows])
def test_messages_come_alike_on_threads_and_between_processes(work: Callable):
    expected = {
        "both_ways": [[1.0, 1.0], [0.0, 0.0]],
        "by_tags": [[0.0, 0.0], [1.0, 2.0]],
        "beyond_windows": [[], []],
        "into_parts": [[[0.0, 0.0], [11.0, 14.0]], [[0.0, 0.0], [1.0, 4.0]]],
    }

    assert on_threads(work, 2) == on_mpi(work, 2) == expected[work.__name__]


def traffic(seed: int, ranks: int, most: int) -> list[tuple[int, int, int, int]]:
    """Messages between random ranks: from, to, elements (to a MiB), tag."""
    rng = np.random.default_rng(seed)
    return [
        (
            *map(int, rng.integers(0, ranks, 2)),
            int(rng.choice([0, 1, 7, 300, 5000, LARGE], p=[0.1, 0.3, 0.3, 0.2, 0.09, 0.01])),
            int(rng.integers(0, 3)),
        )
        for _ in range(int(rng.integers(1, most)))
    ]


def content(number: int, size: int) -> np.ndarray:
    """What message `number` holds."""
    return (np.arange(size) * 31 + number).astype(np.float32)


def exchanged(rank: int, ranks: int, seed: int, most: int) -> list[int]:
    """Send and receive random messages as one batch; the numbers of those that came wrong."""
    ops, coming, order = [], [], np.random.default_rng([seed, rank])
    for number, (source, to, size, tag) in enumerate(traffic(seed, ranks, most)):
        if source == rank:
            x = gn.from_numpy(content(number, size))
            ops.append(dist.P2POp(dist.isend, x, to, tag=tag))
        if to == rank:
            coming.append((number, gn.zeros(size)))
            ops.append(dist.P2POp(dist.irecv, coming[-1][1], source, tag=tag))
    works = dist.batch_isend_irecv(ops)
    for k in order.permutation(len(works)):
        works[k].wait()
    return [k for k, x in coming if x.numpy().tobytes() != content(k, x.numel()).tobytes()]


@pytest.mark.parametrize("ranks", range(2, 10))
def test_random_traffic_arrives(ranks: int):
    for seed in range(3):
        most = 2000 if seed == 0 and ranks == 4 else 200
        assert on_threads(lambda r, n, k=seed, m=most: exchanged(r, n, k, m), ranks) == ranks * [[]]


@pytest.mark.long
@pytest.mark.parametrize("ranks", range(2, 10))
def test_two_thousand_messages_of_each_rank_arrive(ranks: int):
    for seed in range(100, 105):
        most = 1000 * ranks  # each is one rank's to send and one's to receive
        assert on_threads(lambda r, n, k=seed, m=most: exchanged(r, n, k, m), ranks) == ranks * [[]]


def test_a_large_batch_travels_in_rounds(monkeypatch: pytest.MonkeyPatch):
    most = [0, 0]
    start = ThreadLink.start

    def counted(self: ThreadLink, transfer: Transfer) -> None:
        most[self.place] = max(most[self.place], 1 + len(self.under_way))
        start(self, transfer)

    monkeypatch.setattr(ThreadLink, "start", counted)

    def crowd(rank: int, ranks: int) -> list[float]:
        came = [gn.zeros(1) for _ in range(500)]
        ops = [dist.P2POp(dist.isend, gn.ones(1) * k, 1 - rank) for k in range(500)]
        ops += [dist.P2POp(dist.irecv, x, 1 - rank) for x in came]
        dist.batch_isend_irecv(ops).wait_all()
        return [x.item() for x in came]

    assert on_threads(crowd, 2) == [[float(k) for k in range(500)]] * 2
    assert max(most) <= 2 * MOST_AT_ONCE


def some_traffic(rank: int, ranks: int) -> list[list[int]]:
    """Several batches, one of them of two thousand messages of each rank."""
    return [exchanged(rank, ranks, seed, 3000 if seed == 0 else 200) for seed in range(4)]


def test_random_traffic_arrives_between_processes():
    assert on_mpi(some_traffic, 3) == 3 * [4 * [[]]]


def test_what_is_no_message_is_refused():
    def refused(rank: int, ranks: int) -> None:
        x = gn.ones(1)
        with pytest.raises(ArgumentError, match="expected isend or irecv: got send"):
            dist.P2POp(dist.send, x, 1)
        with pytest.raises(ArgumentError, match="tag: expected 0 to 32765: got 40000"):
            dist.isend(x, 1, tag=40_000)
        with pytest.raises(ArgumentError, match="name the other rank"):
            dist.irecv(x)
        with pytest.raises(ArgumentError, match="rank 5 is none of its ranks"):
            dist.send(x, 5)

    on_threads(refused, 2)
