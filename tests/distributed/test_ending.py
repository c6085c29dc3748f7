"""The words of a rank that fails; whole jobs end in test_failures.py."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from gnomon import __main__ as command_line
from gnomon.distributed import ending
from gnomon.distributed.ending import as_rank, said_of
from gnomon.errors import CollectiveError, ConfigError
from gnomon.runtime.comm.environment import Environment

pytestmark = pytest.mark.unit


def test_an_exit_code_is_told_without_words():
    assert said_of(3) == ("exit code 3", "")
    assert said_of("no paper\nat all") == ("no paper", "no paper\nat all")


def test_an_error_is_told_with_the_line_that_raised_it():
    try:
        raise ValueError("no paper\nat all")
    except ValueError as error:
        line, text = said_of(error)

    assert line == "ValueError: no paper"
    assert text.startswith("Traceback")
    assert "test_ending.py" in text


def test_alone_an_error_goes_its_own_way():
    with pytest.raises(KeyError), as_rank():
        raise KeyError("a")


@pytest.fixture
def reported(monkeypatch):
    """What a rank of two reports when it ends, in place of its exit."""
    found = []
    monkeypatch.setattr(ending, "leave", lambda *words: found.append(words))
    for module in (command_line, ending):
        monkeypatch.setattr(module, "environment", lambda: Environment(0, 2, 0, 2, "a test"))
    monkeypatch.setattr(ending, "board_address", lambda: "")
    return found


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (CollectiveError("no such process"), (1, "gnomon: no such process", True)),
        (ConfigError("no such key"), (2, "gnomon: no such key", False)),
        (OSError(28, "no space"), (1, "gnomon: no space.", False)),
    ],
)
def test_a_command_reports_whether_communication_failed(monkeypatch, reported, wrong, expected):
    def fail(words):
        raise wrong

    monkeypatch.setattr(command_line, "commands", SimpleNamespace(called=fail))
    command_line.code_of(["info"])

    assert reported == [expected]


def test_a_script_that_exits_for_a_failed_collective_reports_it(reported):
    def script():
        try:
            raise CollectiveError("no such process")
        except CollectiveError:
            sys.exit(3)

    with pytest.raises(SystemExit), as_rank():
        script()
    with pytest.raises(SystemExit), as_rank():
        sys.exit("no paper")

    assert reported == [(3, 3, True), (1, "no paper", False)]
