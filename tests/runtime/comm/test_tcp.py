"""Processes that sockets connect: every row of the kit, failures, and who may join."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from gnomon.errors import CollectiveError
from gnomon.runtime.comm.tcp import HEAD, Address, TcpWorld
from tests.distributed.on_tcp import on_tcp, started
from tests.distributed.on_threads import on_threads
from tests.distributed.test_captured_messages import both
from tests.distributed.test_conformance import narrow
from tests.distributed.test_eager_order import looking
from tests.distributed.test_functional import gradients
from tests.distributed.test_groups import halves, hundreds, left
from tests.distributed.test_point_to_point import both_ways, by_tags, into_parts, some_traffic
from tests.tensor.test_works import dropped, together


def test_every_row_gives_what_numpy_gives():
    assert on_tcp(narrow, 2) == [[], []]


@pytest.mark.parametrize(
    "work", [looking, gradients, both_ways, by_tags, into_parts, dropped, together]
)
def test_processes_have_the_bits_of_threads(work: Callable):
    assert on_tcp(work, 2) == on_threads(work, 2)


@pytest.mark.parametrize("work", [both, halves, some_traffic])
def test_three_processes_have_the_bits_of_threads(work: Callable):
    assert on_tcp(work, 3) == on_threads(work, 3)


def test_groups_leave_nothing_behind():
    assert [left(*pair) for pair in on_tcp(hundreds, 2)] == [[0, 0, 0]] * 2


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
    ("wrong", "told"),
    [
        ("os._exit(3)", "rank 1 failed: ConnectionError: its connection ended"),
        ("sys.exit()", "rank 1 failed: EOFError: it has ended"),
        ("time.sleep(60)", "no answer along mesh axis 'world' within 2 s"),
    ],
)
def test_a_rank_that_is_gone_is_named(wrong: str, told: str):
    words = [sys.executable, "-c", FAILING.format(wrong)]
    processes = started(words, 2, GNOMON_PATIENCE="2" if "sleep" in wrong else "60")
    _, errors = processes[0].communicate(timeout=60)
    processes[1].kill()
    processes[1].communicate()

    assert processes[0].returncode == 1
    assert told in errors


def port() -> int:
    """A port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_who_does_not_come_is_not_waited_for_ever():
    with pytest.raises(CollectiveError, match="rank 0 of 2: not all ranks have met at 127"):
        TcpWorld(0, 2, Address("127.0.0.1", port()), patience=0.3)
    with pytest.raises(CollectiveError, match=r"rank 1 of 2: not all .*refused"):
        TcpWorld(1, 2, Address("127.0.0.1", port()), patience=0.3)


def test_strangers_are_sent_away_and_two_of_one_number_are_refused():
    first = Address("127.0.0.1", port())
    with ThreadPoolExecutor(3) as pool:
        leader = pool.submit(TcpWorld, 0, 2, first, 20)
        while True:
            try:
                stranger = socket.create_connection(first)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        stranger.sendall(HEAD.pack(5, 0) + b"hello")
        other = pool.submit(TcpWorld, 1, 2, first, 20)
        worlds = [leader.result(), other.result()]
        list(pool.map(TcpWorld.leave, worlds))
        stranger.close()

        leader = pool.submit(TcpWorld, 0, 3, first, 20)
        twins = [pool.submit(TcpWorld, 1, 3, first, 5) for _ in range(2)]
        with pytest.raises(CollectiveError, match="another rank 1 of 3 came"):
            leader.result()
        for twin in twins:
            with pytest.raises(CollectiveError):
                twin.result()
