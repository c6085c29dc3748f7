"""Ranks that train together; several are launched in tests/distributed/test_launcher.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.distributed.mesh import ALONE, mesh_of
from gnomon.distributed.plans import PLAN
from gnomon.errors import ArgumentError, ConfigError
from gnomon.runtime.comm.board import LeftOut
from gnomon.train.team import Team, read_plan, refuse_unknown

pytestmark = pytest.mark.unit


def test_one_process_leads_itself():
    with Team() as team:
        assert team.leads
        assert team.mesh == ALONE
        assert team.share({"a": 1}) == {"a": 1}
        assert team.gather([True, 1]) == [[True, 1]]


def test_a_mesh_needs_as_many_ranks():
    with pytest.raises(ConfigError, match="--mesh data=4: 4 ranks: 1 run"):
        Team("data=4")


@pytest.mark.parametrize("mesh", ["data", "data=0", "data=two", "data=2,data=2", "2=data"])
def test_a_mesh_that_says_nothing_is_refused(mesh: str):
    with pytest.raises(ConfigError, match="expected NAME=RANKS"):
        Team(mesh)


def test_a_mesh_axis_over_which_nothing_lies_is_refused():
    with pytest.raises(ConfigError, match="'datta' is no mesh axis of the plan: expected one of"):
        refuse_unknown(mesh_of("datta=2"), PLAN)


def test_a_plan_is_read_from_a_file(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('rows = ["data"]\nfully = ["data"]\nreductions = 2\n[axes]\nheads = "tensor"\n')

    plan = read_plan(path)

    assert (plan.rows, plan.fully, plan.axes) == (("data",), ("data",), {"heads": "tensor"})
    assert plan.reductions == 2
    refuse_unknown(mesh_of("data=2,tensor=2"), plan)


def test_pairs_are_added_to_the_usual_plan():
    plan = read_plan(Path("expert=data,heads=data"))

    assert plan.axes == {**PLAN.axes, "expert": "data", "heads": "data"}
    assert (plan.rows, plan.fully) == (PLAN.rows, PLAN.fully)


def test_tokens_travel_where_a_pair_or_a_file_says_so(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('token_dispatch = ["expert"]\n[axes]\nexpert = "shard"\n')

    assert read_plan(Path("expert=data:tokens,heads=data")) == replace(
        PLAN, axes={**PLAN.axes, "expert": "data", "heads": "data"}, token_dispatch=("expert",)
    )
    assert read_plan(path).token_dispatch == ("expert",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "expert=tensor:tokens",
            "tokens travel along a mesh axis that spreads rows, one of data, ",
        ),
        ("heads=data:tokens", "tokens travel to experts alone: got 'heads'. Leave out 'tokens'"),
    ],
)
def test_tokens_that_cannot_travel_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        read_plan(Path(text))


@pytest.mark.parametrize("text", ["expert=data:token", "expert=data:", "expert=data:tokens:x"])
def test_a_way_to_lie_that_is_none_is_refused(text):
    with pytest.raises(ConfigError, match=r"expected NAME=MESH_AXIS:tokens: got expert=data:"):
        read_plan(Path(text))


@pytest.mark.parametrize("text", ["expret=data", "expert=", "expert=data,", "expert=:tokens"])
def test_pairs_of_no_parameters_axis_are_refused(text):
    with pytest.raises(ConfigError, match="expected NAME=MESH_AXIS, of a parameter's axis"):
        read_plan(Path(text))


def test_a_bound_that_is_none_is_refused(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('reductions = "many"')

    with pytest.raises(ArgumentError, match="reductions: expected a number of red"):
        read_plan(path)


@pytest.mark.parametrize("text", ["rows = 3", "other = []", "axes = []", "[axes]\nheads = 3"])
def test_a_plan_that_is_none_is_refused(tmp_path, text: str):
    path = tmp_path / "plan.toml"
    path.write_text(text)

    with pytest.raises(ConfigError, match="expected rows or fully, lists of mesh axes, or axes"):
        read_plan(path)


@pytest.mark.parametrize(
    ("ranks", "hosts", "rows", "found"),
    [
        ([1], "aaaa", 12, LeftOut((), 3, "rank 1 on a")),
        ([1], "aaaa", 8, LeftOut((), 2, "rank 1 on a")),
        ([2], "aabb", 8, LeftOut(("b",), 2, "rank 2 on b")),
        ([0, 3], "abcd", 8, LeftOut(("a", "d"), 2, "rank 0 on a, rank 3 on d")),
    ],
)
def test_as_many_ranks_go_on_as_divide_the_rows(monkeypatch, ranks, hosts, rows, found):
    said = []
    monkeypatch.setattr("gnomon.train.team.leave_out", said.append)

    Team().leave_out(ranks, hosts, rows)
    Team("data=1").leave_out(ranks, hosts, rows)

    assert said == [found, found._replace(remaining=0)]
