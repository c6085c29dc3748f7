"""Ratios as bars."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from gnomon.bench.chart import chart
from gnomon.bench.harness import Result
from tests.bench.test_report import result

pytestmark = pytest.mark.unit


def test_a_chart_has_a_bar_for_each_peer_that_took_part():
    tree = ElementTree.fromstring(chart("title", [result()]))

    bars = [x for x in tree.iter() if x.get("class") in ("faster", "slower")]
    assert [bar.get("class") for bar in bars] == ["faster"]
    assert "2.00" in [x.text for x in tree.iter()]


def test_a_chart_of_nothing_is_empty():
    made = result()

    assert 'rect class="faster"' not in chart("title", [Result(made.case, made.figures[:1])])
