"""Processes that find each other by sockets: the bits of threads, what they leave, who fails."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

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
from tests.tensor.test_works import dropped, together

pytestmark = pytest.mark.parametrize("backend", ["node", "tcp"])
TWO = [looking, gradients, exchanged, both_ways, by_tags, into_parts, beyond_windows]


def test_every_row_gives_what_numpy_gives(backend: str):
    assert on_tcp(narrow, 2, backend) == [[], []]


@pytest.mark.parametrize("work", [*TWO, dropped, together])
def test_two_have_the_bits_of_threads(work: Callable, backend: str):
    assert on_tcp(work, 2, backend) == on_threads(work, 2)


@pytest.mark.parametrize("work", [both, halves, some_traffic])
def test_three_have_the_bits_of_threads(work: Callable, backend: str):
    assert on_tcp(work, 3, backend) == on_threads(work, 3)


def test_groups_leave_nothing_behind(backend: str):
    assert [left(*pair) for pair in on_tcp(hundreds, 2, backend)] == [[0, 0, 0]] * 2


FAILING = """
import os, sys, time
import gnomon as gn
import gnomon.distributed as dist
dist.init_process_group("gloo")
x = gn.ones(2)
dist.all_reduce(x)
if dist.get_rank() == 1:
    {}
dist.all_reduce(x)
"""


@pytest.mark.parametrize(
    ("wrong", "patience", "told"),
    [
        ("os._exit(3)", 60, "rank 1 failed: ConnectionError: its connection ended"),
        ("sys.exit()", 60, "rank 1 failed: EOFError: it has ended"),
        ("time.sleep(60)", 2, "no answer along mesh axis 'world' within 2 s"),
    ],
)
def test_a_rank_that_is_gone_is_named(wrong: str, patience: int, told: str, backend: str):
    words = [sys.executable, "-c", FAILING.format(wrong)]
    more = {"GNOMON_PATIENCE": str(patience), "GNOMON_BACKEND": backend}
    processes = started(words, 2, **more)
    _, errors = processes[0].communicate(timeout=60)
    processes[1].kill()
    processes[1].communicate()

    assert processes[0].returncode == 1
    assert told in errors
