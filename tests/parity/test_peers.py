"""The benchmark compares equal work: torch's first losses are ours."""

from __future__ import annotations

import importlib

import pytest

from tests.bench.tiny import place, tiny

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", ["gpt", "moe", "resnet", "lce", "embedding", "decode"])
def test_first_losses_are_equal(name, tmp_path):
    losses = []
    for module in ("gnomon.bench.ours.", "benchmarks.peers.torch_"):
        problem = tiny(name, tmp_path, "eager")
        step = getattr(importlib.import_module(module + place(name)), name)(problem)["step"]
        losses.append([step() for _ in range(3)])

    assert losses[0] == pytest.approx(losses[1], rel=2e-5)


@pytest.mark.parametrize("name", ["gemm", "attention", "chains"])
def test_steps_without_a_loss_run(name, tmp_path):
    step = getattr(importlib.import_module("benchmarks.peers.torch_kernels"), name)

    assert step(tiny(name, tmp_path, "eager"))["step"]() == 0.0
