"""Plans of transfers as ranks compare them, in threads; between processes in test_failures.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.placing import split_rows
from gnomon.distributed.ranks import run_ranks
from gnomon.errors import CollectiveError
from gnomon.ir import memo
from gnomon.runtime.comm import here
from gnomon.settings import override
from tests.house import ROOT

MESH = DeviceMesh.of({"data": 2})
HERE = "tests/program/test_communication.py"


def total(x: gn.Tensor) -> gn.Tensor:
    return split_rows(x, MESH, "data").sum(0)


def largest(x: gn.Tensor) -> gn.Tensor:
    return split_rows(x, MESH, "data").amax(0)


def total_elsewhere(x: gn.Tensor) -> gn.Tensor:
    return split_rows(x, MESH, "data").sum(0)


def test_a_program_from_the_disk_names_the_lines_of_whoever_runs_it(tmp_path: Path):
    def latest(function: Callable) -> list[str]:
        def one(rank: int) -> str:
            gn.compile(function)(gn.ones(4, 6)).numpy()
            link = here.link_along("data")
            caller = link._caller
            assert caller is not None
            return f"{caller._block is None} {link.latest()}".replace(f"{ROOT}/", "")

        memo.clear()  # the next one comes from the disk
        return run_ranks(MESH, one)

    with override(cache_dir=tmp_path, keep_programs=True):
        compiled, found, moved = latest(total), latest(total), latest(total_elsewhere)
    line = total.__code__.co_firstlineno + 1
    further = total_elsewhere.__code__.co_firstlineno + 1

    assert all(text.endswith(f", asked by {HERE}:{line}") for text in compiled + found)
    assert all(f", asked by {HERE}:{further}" in text for text in moved)
    assert all(text.startswith("True ") for text in found + moved)


def told(function, patience: float = 30.0) -> str:
    """The error that a program of ranks ends with, without this machine's folders."""
    with pytest.raises(CollectiveError) as found:
        run_ranks(MESH, function, patience)
    text = str(found.value).replace(f"{ROOT}/", "")
    # which of both is first to find it is a matter of luck
    return re.sub(rf"{HERE}:\d+", HERE, re.sub(r"^rank \d", "rank ?", text))


def test_ranks_of_one_plan_compare_it_once():
    tensors = [gn.ones(4, 6) for _ in range(2)]

    found = run_ranks(MESH, lambda rank: [gn.compile(total)(x).numpy() for x in tensors])

    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize("case", ["shapes", "operations", "lengths"])
def test_different_programs_are_refused_with_both_lines(case: str, golden):
    def one(rank: int) -> None:
        x = gn.ones(4, 6 + (case == "shapes" and rank))
        if case == "lengths" and rank:
            gn.compile(lambda x: total(total(x) * x) + largest(x))(x).numpy()
        else:
            gn.compile(largest if case == "operations" and rank else total)(x).numpy()

    assert told(one) == golden


def test_a_rank_that_never_calls_is_named_with_where_it_is(golden):
    def one(rank: int) -> None:
        if rank == 0:
            gn.compile(total)(gn.ones(4, 6)).numpy()

    text = told(one, 0.5)

    assert re.sub(r"total \w{12}", "total", text) == golden
