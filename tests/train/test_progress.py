"""A line on a terminal is replaced; elsewhere lines are few and plain."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gnomon.train.progress import (
    Progress,
    Status,
    StepTimes,
    bytes_text,
    duration,
    peak_memory,
)

pytestmark = pytest.mark.unit


def status(step, **changes):
    """A status at a step."""
    usual = {"step": step, "steps": 100, "loss": 3.14159, "held_out": None, "tokens_per_s": 12345.6}
    usual |= {"of_peak": 0.421, "memory": 512_000_000, "left": 75.0}
    return Status(**{**usual, **changes})


def test_a_status_says_everything_in_one_line():
    line = str(status(7, held_out=4.0))

    assert line == (
        "step 7/100  loss 3.142  held-out 4.000  12,346 tokens/s  42% of peak  512.0 MB  1m15s left"
    )
    assert "held-out -" in str(status(7))


def test_without_a_terminal_only_few_lines_are_printed():
    console = Console(file=io.StringIO(), width=200)

    with Progress(console) as progress:
        progress.say("hello [x]")
        for step in range(1, 101):
            progress.update(status(step))

    lines = console.file.getvalue().splitlines()
    assert lines[0] == "hello [x]"
    assert [line.split()[1] for line in lines[1:]] == ["1/100", "100/100"]


def test_on_a_terminal_the_line_is_live_and_words_stay():
    console = Console(file=io.StringIO(), width=60, force_terminal=True)

    with Progress(console) as progress:
        progress.update(status(1))
        progress.say("hello")

    assert "hello" in console.file.getvalue()


def test_people_read_sizes_and_times():
    assert bytes_text(5e12) == "5.0 TB"
    assert duration(59.6) == "1m00s"


def test_this_process_uses_memory():
    assert peak_memory() > 1_000_000


def test_the_watch_tells_compiling_from_computing():
    watch = StepTimes()

    for seconds in (5.0, 2.0, 1.0, 1.0):
        watch.count(seconds)

    assert watch.seconds_per_step == 1.0
    assert watch.compiling == 5.0
