"""Parts of a compilation are told, checked, and silent when nobody asks."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.ir.node import Arena, Graph
from gnomon.runtime import events
from gnomon.settings import override
from gnomon.stages import passed, shown, since
from tests.test_listing import small_model


def test_a_pass_is_told_to_whoever_listens():
    heard = []
    stop = events.subscribe(lambda kind, fields: heard.append((kind, fields)))
    graph = small_model()

    made = shown("same", graph, lambda g: g)
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
        shown("bad", graph, lambda g: other)
    assert shown("bad", graph, lambda g: other) is other


def test_a_time_is_the_end_of_a_line():
    assert since(0.0).startswith(", ")
    assert since(0.0).endswith(" ms")


def test_the_second_level_tells_what_each_kernel_took(capsys):
    x = gn.rand(70, 70)
    gn.evaluate(x)
    f = gn.compile(lambda x: (x @ x).softmax(-1))
    f(x)
    capsys.readouterr()
    with override(debug=2):
        f(x)
    text = capsys.readouterr().err

    (product,) = [row for row in text.splitlines() if " contract" in row]
    assert " us " in product
    assert "Gflop/s " in product or "Mflop/s " in product
    assert "test_stages.py:" in product
    with override(debug=2, debug_only="softmax"):
        f(x)
    assert " contract" not in capsys.readouterr().err
