"""One cache for what serves many numbers: when artifacts are made, and what goes at each limit."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture import size_families, sized_captures, sized_trees
from gnomon.codegen.families import Families
from gnomon.compiler import sized
from gnomon.ir import memo, specializations
from gnomon.ir.specializations import (
    CAPTURES,
    CLUSTERS,
    GRAPHS,
    KERNELS,
    PROGRAMS,
    ArtifactFamily,
    FamilyLimits,
    LatestEntries,
    Specializations,
)
from gnomon.settings import override
from tests.codegen.test_families import emit, grown
from tests.schedule.test_shared_nests import signatures

pytestmark = pytest.mark.unit

THREADS = 4


class UpTo(NamedTuple):
    """Serves numbers up to a bound."""

    bound: int

    def serves(self, numbers: tuple[int, ...]) -> tuple[int, ...] | None:
        """The numbers, if none is greater."""
        return numbers if max(numbers) <= self.bound else None


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """What threads give that begin together; an error of one is raised here."""
    found, errors, barrier = [None] * count, list[BaseException](), threading.Barrier(count)

    def run(k: int) -> None:
        barrier.wait(20)
        try:
            found[k] = work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    for error in errors:
        raise error
    return found


# the cache


def test_the_oldest_goes():
    table = LatestEntries(2)

    assert [table.put(k, k * k) for k in (1, 2, 3)] == [[], [], [1]]
    table[2] = 5
    assert [*table.items()] == [(3, 9), (2, 5)]
    assert table.found(7, str) == "7"
    assert table.found(7, repr) is table[7]
    assert [*table] == [2, 7]


def test_threads_leave_as_many_as_are_kept():
    table, asked = LatestEntries(3), range(2000)
    gone = at_once(lambda k: [x for n in asked for x in table.put((k, n), n)])

    assert len(table) == 3
    assert len({x for each in gone for x in each}) == THREADS * len(asked) - 3


def test_the_first_that_serves_is_taken():
    family = ArtifactFamily[UpTo](FamilyLimits(enough=1, kept=3))
    for bound in (10, 100, 50):
        family.add(UpTo(bound))

    assert family.serving((3, 20)) == (UpTo(100), (3, 20))
    assert family.serving((3, 200)) is None


def test_so_many_numbers_are_enough():
    family = ArtifactFamily[UpTo](FamilyLimits(enough=3, kept=8, samples=2))
    told = []

    def make(others: list[tuple[int, ...]]) -> UpTo:
        told.append(others)
        return UpTo(5)

    for n in (7, 7, 8, 7, 9):
        assert family.served((n,), make) is None
    assert told == [[(8,), (7,)]]
    assert [*family.samples] == [(7,), (9,)]
    family.served((10,), make, enough=2)
    assert family.served((4,), make) == (UpTo(5), (4,))
    assert told[1:] == [[(7,), (9,)]]


@pytest.mark.parametrize("limits", [KERNELS, CLUSTERS, PROGRAMS, GRAPHS, CAPTURES])
def test_no_more_than_the_limits_say_are_tried(limits: FamilyLimits):
    full, failing, tries = ArtifactFamily[UpTo](limits), ArtifactFamily[UpTo](limits), 40
    made, failed = [], []
    for n in range(100, 100 + tries):
        full.served((n,), lambda _, n=n: made.append(n) or UpTo(-n))
        failing.served((n,), lambda _, n=n: failed.append(n))

    assert len(made) == len(full.made) == limits.kept
    assert made[0] == 99 + min(limits.enough, tries)
    assert len(failed) == failing.failed == min(limits.failures, tries + 1 - limits.enough)
    assert full.is_closed
    assert len(full.samples) == min(limits.samples, tries)


def test_threads_make_it_once():
    family, made = ArtifactFamily[UpTo](FamilyLimits(enough=1, kept=8)), []

    def make(_: list[tuple[int, ...]]) -> UpTo:
        made.append(1)
        return UpTo(50)

    found = at_once(lambda k: family.served((k,), make))

    assert found == [(UpTo(50), (k,)) for k in range(THREADS)]
    assert len(made) == 1


def test_threads_get_one_family():
    table, keys = Specializations(PROGRAMS), range(200)
    found = at_once(lambda _: [table.of(key) for key in keys])

    assert all(x is y for each in found for x, y in zip(each, found[0], strict=True))


def test_families_that_nobody_asks_for_are_forgotten():
    table = Specializations(PROGRAMS)
    table.most = 2
    first = table.of(1)
    for key in range(1, 6):
        table.of(key)

    assert table.of(1) is not first
    assert table.of(5) is table.of(5)


def test_a_child_waits_for_no_thread_that_it_has_not_got():
    table = Specializations(PROGRAMS)
    family, taken, end = table.of("key"), threading.Event(), threading.Event()

    def hold() -> None:
        with table.lock, family.lock:
            taken.set()
            end.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert taken.wait(20)
    child = os.fork()
    if not child:
        is_free = table.lock.acquire(timeout=5) and family.lock.acquire(timeout=5)
        os._exit(0 if is_free and table.of("key") is family else 1)
    _, status = os.waitpid(child, 0)
    end.set()
    holder.join(20)
    assert status == 0


# who uses it, at each limit, under threads


def swept(function: Callable[[gn.Tensor], gn.Tensor], sizes: list[int], **options: Any) -> Any:
    """The compiled function, which gives what the plain one does at sizes, to several threads."""
    compiled = gn.compile(function, **options)
    given = {n: np.random.default_rng(n).standard_normal((n, 4), np.float32) for n in sizes}
    wanted = {n: function(gn.from_numpy(x)).numpy().tobytes() for n, x in given.items()}

    def work(k: int) -> list[int]:
        order = [*sizes[k:], *sizes[:k], *sizes]
        pairs = [(n, compiled(gn.from_numpy(given[n])).numpy().tobytes()) for n in order]
        return [n for n, found in pairs if found != wanted[n]]

    assert at_once(work) == [[]] * THREADS
    return compiled


@contextmanager
def afresh() -> Iterator[None]:
    """Nothing is known, on the disk or in the process, and sizes vary."""
    memo.clear()
    with override(cache=False, dynamic_sizes=True), gn.no_grad():
        yield


def test_kernels():
    families = grown((10, 4))
    families._known.limits = KERNELS._replace(kept=2)

    def work(k: int) -> list[bool]:
        found = [families.find(emit, 1, n, 4) for n in (*range(20, 60, 1 + k), 200, 300)]
        return [x is not None and x.numbers == (n,) for x, n in zip(found, SIZES[k], strict=True)]

    SIZES = [(*range(20, 60, 1 + k), 200, 300) for k in range(THREADS)]
    assert all(all(each) for each in at_once(work))
    (family,) = families._known.values()
    assert len(family.made) == 2
    assert Families().find(emit, 1, 20, 4) is None


def test_clusters():
    from gnomon.schedule.shared_nests import SharedNests

    known = signatures([*range(10, 30)])
    shared = SharedNests(known)
    found = at_once(lambda k: [shared.at(*each) for each in known[k:]])

    assert all(nest is not None for each in found for nest in each)
    assert len({id(nest.nest) for each in found for nest in each}) == 1


def test_programs(monkeypatch: pytest.MonkeyPatch):
    with afresh():
        limits = PROGRAMS._replace(enough=2, kept=1, samples=1)
        monkeypatch.setattr(sized._families, "limits", limits)
        swept(lambda x: x.T @ x, [3, 4, 20, 5, 21, 40], dynamic=False)
        swept(lambda x: (x.T @ x).exp(), [3, 4, 20, 5, 21, 40])
        assert all(len(x.made) <= 1 and len(x.samples) <= 1 for x in sized._families.values())


def test_captures(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_families, "CAPTURES", CAPTURES._replace(kept=2, samples=2))
    monkeypatch.setattr(size_families, "SERVED", 2)
    with afresh():
        rows = [3, 4, 5, 6, 17, 18, 19, 20, 33, 34, 35]
        compiled = swept(lambda x: x * 2 if len(x.shape) * x.shape[0] % 3 else x + 1, rows)
    for family in compiled.size_families.known.values():
        assert len(family.samples) <= 2
        assert len(family.filled_in) <= 2
        assert len(family.made) <= 2


def test_ways(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_families, "WAYS", 2)
    for module in (sized_captures, sized_trees):
        monkeypatch.setattr(module, "FILLED", 2)
    with afresh():
        compiled = swept(lambda x: x[x[:, 0] > 0].softmax(-1).sum(0), [9, 14, 20, 31, 40, 52])
        for n in (60, 70, 80):
            x = gn.from_numpy(np.random.default_rng(n).standard_normal((n, 4), np.float32))
            compiled(x)
    assert specializations.FILLED > 2
    families = [*compiled.size_families.known.values()]
    assert all(len(x.ways) <= 2 for x in families)
    trees = [tree for family in families for tree in family.trees]
    kept = [at for tree in trees for *_, at in super(type(tree), tree).segments()]
    assert kept
    assert all(len(at.filled_in) <= 2 for at in kept if hasattr(at, "filled_in"))
