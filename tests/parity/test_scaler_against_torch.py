"""GradScaler: the same steps, skipped steps and scales in both libraries."""

from __future__ import annotations

import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


def told(lib):
    """Weights, scales and states over steps of which two overflow; the last ones are clipped."""
    weight = lib.nn.Parameter(lib.tensor([1.0, -2.0, 0.5]))
    optimizer = lib.optim.SGD([weight], lr=0.1, momentum=0.9)
    scaler = lib.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    found = []
    for turn, factor in enumerate((1.0, float("nan"), 2.0, 3.0, 1.0, float("inf"), 1.0, 1.0)):
        optimizer.zero_grad()
        scaler.scale((weight * weight * factor).sum()).backward()
        if turn > 5:
            scaler.unscale_(optimizer)
            lib.nn.utils.clip_grad_norm_([weight], 0.5)
        scaler.step(optimizer)
        scaler.update()
        found += [*weight.tolist(), scaler.get_scale(), *scaler.state_dict().values()]
    return found


def test_a_run_with_a_scaler_is_torchs():
    assert told(gn) == pytest.approx(told(torch), rel=1e-6)
