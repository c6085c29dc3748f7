"""The machine's limits are measured, each by its own loop."""

from __future__ import annotations

from gnomon.profiler import limits


def test_every_limit_is_positive(monkeypatch):
    monkeypatch.setattr(limits, "BYTES", 1 << 16)

    found = limits.measured_limits(2, rounds=1)

    assert min(vars(found).values()) > 0
    assert found.of("copy") == max(found.copy, found.copy_streaming)
    assert found.of("flops") == found.flops
