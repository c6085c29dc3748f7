"""What is seen at a glance is what index arithmetic finds."""

from __future__ import annotations

from gnomon.passes.inline import inline
from gnomon.passes.legalize import legalize
from gnomon.schedule import clustering
from gnomon.schedule.access import readings
from gnomon.schedule.glance import glance
from tests.drawn import examples, given
from tests.strategies import graphs


def kept(found):
    """Readings without order and repetition."""
    return {(reading.node, reading.same, reading.row) for reading in found}


@examples(60)
@given(case=graphs())
def test_a_glance_agrees_with_index_arithmetic(case):
    graph = legalize(inline(case, lambda node: False))
    seen = []

    def both(node, transparent, known):
        told = glance(node, transparent, known)
        if told is not None:
            seen.append((kept(told), kept(readings(node, transparent))))
        return told

    original = clustering.glance
    clustering.glance = both
    try:
        clustering.Clustering(graph)
    finally:
        clustering.glance = original

    assert all(quick == slow for quick, slow in seen)
