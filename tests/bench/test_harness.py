"""A whole case with a peer that is three lines long."""

from __future__ import annotations

import sys

import pytest

from gnomon.bench import harness, peers
from gnomon.bench.cases import Case, SpeedTarget
from gnomon.bench.harness import Options, run_case
from gnomon.bench.peers import Peer
from gnomon.bench.report import unequal, verdicts
from gnomon.profiler.limits import Limits
from tests.bench.tiny import TINY

LIMITS = Limits(1.0, 1.0, 1.0, 1.0)
QUICK = Options(rounds=1, seconds=0.0, threads=1, patience=0.0, tries=1)
SOMEBODY = """
def lce(problem):
    assert problem.variant != "broken", "this one cannot"
    return {"step": lambda: LOSS, "about": {"version": "1"}}
"""


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A case with two variants of somebody, one of which fails."""
    folder = tmp_path / "benchmarks" / "peers"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder / "fake_kernels.py").write_text(SOMEBODY.replace("LOSS", "2.0"))
    monkeypatch.setattr(peers, "root", lambda: tmp_path)
    targets = (SpeedTarget(("fake.plain",), 1e-9, 1e9),)
    return Case(
        *("lce", "a small one", "lce", TINY["lce"]),
        peers=("fake.plain", "fake.broken"),
        targets=targets,
        tolerance=0.9,
    )


def test_everybody_takes_a_turn_and_who_fails_says_why(case):
    said = []

    result = run_case(case, [Peer("fake", sys.executable)], LIMITS, QUICK, said.append)

    ours, plain, broken = result.figures
    assert len(ours.times) == len(plain.times) == 1
    assert "AssertionError: this one cannot" in broken.failed
    assert ours.rows
    assert ours.losses[0] == pytest.approx(2.8, abs=0.3)
    assert not unequal(result)
    assert [v.holds for v in verdicts(result, LIMITS)] == [True]
    assert any("sample 1" in line for line in said)


def test_a_faster_probe_during_the_case_raises_the_peak(case):
    result = run_case(case, [], LIMITS, QUICK, lambda line: None)

    assert LIMITS.at_least(result.peak).flops == result.peak > LIMITS.flops
    assert LIMITS.at_least(0.5) == LIMITS


def test_a_dirty_turn_is_kept_apart(case, monkeypatch):
    monkeypatch.setattr(harness, "wait_for_quiet", lambda *_: False)

    result = run_case(case, [], LIMITS, QUICK, lambda line: None)

    assert not result.ours.clean
    assert len(result.ours.dirty) == 1
