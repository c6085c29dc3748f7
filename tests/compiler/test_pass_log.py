"""Parts of a compilation are told, checked, and silent when nobody asks."""

from __future__ import annotations

import pytest

from gnomon.compiler.pass_log import passed, run_pass
from gnomon.ir.node import Arena, Graph
from gnomon.ir.show import since
from gnomon.runtime import events
from gnomon.settings import override
from tests.program.test_listing import small_model


def test_a_pass_is_told_to_whoever_listens():
    heard = []
    stop = events.subscribe(lambda kind, fields: heard.append((kind, fields)))
    graph = small_model()

    made = run_pass("same", graph, lambda g: g)
    stop()
    passed("unheard", 0.0)

    ((kind, fields),) = heard
    assert made is graph
    assert (kind, fields["name"]) == ("compile", "same: 9 -> 9 nodes")
    assert fields["start"] <= fields["end"]


def test_a_pass_is_checked_if_that_is_asked_for():
    graph = small_model()
    other = Graph([Arena().input((2,), graph.inputs[0].dtype)], [])

    with override(verify=True), pytest.raises(AssertionError, match="bad: inputs were"):
        run_pass("bad", graph, lambda g: other)
    assert run_pass("bad", graph, lambda g: other) is other


def test_a_time_is_the_end_of_a_line():
    assert since(0.0).startswith(", ")
    assert since(0.0).endswith(" ms")
