"""Collectives that go on by themselves: in any number, dropped, waited for in any order."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import monotonic

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.errors import CollectiveError
from gnomon.runtime.comm.base import KINDS, Transfer
from gnomon.runtime.comm.groups import membership
from gnomon.runtime.comm.posted import DIGEST
from gnomon.runtime.comm.slow import SlowWorld, Wire
from gnomon.runtime.comm.threads import ThreadLink
from gnomon.tensor.works import Future, collect_all, wait_all
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads

Ends = Callable[[list], None]


def every(rank: int, ranks: int, asynchronous: bool, end: Ends) -> list[list[float]]:
    """All collectives, of values whose strides differ, and what each gave."""
    x = (gn.arange(24.0) + 10 * rank).sin().reshape(4, 6)
    summed, mean, top = x.clone(), x[:, 1:4].clone(), x.clone()
    rows, part = gn.zeros(4 * ranks, 6), gn.zeros(24 // ranks)
    listed = [gn.zeros(4, 6) for _ in range(ranks)]
    spread, traded, root = x * 2, gn.zeros(24), x * 3
    made = [summed, mean, top, rows, part, *listed, spread, traded, root]
    calls = [
        lambda how: dist.all_reduce(summed, async_op=how),
        lambda how: dist.all_reduce(mean, dist.ReduceOp.AVG, async_op=how),
        lambda how: dist.all_reduce(top, dist.ReduceOp.PREMUL_SUM(0.5), async_op=how),
        lambda how: dist.all_gather_single(rows, x, async_op=how),
        lambda how: dist.all_gather(listed, x, async_op=how),
        lambda how: dist.reduce_scatter_single(part, x.T, async_op=how),
        lambda how: dist.broadcast(spread, 1, async_op=how),
        lambda how: dist.all_to_all_single(traded, x.ravel(), async_op=how),
        lambda how: dist.reduce(root, 1, async_op=how),
        lambda how: dist.barrier(async_op=how),
    ]
    works = [call(asynchronous) for call in calls]
    x *= 0  # what was sent is what x was
    if asynchronous:
        end(works)
    return [each.ravel().tolist() for each in made]


def backwards(works: list) -> None:
    """The last that began is waited for first."""
    for work in works[::-1]:
        assert work.wait()
        assert work.is_completed()


def asking(works: list) -> None:
    """Nobody waits: they are asked until they are done."""
    while works:
        works = [work for work in works if not work.is_completed()]


def together(rank: int, ranks: int) -> list:
    """All under way together; ranks end them in their own ways."""
    return every(rank, ranks, True, asking if rank == 0 else backwards)


def by_one(rank: int, ranks: int) -> list:
    """The same, each done at its call; where one rank waits, another need not."""
    return every(rank, ranks, rank == 2, backwards)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_what_goes_on_by_itself_has_the_bits_of_what_is_done_at_its_call(ranks: int):
    assert on_threads(together, ranks) == on_threads(by_one, ranks)


def test_processes_have_the_bits_of_threads():
    assert on_mpi(together, 2) == on_threads(together, 2)


def test_a_rank_without_others_has_its_own_part():
    dist.init_process_group("fake", world_size=2, rank=1)
    try:
        x = gn.ones(3)
        work = dist.all_reduce(x, async_op=True)
        assert x.tolist() == [1.0] * 3
        assert work.is_completed()
        assert x.tolist() == [1.0] * 3  # the other one gives zeros
    finally:
        dist.destroy_process_group()


def test_a_result_is_written_by_the_wait():
    def late(rank: int, ranks: int) -> list[list[float]]:
        x = gn.ones(2)
        work = dist.all_reduce(x, async_op=True)
        seen = x.tolist()
        dist.barrier()
        work.wait()
        return [seen, x.tolist()]

    assert on_threads(late, 2) == [[[1.0, 1.0], [2.0, 2.0]]] * 2


SECONDS = 1.0
"""How long the transfers of a slow network take, together."""


def overlapping(rank: int, world: int = 2) -> tuple[float, bool, float]:
    """Compute while two sums travel: the seconds of all, whether they were done early, a value."""
    dist.init_process_group("threads")
    x, y = gn.ones(1000), gn.ones(1000) * 2
    for each in (x, y):
        dist.all_reduce(each * 1)  # labels and programs are there
    dist.barrier()
    began = monotonic()
    works = [dist.all_reduce(each, async_op=True) for each in (x, y)]
    early = works[1].is_completed()
    a = gn.ones(64, 64)
    while monotonic() < began + 0.8 * SECONDS:
        (a @ a).sum().item()
    works[1].wait()
    works[0].wait()
    took = monotonic() - began
    dist.destroy_process_group()
    return took, early, (x + y)[0].item()


@pytest.mark.long
def test_what_is_computed_between_start_and_wait_hides_a_slow_transfer():
    world = SlowWorld(2, Wire(bandwidth=8000 / SECONDS, latency=0.0))
    found = run_ranks(DeviceMesh.of({"all": 2}), overlapping, world=world)

    for took, early, value in found:
        assert value == 6.0
        assert not early
        assert SECONDS <= took < 1.5 * SECONDS  # one after the other would take 1.8


def test_transfers_start_at_the_call_in_program_order(monkeypatch: pytest.MonkeyPatch):
    started: dict[int, list[tuple[str, int]]] = {0: [], 1: []}
    start = ThreadLink.start

    def noted(self: ThreadLink, transfer: Transfer) -> None:
        started[self.place].append((KINDS[transfer.kind], transfer.nbytes))
        start(self, transfer)

    monkeypatch.setattr(ThreadLink, "start", noted)

    def work(rank: int, ranks: int) -> list[tuple[str, int]]:
        for _ in range(2):  # labels travel the first time only
            started[rank].clear()
            whole, part = gn.zeros(4), gn.zeros(3)
            works = [
                dist.all_gather_single(whole, gn.ones(2), async_op=True),
                dist.all_reduce(gn.ones(5), async_op=True),
                dist.reduce_scatter_single(part, gn.ones(6), async_op=True),
            ]
            seen = list(started[rank])
            for each in works if rank else works[::-1]:
                each.wait()
        return seen

    digest = ("gather", DIGEST)
    pairs = [digest, ("gather", 8), digest, ("gather", 20), digest, ("exchange", 12)]
    assert on_threads(work, 2) == [pairs] * 2


def dropped(rank: int, ranks: int) -> list[float]:
    """Begin many that nobody waits for, of memory that is used again at once."""
    group = dist.new_group([0, 1])
    for k in range(40):
        dist.all_reduce(gn.ones(5000) * k, async_op=True, group=group)
        if rank == 0:
            dist.isend(gn.ones(70_000), 1, group=group)
        else:
            dist.irecv(gn.zeros(70_000), 0, group=group)
        gc.collect(0)
    x = gn.ones(3)
    dist.all_reduce(x, group=group)
    dist.destroy_process_group(group)
    dist.all_reduce(x)
    return x.tolist()


def test_what_is_dropped_unwaited_harms_nothing():
    assert on_threads(dropped, 2) == on_mpi(dropped, 2) == [[4.0] * 3] * 2


def test_what_is_let_go_is_forgotten_by_its_group():
    def work(rank: int, ranks: int) -> bool:
        link = dist.new_group([0, 1]).link
        for _ in range(100):  # after a barrier all that was begun is there to be let go
            dist.all_reduce(gn.ones(3), async_op=True, group=membership().groups["group 1"])
            dist.barrier()
        return len(link._due) <= len(link.under_way) < 20

    assert on_threads(work, 2) == [True, True]


def test_a_profile_shows_what_was_under_way_and_for_how_long():
    dist.init_process_group("fake", world_size=2, rank=0)
    try:
        with gn.profiler.profile() as profile:
            dist.all_reduce(gn.ones(8))
    finally:
        dist.destroy_process_group()
    (found,) = [each for each in profile.data.events if each.kind == "comm"]

    assert (found.name, found.nbytes) == ("all_reduce along world", 32)
    assert found.args["group"] == "0, 1"
    assert 0 <= found.args["waited"] <= found.end - found.start
    assert [(line.phase, line.file.endswith("test_works.py")) for line in found.lines] == [
        ("comm", True)
    ]


def test_a_large_sum_of_many_ranks_is_done_at_its_call():
    def work(rank: int, ranks: int) -> bool:
        x = gn.ones(1 << 20)
        begun = dist.all_reduce(x, async_op=True)
        return begun.is_completed() and x[-1].item() == 3.0

    assert on_threads(work, 3) == [True] * 3


def test_ranks_that_begin_different_collectives_hear_of_both():
    def differ(rank: int, ranks: int) -> str:
        op = dist.ReduceOp.SUM if rank else dist.ReduceOp.MAX
        work = dist.all_reduce(gn.ones(4), op, async_op=True)
        with pytest.raises(CollectiveError) as told:
            work.wait()
        return str(told.value)

    first, second = on_threads(differ, 2)
    rows = first.splitlines()

    assert first == second
    assert rows[0] == "ranks 0 and 1 begin different collectives of 'world'."
    assert rows[1].startswith("  rank 0: all_reduce[max] of float32, 16 bytes, asked by ")
    assert rows[2].startswith("  rank 1: all_reduce of float32, 16 bytes, asked by ")
    assert all("test_works.py:" in row for row in rows[1:3])


def known_and_new(rank: int, ranks: int) -> str:
    """A rank's words where one rank begins what it knows, and the other what it does not."""
    group = dist.new_group([0, 1])
    dist.all_reduce(gn.ones(4), group=group)
    try:
        dist.all_reduce(gn.ones(8 if rank else 4), group=group)
    except CollectiveError as error:
        return str(error)
    return "no error"


