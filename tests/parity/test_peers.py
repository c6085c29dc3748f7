"""The benchmark compares equal work: torch's first losses are ours."""

from __future__ import annotations

import importlib
from itertools import accumulate

import pytest

from tests.bench.tiny import SMALL, place, program_of, tiny

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


@pytest.mark.parametrize("name", ["gpt", "moe", "lce", "resnet"])
def test_no_step_needs_more_memory_than_torchs(name, tmp_path, monkeypatch):
    """Beside parameters and states: what torch's allocator counts, and what our plan holds."""
    executable = program_of(name, tmp_path / "ours", monkeypatch).executable
    kept = {made for made, _ in executable._over}
    results = sum(size for k, size in enumerate(executable._sizes) if k not in kept)
    problem = tiny(name, tmp_path / "theirs", "eager", **SMALL[name])
    module = importlib.import_module(f"benchmarks.peers.torch_{place(name)}")

    assert executable.memory.total + results <= counted(getattr(module, name)(problem)["step"])


def counted(step):
    """The most bytes that torch's allocator has given out during a step, over those before it."""
    step()
    with torch.profiler.profile(profile_memory=True) as profiler:
        step()
    seen = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    changes = (e.nbytes() for e in sorted(seen, key=lambda e: e.start_ns()))
    return max(accumulate(changes))
