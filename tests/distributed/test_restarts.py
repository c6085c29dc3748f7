"""A job that fails is started again, with as many ranks or fewer, as often as it may be."""

from __future__ import annotations

import pytest

from gnomon.distributed.launcher import Launch
from gnomon.distributed.restarts import Restarts, counts_of, remaining
from gnomon.errors import ConfigError
from gnomon.runtime.comm.board import LeftOut
from gnomon.train.runs import resumable

pytestmark = pytest.mark.unit


@pytest.fixture
def finding(monkeypatch):
    """What was started, with its hosts, and what each job says of ranks at fault, last first."""
    started, found = [], []

    def run(self):
        started.append((self.ranks, self.hosts.read_text() if self.hosts else ""))
        if not found:
            return 0
        self.left_out.append(found.pop())
        return 1

    monkeypatch.setattr(Launch, "run", run)
    return started, found


@pytest.fixture
def jobs(monkeypatch):
    """What was started, and the exit codes that it has, last first."""
    started, codes = [], []

    def run(self):
        started.append((self.ranks, self.command))
        return codes.pop()

    monkeypatch.setattr(Launch, "run", run)
    return started, codes


def again(most, *counts):
    """The exit code of a job that is started again."""
    return Restarts(most, ("go", "on"), counts).run(Launch(("begin",), counts[0]))


def test_a_job_goes_on_with_fewer_ranks(jobs, capsys):
    started, codes = jobs
    codes += [0, 1, 137, 9]

    assert again(5, 4, 3, 2) == 0

    assert started == [(4, ("begin",)), (3, ("go", "on")), (2, ("go", "on")), (2, ("go", "on"))]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "gnomon launch: restart 1 of 5: -n 3"


def test_the_last_exit_code_is_the_jobs(jobs):
    started, codes = jobs
    codes += [9, 9, 9]

    assert again(2, 4) == 9
    assert [ranks for ranks, _ in started] == [4, 4, 4]


@pytest.mark.parametrize("code", [0, 2, 130, 143])
def test_what_is_done_mistaken_or_asked_to_stop_is_not_started_again(jobs, code):
    started, codes = jobs
    codes += [code]

    assert again(3, 2) == code
    assert len(started) == 1


@pytest.mark.parametrize("text", ["", "0", "2,", "two", "4,0", "-1"])
def test_numbers_of_ranks_that_are_none_are_refused(text):
    with pytest.raises(ConfigError, match="launch: -n: expected int >= 1"):
        counts_of(text)


def test_threads_are_not_started_anew():
    with pytest.raises(ConfigError, match="--restarts starts processes anew"):
        Restarts(1, ("x",), (2,)).run(Launch(("x",), 2, backend="threads"))


def test_training_is_given_a_folder_to_go_on_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, later = resumable(("train", "tiny", "--set", "train.steps=3"), (2, 1))

    assert first[:4] == ("train", "tiny", "--set", "train.steps=3")
    assert first[4] == "--set"
    assert first[5].startswith("run.dir=runs/tiny-")
    assert later == (*first, "--resume")
    assert (tmp_path / first[5].removeprefix("run.dir=")).is_dir(), "a lost rank finds it there"


def test_a_folder_that_is_named_stays():
    command = ("train", "--resume", "--set", "run.dir=x")

    assert resumable(command, (2,)) == (command, command)
    with pytest.raises(ConfigError, match="-n 2,1: --mesh says how a number of ranks stands"):
        resumable((*command, "--mesh", "data=2"), (2, 1))


def test_a_rank_at_fault_is_left_out(finding, capsys):
    started, found = finding
    found += [LeftOut((), 2, "rank 0 on a"), LeftOut((), 3, "rank 1 on a")]

    assert again(5, 4) == 0

    assert [ranks for ranks, _ in started] == [4, 3, 2]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "gnomon launch: restart 1 of 5: -n 3, without rank 1 on a"


def test_no_more_ranks_go_on_than_are_asked_for(finding):
    started, found = finding
    found += [LeftOut((), 3, "rank 1 on a")]

    assert again(5, 4, 2) == 0
    assert [ranks for ranks, _ in started] == [4, 2]


def test_a_mesh_that_has_a_name_has_no_rank_left_out(finding, capsys):
    started, found = finding
    found += [LeftOut((), 0, "rank 1 on a")]

    assert again(5, 4) == 1
    assert len(started) == 1
    assert "no restart, without rank 1 on a: --mesh says how many" in capsys.readouterr().err


def test_a_machine_at_fault_is_in_no_later_file_of_hosts(finding, tmp_path):
    started, found = finding
    found += [LeftOut(("c.cluster",), 1, "rank 1 on c"), LeftOut(("b",), 2, "rank 1 on b")]
    hosts = tmp_path / "hosts"
    hosts.write_text("a slots=2\nb:2\nbb:2\nc\n")

    assert Restarts(3, ("go", "on"), (4,)).run(Launch(("begin",), 4, hosts)) == 0

    assert started == [
        (4, "a slots=2\nb:2\nbb:2\nc\n"),
        (2, "a slots=2\nbb:2\nc\n"),
        (1, "a slots=2\nbb:2\n"),
    ]


def test_a_machine_at_fault_that_has_another_name_there_ends_the_job(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("10.0.0.1\n10.0.0.2\n")

    with pytest.raises(ConfigError, match="that has no line of its own: b"):
        remaining(hosts, {"b"})
