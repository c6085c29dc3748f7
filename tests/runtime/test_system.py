"""Cores, caches and memory, as the operating system tells them."""

from __future__ import annotations

import math
import os

import pytest

from gnomon.runtime import system

pytestmark = pytest.mark.unit


def test_at_least_one_core_and_no_more_than_the_affinity():
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

    assert 1 <= system.usable_cores() <= most


def test_a_quota_of_a_core_and_a_half_is_one_core(monkeypatch):
    monkeypatch.setattr(system, "quota", lambda: 1.5)

    assert system.usable_cores() == 1


@pytest.mark.parametrize(
    ("text", "cores"),
    [("150000 100000", 1.5), ("max 100000", math.inf), ("-1 100000", math.inf), (None, math.inf)],
)
def test_quotas_are_read_as_control_groups_write_them(text, cores):
    assert system.share(text) == cores


def test_caches_and_memory_have_sizes():
    sizes = system.caches()

    assert 0 < sizes.l1 <= sizes.l2
    assert system.memory_bytes() > sizes.l3 > 0
