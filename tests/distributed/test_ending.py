"""The words of a rank that fails; whole jobs end in test_failures.py."""

from __future__ import annotations

import pytest

from gnomon.distributed.ending import as_rank, said_of

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
