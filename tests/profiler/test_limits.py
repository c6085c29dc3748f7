"""The machine's limits are measured, each by its own loop."""

from __future__ import annotations

from gnomon.profiler import limits
from gnomon.runtime import system


def test_every_limit_is_positive(monkeypatch):
    monkeypatch.setattr(limits, "BYTES", 1 << 16)

    found = limits.measured_limits(2, rounds=1)

    assert min(vars(found).values()) > 0
    assert found.of("copy") == max(found.copy, found.copy_streaming)
    assert found.of("flops") == found.flops


def test_caches_are_measured_each_with_what_fits_it(monkeypatch):
    monkeypatch.setattr(limits, "REPEATED", 1 << 16)

    found = limits.cache_limits(2)

    assert [size for size, _ in found] == [
        2 * system.caches().l1,
        2 * system.caches().l2,
        system.caches().l3,
    ]
    assert [speed for _, speed in found] == sorted((speed for _, speed in found), reverse=True)