def test_no_rank_takes_data_for_words_or_words_for_data():
    first, second = on_mpi(known_and_new, 2)

    assert first == second
    assert first.splitlines()[1].startswith("  rank 0: all_reduce of float32, 16 bytes, asked by ")
    assert first.splitlines()[2].startswith("  rank 1: all_reduce of float32, 32 bytes, asked by ")


def test_a_future_gives_its_value_to_who_waits():
    coming, seen = Future(), []
    third = coming.then(lambda future: future.value() + 1).then(lambda future: future.value() * 2)
    coming.add_done_callback(lambda future: seen.append(future.value()))
    with pytest.raises(CollectiveError, match="the value is not there"):
        coming.value()
    assert not third.done()
    coming.set_result(4)

    assert [third.wait(), third.done(), seen] == [10, True, [4]]
    assert wait_all([coming, third]) == [4, 10]
    assert [x.value() for x in collect_all([coming, third]).wait()] == [4, 10]
    with pytest.raises(CollectiveError, match="a value is there already"):
        coming.set_result(5)


def test_an_error_of_a_callback_is_raised_where_it_is_waited_for():
    coming = Future()
    broken = coming.then(lambda future: 1 // future.value())
    coming.set_result(0)

    with pytest.raises(CollectiveError, match="callback: ZeroDivisionError") as raised:
        broken.wait()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_work_gives_its_tensors_when_it_is_done():
    def work(rank: int, ranks: int) -> list:
        x = gn.ones(2) * (rank + 1)
        begun = dist.all_reduce(x, async_op=True)
        (found,) = begun.get_future().wait()
        assert found is begun.result()[0] is x
        return found.tolist()

    assert on_threads(work, 2) == [[3.0, 3.0]] * 2


def test_a_future_says_what_comes():
    coming = Future[int]()
    coming.set_result(3)

    assert type(coming) is Future
    assert coming.wait() == 3


def test_an_error_of_a_callback_keeps_nobody_else_from_the_value():
    coming, seen = Future(), []
    coming.add_done_callback(lambda: None)
    coming.add_done_callback(lambda future: seen.append(future.value()))

    with pytest.warns(UserWarning, match="Future: a callback failed: TypeError"):
        coming.set_result(5)
    assert seen == [5]


def test_an_error_of_what_follows_is_raised_where_it_is_waited_for():
    coming = Future()
    following = coming.then(lambda future: future + 1)
    coming.set_result(5)

    assert coming.wait() == 5
    with pytest.raises(CollectiveError, match="when running the callback: TypeError: unsupported"):
        following.wait()


def test_a_value_comes_once_and_none_is_no_future():
    coming = Future()
    coming.set_result(1)

    with pytest.raises(CollectiveError, match="can only be marked completed once"):
        coming.set_result(2)
    for function in (wait_all, collect_all):
        with pytest.raises(CollectiveError, match="Future can't be None"):
            function([coming, None])
