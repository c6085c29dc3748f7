"""The order around transfers: what would wait lets others go first, and nothing else moves."""

from __future__ import annotations

import random

import pytest

from gnomon.program.overlap import (
    BoundedReduction,
    Overlap,
    TimedCall,
    dependencies,
    overlapped,
)

pytestmark = pytest.mark.unit


def compute(made: str, *read: str, flops: int = 10**8) -> TimedCall:
    """A call of some milliseconds."""
    return TimedCall((made,), read, flops, 0)


def send(made: str, read: str, nbytes: int = 10**6) -> TimedCall:
    """A transfer of a millisecond."""
    return TimedCall((made,), (read,), 0, nbytes, transfers=True)


def test_calls_without_transfers_keep_their_order():
    works = [compute("a"), compute("b", "a"), compute("c"), compute("d", "a", "c")]

    assert overlapped(works) == [0, 1, 2, 3]


def test_gradients_are_sent_as_soon_as_they_are_there():
    works = [compute(f"g{layer}") for layer in (2, 1, 0)]
    works += [send(f"s{layer}", f"g{layer}") for layer in (2, 1, 0)]
    works += [compute(f"w{layer}", f"s{layer}", flops=1) for layer in (2, 1, 0)]

    # what computes them comes first, then the updates, each when its gradient has come
    order = overlapped(works)

    assert order.index(3) == order.index(0) + 1
    assert [k for k in order if k > 5] == [6, 7, 8]


def test_what_serves_a_transfer_alone_comes_before_the_layer_below():
    """A layer's product makes a gradient, a second call packs it; the next layer can wait."""
    works = [compute("dx1"), compute("dx0", "dx1"), compute("dw1", "dx1"), compute("p", "dw1")]
    works += [send("s", "p"), compute("w", "s", flops=1)]

    assert overlapped(works) == [0, 2, 3, 4, 1, 5]


def test_what_needs_a_call_that_waits_waits_too():
    works = [compute("g"), send("s", "g"), compute("a", "s"), compute("b", "a"), compute("c")]

    assert overlapped(works) == [0, 1, 4, 2, 3]


def test_a_place_that_is_written_again_keeps_its_order():
    works = [compute("g"), send("s", "g"), compute("a", "s"), compute("s"), compute("c")]

    order = overlapped(works)

    assert order.index(3) > order.index(2)


@pytest.mark.parametrize("seed", range(30))
def test_every_order_respects_what_is_needed(seed: int):
    rng = random.Random(seed)
    works = []
    for k in range(40):
        read = tuple(f"v{rng.randrange(k)}" for _ in range(rng.randrange(3)) if k)
        moved = bool(read) and rng.random() < 0.3
        works.append(TimedCall((f"v{k}",), read, rng.randrange(10**9), rng.randrange(10**6), moved))

    order = overlapped(works)

    assert sorted(order) == list(range(40))
    places = {k: place for place, k in enumerate(order)}
    for k, needs in enumerate(dependencies(works)):
        assert all(places[j] < places[k] for j in needs)


def test_what_is_gathered_of_what_was_gathered_does_not_wait_for_itself():
    works = [compute("a"), TimedCall(("b",), ("a",), 0, 1, True, gathers=True)]
    works += [
        TimedCall(("c",), ("a",), 0, 1, True, gathers=True),
        compute("x", "b"),
        compute("y", "c"),
    ]
    works += [TimedCall(("d",), ("b",), 0, 1, True, gathers=True), compute("z", "d")]

    assert sorted(overlapped(works)) == list(range(len(works)))


class Plainly(Overlap):
    """The same choices, each made by a look at all calls that could run."""

    def order(self) -> list[int]:
        """All calls."""
        self.waited: set[int] = set()
        found: list[int] = []
        while len(found) < len(self.works):
            found.append(self._next())
            self._run(found[-1])
            self.ran.add(found[-1])
        return found

    def _next(self) -> int:
        calls = range(len(self.works))
        able = [k for k in calls if k not in self.ran and not self.left[k]]
        self.waited |= {k for k in able if self._there(k) > self.clock}
        there = [k for k in able if self._there(k) <= self.clock]
        if urgent := [k for k in there if self.urgent[k]]:
            return min(urgent, key=lambda k: (self._takes(k), k))
        owed = [k for k in there if k in self.waited and k in self.due]
        if there:
            return min([k for k in owed if self.due[k] <= self.clock] or there)
        return min(able, key=lambda k: (self._there(k), k))


@pytest.mark.parametrize("seed", range(30))
def test_heaps_of_calls_choose_what_a_look_at_all_of_them_would(seed: int):
    rng = random.Random(seed)
    works = []
    for k in range(60):
        read = tuple({f"v{rng.randrange(max(0, k - 9), k)}" for _ in range(rng.randrange(4)) if k})
        moved = bool(read) and rng.random() < 0.4
        kind = rng.random() if moved else 1.0
        reduces = BoundedReduction(0, 1) if kind < 0.5 else None
        size, flops = rng.randrange(2 * 10**6), rng.choice((0, 10**7, 10**8))
        works.append(TimedCall((f"v{k}",), read, flops, size, moved, 0.8 < kind < 1.0, reduces))

    assert Overlap(works).order() == Plainly(works).order()
