"""Processes of one node that share memory: bits, large messages, failures, what is left."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from gnomon.runtime.comm.node import NodeLink
from gnomon.runtime.comm.threads import ThreadLink, World
from tests.distributed.on_tcp import on_tcp, started
from tests.distributed.on_threads import on_threads
from tests.distributed.test_captured_messages import both
from tests.distributed.test_conformance import narrow
from tests.distributed.test_eager_order import looking
from tests.distributed.test_functional import gradients
from tests.distributed.test_groups import halves, hundreds, left
from tests.distributed.test_objects import exchanged
from tests.distributed.test_point_to_point import (
    beyond_windows,
    both_ways,
    by_tags,
    into_parts,
    some_traffic,
)
from tests.runtime.comm.test_tcp import FAILING
from tests.tensor.test_works import dropped, together


def on_node(function: Callable, ranks: int) -> list:
    """What it gives on ranks that share memory."""
    return on_tcp(function, ranks, "node")


def test_every_row_gives_what_numpy_gives():
    assert on_node(narrow, 2) == [[], []]


TWO = [looking, gradients, exchanged, both_ways, by_tags, into_parts, beyond_windows]


@pytest.mark.parametrize("work", [*TWO, dropped, together])
def test_processes_have_the_bits_of_threads(work: Callable):
    assert on_node(work, 2) == on_threads(work, 2)


@pytest.mark.parametrize("work", [both, halves, some_traffic])
def test_three_processes_have_the_bits_of_threads(work: Callable):
    assert on_node(work, 3) == on_threads(work, 3)


def test_groups_leave_nothing_behind():
    assert [left(*pair) for pair in on_node(hundreds, 2)] == [[0, 0, 0]] * 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("os._exit(3)", "rank 1 failed: ConnectionError: its connection ended"),
        ("sys.exit()", "no answer along mesh axis 'world' within 2 s"),
    ],
)
def test_a_rank_that_goes_wrong_is_named(wrong: str, told: str):
    more = {"GNOMON_PATIENCE": "2" if "exit()" in wrong else "60", "GNOMON_BACKEND": "node"}
    processes = started([sys.executable, "-c", FAILING.format(wrong)], 2, **more)
    _, errors = processes[0].communicate(timeout=60)
    processes[1].kill()
    processes[1].communicate()

    assert processes[0].returncode == 1
    assert told in errors


def test_a_conversation_that_is_over_is_waited_for_no_more():
    talk = ThreadLink(World(1).backend(0), "data", (0,), ((0,), 1))
    link = NodeLink.__new__(NodeLink)
    link._talk, link.talk = talk, lambda precise: "the first run of a program"

    assert link.tell(b"told") == [b"told"]
    assert talk.waiting() == ""
