"""Our own contenders: every problem is solved, and training goes down."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tests.bench.tiny import SMALL, TINY, place, program_of, tiny

TRAINED = ("gpt", "moe", "resnet")


def contender(name, folder, **changes):
    """Ours for a tiny problem."""
    module = importlib.import_module(f"gnomon.bench.ours.{place(name)}")
    return getattr(module, name)(tiny(name, folder, **changes))


@pytest.mark.parametrize("name", TINY)
def test_every_problem_is_solved(name, tmp_path):
    made = contender(name, tmp_path)

    assert np.isfinite([made["step"]() for _ in range(3)]).all()
    assert made["about"]["version"]
    assert made["profile"](1)


@pytest.mark.parametrize("name", TRAINED)
def test_training_on_one_batch_learns(name, tmp_path):
    problem = tiny(name, tmp_path)
    arrays = dict(problem.arrays)
    part = "tokens" if "tokens" in arrays else "images"
    problem.arrays = arrays | {part: arrays[part][:1], "targets": arrays.get("targets", [[0]])[:1]}
    problem.weights = lambda: {k[2:]: v for k, v in arrays.items() if k.startswith("w:")}
    module = importlib.import_module(f"gnomon.bench.ours.{place(name)}")
    step = getattr(module, name)(problem)["step"]

    losses = [step() for _ in range(30)]

    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", SMALL)
def test_memory_is_planned_close_to_the_least_that_its_order_needs(name, tmp_path, monkeypatch):
    program = program_of(name, tmp_path, monkeypatch)
    plan = program.executable.memory

    assert plan.bound <= plan.total <= 1.05 * plan.bound
    assert "at least in this order" in program.executable.explain().splitlines()[0]


@pytest.mark.parametrize("chain", ["rms_norm", "gelu", "adamw"])
def test_every_chain_runs(chain, tmp_path):
    assert contender("chains", tmp_path, chain=chain)["step"]() == 0.0


def test_a_cross_entropy_is_what_numpy_says(tmp_path):
    problem = tiny("lce", tmp_path)
    scores = problem.array("x").astype(float) @ problem.array("w").astype(float).T
    right = scores[np.arange(6), problem.array("targets")]
    expected = (np.log(np.exp(scores).sum(1)) - right).mean()

    for pieces in (False, True):
        step = contender("lce", tmp_path, pieces=pieces)["step"]
        assert step() == pytest.approx(expected, rel=1e-5)


def test_figures_of_replay_and_shapes(tmp_path):
    replayed = contender("replay", tmp_path / "replay")
    replayed["step"]()
    assert replayed["figures"]()["overhead"] > 0

    shaped = contender("shapes", tmp_path / "shapes")
    shaped["step"]()
    assert shaped["figures"]()["captures"] == 3
    assert 1 <= shaped["figures"]()["compiles"] <= 3
