"""What is heard is kept as it is, up to a limit, and told afterwards."""

from __future__ import annotations

import gnomon as gn
from gnomon.distributed.mesh import Mesh
from gnomon.profiler import collect
from gnomon.profiler.collect import Collector
from gnomon.runtime import events


def collected(work) -> Collector:
    """A collector that heard some work."""
    made = Collector()
    made.start()
    try:
        work()
    finally:
        made.stop()
    return made


def test_nothing_is_heard_before_the_start_and_after_the_stop():
    made = collected(lambda: None)
    (gn.ones(3) * 2).tolist()

    assert made.heard == []
    assert made.profile().events == []


def test_calls_beyond_the_limit_are_counted_as_lost(monkeypatch):
    monkeypatch.setattr(collect, "MOST_CALLS", 3)
    made = collected(lambda: [(gn.ones(3) * k).tolist() for k in (2.5, 3.5, 4.5, 5.5)])

    assert 0 < made.calls - made.lost <= 3
    assert made.profile().lost == made.lost


def test_a_free_without_its_allocation_is_left_out():
    x = gn.ones(5000) * 2
    x.tolist()
    numbers = [x]
    made = collected(numbers.clear)
    del x

    assert all(event.kind != "free" for event in made.profile().events)


def test_collectives_carry_lines_and_bytes():
    made = collected(
        lambda: events.announce("comm", name="all_reduce along dp", start=1, end=2, nbytes=64)
    )
    (event,) = made.profile().events

    assert (event.kind, event.name, event.nbytes) == ("comm", "all_reduce along dp", 64)
    assert Mesh is not None
