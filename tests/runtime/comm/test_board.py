"""The board and its ranks: who is where, who failed first, who is gone without a word."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from threading import Thread

import pytest

from gnomon.runtime.comm import board as boards
from gnomon.runtime.comm import watch as watches
from gnomon.runtime.comm.board import Board, LeftOut, Row, table
from gnomon.runtime.comm.watch import Watch

pytestmark = pytest.mark.unit


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    # links that other tests left have a last collective too
    monkeypatch.setattr(watches, "links_of_process", list)
    made = Board()
    yield made
    made.close()


@pytest.fixture
def connect(board: Board) -> Iterator[Callable[..., Watch]]:
    """Connections with the board, which are closed in the end."""
    made = ExitStack()
    yield lambda *place: made.enter_context(closing(Watch(board.address, *place)))
    made.close()


def heard(board: Board, rank: int, what: str) -> None:
    """Wait until the board has heard where a rank is."""
    end = time.monotonic() + 10
    with board.changed:
        assert board.changed.wait_for(
            lambda: rank in board.rows and what in board.rows[rank].place, end - time.monotonic()
        )


def test_a_rank_says_where_it_is(board: Board, connect: Callable[..., Watch]):
    watch = connect(1, 2)
    watch.note = "at the end"

    heard(board, 1, "at the end")
    assert watch.ask("ask", size=2) == ["  rank 0: has not begun", "  rank 1: at the end"]
    watch.leave()
    assert table(board.rows, 2)[1] == "  rank 1: has ended"


def test_the_first_that_fails_is_the_one_that_is_told(board: Board, connect: Callable[..., Watch]):
    first, second, third = (connect(rank, 3) for rank in range(3))

    assert not second.fail("ValueError: ill", 3)
    assert not first.fail("CollectiveError: nobody", 1)
    assert third.fail("ValueError: ill", 1)
    assert board.verdict(3) == ("rank 1 of 3 failed: ValueError: ill", 3)


def test_a_rank_that_is_killed_is_found_gone(board: Board):
    script = (
        "import os, time; from gnomon.runtime.comm.watch import Watch;"
        f"watch = Watch({board.address!r}, 1, 2); watch.note = 'at work'; time.sleep(0.5);"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, env=dict(os.environ))

    told, code = board.verdict(2)

    assert told == "rank 1 of 2 is gone without a word: killed, or out of memory; before: at work"
    assert code == 0


def test_a_rank_that_says_nothing_is_held(monkeypatch: pytest.MonkeyPatch):
    row = Row("at a.py:1", "all_reduce", heard=time.monotonic() - 2 * boards.SILENT)

    assert str(row).startswith("no word for some time: stopped, or held in native code; before: at")


def test_who_does_not_know_the_token_is_not_heard(board: Board):
    address = board.address.rpartition(":")[0] + ":guess"

    with closing(Watch(address, 0, 1)) as watch:
        assert watch.ask("ask", size=1) is None
    assert not board.rows


def test_clocks_of_one_machine_differ_by_less_than_the_error(connect: Callable[..., Watch]):
    offset, error = connect(0, 1).clock()

    assert abs(offset) <= error < 50_000_000


def test_the_first_that_was_killed_is_told_whoever_is_noticed_first(board: Board):
    board.lost(2, 5.03)
    board.lost(1, 5.01)
    board.lost(0, 5.02)

    assert board.verdict(3)[0].startswith("rank 1 of 3 is gone without a word")


def test_a_killed_rank_is_named_though_another_one_finds_it_gone_before(board, connect):
    noticed, killed = connect(0, 2), connect(1, 2)
    heard(board, 1, "")
    soon = Thread(target=lambda: (time.sleep(0.1), killed.close()))
    soon.start()

    assert not noticed.fail("CollectiveError: no such process", 1, in_collective=True)
    soon.join()

    assert board.verdict(2)[0].startswith("rank 1 of 2 is gone without a word")


def test_a_rank_that_is_killed_after_another_one_waited_too_long_is_not_blamed(board, connect):
    waited, killed = connect(0, 2), connect(1, 2)
    heard(board, 1, "")

    assert not waited.fail("CollectiveError: nobody came", 1, in_collective=True)
    killed.close()

    assert board.verdict(2) == ("rank 0 of 2 failed: CollectiveError: nobody came", 1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody knows")
def test_when_a_connection_ended_is_known_later():
    with socket.create_server(("127.0.0.1", 0)) as server:
        rank = socket.create_connection(server.getsockname())
        connection, _ = server.accept()
    rank.sendall(b"here")
    time.sleep(0.1)
    closed = time.monotonic()
    rank.close()
    time.sleep(0.2)

    with connection:
        assert abs(boards.last_heard(connection) - closed) < 0.05


def test_ranks_to_leave_out_are_kept_for_the_launcher(board, connect, monkeypatch):
    watches.leave_out(LeftOut(("b",), 2, "rank 1 on b"))
    assert board.left_out is None, "no watch, no word"

    monkeypatch.setattr(watches, "_watches", [connect(0, 3)])
    watches.leave_out(LeftOut(("b",), 2, "rank 1 on b"))

    assert board.left_out == LeftOut(("b",), 2, "rank 1 on b")
