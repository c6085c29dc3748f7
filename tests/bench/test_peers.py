"""Who takes part, in which interpreter, told what."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from gnomon.bench import peers
from gnomon.bench.cases import CASES
from gnomon.bench.peers import (
    Peer,
    contenders_of,
    environment_of,
    parse_peers,
    write_byte_code,
)
from gnomon.errors import ConfigError

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _packages(monkeypatch):
    monkeypatch.setattr(peers, "PACKAGES", {"torch": "json", "jax": "no_such_package"})


def test_a_peer_is_looked_for_in_this_interpreter_or_in_the_named_one():
    found, missing = parse_peers(f"torch.eager,torch={sys.executable}")

    assert found == [Peer("torch", sys.executable, ("eager",)), Peer("torch", sys.executable)]
    assert not missing


def test_a_peer_that_is_not_there_is_named():
    found, missing = parse_peers("jax,torch=/no/such/python")

    assert not found
    assert "jax: " in missing[0]
    assert "--peers jax=/path/to/python" in missing[0]
    assert "torch: /no/such/python cannot import" in missing[1]


def test_a_peer_that_nobody_knows_is_a_mistake():
    with pytest.raises(ConfigError, match="no peer 'caffe'"):
        parse_peers("caffe")


def test_without_a_checkout_there_are_no_peers(monkeypatch):
    monkeypatch.setattr(peers, "root", lambda: None)

    assert "source checkout" in parse_peers("torch")[1][0]


def test_a_case_is_met_by_us_and_by_the_variants_that_are_asked_for(tmp_path):
    case = next(case for case in CASES if case.workload == "lce")
    torch = Peer("torch", sys.executable, ("eager", "tuned"))

    found = contenders_of(case, [torch], tmp_path)

    assert [c.name for c in found] == ["gnomon", "torch.eager", "torch.tuned"]
    assert found[2].variant == "tuned"
    assert found[1].module == "benchmarks.peers.torch_kernels"


def test_threads_are_the_same_for_all(tmp_path):
    ours = contenders_of(CASES[0], [], tmp_path)[0]

    told = environment_of(ours, 3)

    assert told["GNOMON_NUM_THREADS"] == told["OMP_NUM_THREADS"] == "3"
    assert told["GNOMON_CACHE_DIR"].startswith(str(tmp_path))


def test_contenders_may_keep_byte_code(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    ours = contenders_of(CASES[0], [], tmp_path)[0]

    assert "PYTHONDONTWRITEBYTECODE" not in environment_of(ours, 1)


def test_our_byte_code_is_written_where_python_looks_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))

    write_byte_code()

    assert Path(importlib.util.cache_from_source(peers.__file__)).is_file()
