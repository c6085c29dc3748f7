"""Every case can be run: its problem, our function, and its peers' functions are there."""

from __future__ import annotations

import ast
import importlib

import pytest

from gnomon.bench.cases import CASES, WORKLOADS, cases_of
from gnomon.bench.problems import MAKERS
from tests.house import ROOT

pytestmark = pytest.mark.unit


def functions(peer, place):
    """The functions of a peer's file."""
    path = ROOT / "benchmarks" / "peers" / f"{peer}_{place}.py"
    return {x.name for x in ast.parse(path.read_text()).body if isinstance(x, ast.FunctionDef)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_everybody_can_take_part(case):
    assert case.problem in MAKERS
    assert callable(
        getattr(importlib.import_module(f"gnomon.bench.ours.{case.place}"), case.problem)
    )
    for peer in {name.partition(".")[0] for name in case.peers}:
        assert case.problem in functions(peer, case.place)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_aim_is_at_somebody_who_takes_part(case):
    assert {name for target in case.targets for name in target.against} <= set(case.peers)


def test_names_are_used_once():
    assert len({case.name for case in CASES}) == len(CASES)


def test_no_word_means_all():
    assert cases_of(()) == list(CASES)
    assert {case.workload for case in cases_of(("gpt", "lce"))} == {"gpt", "lce"}
    assert WORKLOADS[:4] == ("gpt", "moe", "lce", "resnet")


def test_no_peer_reads_gnomon():
    texts = [p.read_text() for p in (ROOT / "benchmarks" / "peers").glob("*.py")]

    assert not [text for text in texts if "import gnomon" in text or "from gnomon" in text]
