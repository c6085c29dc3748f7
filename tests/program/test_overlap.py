"""The order around transfers: what would wait lets others go first, and nothing else moves."""

from __future__ import annotations

import random

import pytest

from gnomon.program.overlap import TimedCall, dependencies, overlapped

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
