"""Calls that differ in sizes alone: what belongs together, when one capture for all is tried."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.ir.specializations import CAPTURES
from gnomon.settings import override

pytestmark = pytest.mark.unit


def families(compiled) -> list[tuple[int, int, int]]:
    """Samples, captures and failures of each."""
    known = compiled.size_families.known.values()
    return [(len(x.samples), len(x.made), x.failed) for x in known]


def test_what_differs_in_more_than_sizes_is_another_family():
    compiled = gn.compile(lambda x, *more: x * 2, dynamic=True)
    compiled(gn.ones(3))
    compiled(gn.ones(4, 2))
    compiled(gn.ones(3, dtype=gn.float64))
    compiled(gn.ones(3), 1.5)
    compiled(gn.ones(3).requires_grad_())
    with gn.no_grad():
        compiled(gn.ones(3))
    assert families(compiled) == [(1, 0, 0)] * 6


def test_the_third_sizes_ask_and_few_samples_are_kept():
    compiled = gn.compile(lambda x: x * {3: 1.0}.get(x.shape[0], 2.0))
    for n in (3, 4):
        compiled(gn.ones(n))
    assert families(compiled) == [(2, 0, 0)]
    for n in range(5, 15):
        compiled(gn.ones(n))
    assert families(compiled) == [(CAPTURES.samples, 0, CAPTURES.failures)]


def test_a_success_forgets_failures():
    compiled = gn.compile(lambda x: x * (len(x) if x.shape[1] < 9 else 2), dynamic=True)
    for shape in ((3, 4), (5, 6), (4, 7)):
        compiled(gn.ones(*shape))
    assert families(compiled) == [(3, 0, 2)]
    for family in compiled.size_families.known.values():
        family.samples.clear()
    for shape in ((6, 9), (7, 10)):
        compiled(gn.ones(*shape))
    assert families(compiled) == [(1, 1, 0)]


def test_what_has_no_program_is_not_tried():
    shown = gn.compile(lambda x: x[1:], dynamic=True)
    for n in range(3, 7):
        shown(gn.ones(n))
    assert families(shown) == [(4, 0, 0)]


def test_the_setting_is_asked_for():
    with override(dynamic_sizes=False):
        compiled = gn.compile(lambda x: x * 2)
        for n in range(3, 7):
            compiled(gn.ones(n))
    assert families(compiled) == []
    assert compiled.captures == 4
