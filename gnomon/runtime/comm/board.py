"""The board of a launch: one process keeps what every rank last said of itself, and tells it.

It needs no MPI and no rank's interpreter but its own, so that it can still say where ranks stood
when one of them is gone, or held in native code. Ranks speak to it through watch.py.
"""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Condition, Thread
from time import monotonic, monotonic_ns
from typing import Any, NamedTuple

import msgspec

__all__ = ["Board", "LeftOut", "Row", "table"]

WAITS = "waits in "
"""The beginning of the place of a rank that waits for others."""
SILENT = 1.0
"""Seconds without a word after which a rank is said to be silent."""
GRACE = 2.0
"""Seconds within which the end of a killed rank is known."""
CLOCK_TICK = 0.01
"""Seconds by which the kernel's time of a connection's end can be early: its clock ticks 100 times
a second or more."""


@dataclass
class Row:
    """A rank's state at the launcher: source line, last collective, how it ended."""

    place: str = ""
    last: str = ""
    heard: float = 0.0
    failed: str = ""
    code: int = 0
    gone: float = 0.0
    """The time at which it ended; 0 while it has not."""
    left: bool = False
    """Whether it said that it was going."""

    def __str__(self) -> str:
        last = f"; its last collective: {self.last}" if self.last else ""
        silent = monotonic() - self.heard
        if self.failed:
            return f"failed: {self.failed}{last}"
        place = self.place if self.place.startswith(WAITS) else f"{self.place}{last}"
        if self.left:
            return "has ended"
        if self.gone:
            return f"is gone without a word: killed, or out of memory; before: {place}"
        if silent > SILENT:
            return f"no word for some time: stopped, or held in native code; before: {place}"
        return place


class LeftOut(NamedTuple):
    """The machines that a job found at fault, and how many ranks can go on without them."""

    hosts: tuple[str, ...]
    """Machines to leave out; none where all ranks were on one."""
    remaining: int
    """Ranks of the next job; 0 where it cannot have fewer."""
    why: str
    """The ranks that were at fault, for messages."""


def table(rows: dict[int, Row], size: int) -> list[str]:
    """The rows as text, one line for each rank, those that never connected included."""
    places = {rank: str(row) for rank, row in rows.items()}
    return [f"  rank {rank}: {places.get(rank, 'has not begun')}" for rank in range(size)]


class Server(ThreadingTCPServer):
    """A server whose threads end with the process."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 1024
    board: Board


class Board:
    """The launcher's server of rank states, listening at `address` until it is closed."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.rows: dict[int, Row] = {}
        self.token = secrets.token_hex(8)
        self.changed = Condition()
        self.ended: dict[int, float] = {}
        """Ranks that ended badly, and when."""
        self.left_out: LeftOut | None = None
        self._server = Server((host if host == "127.0.0.1" else "", 0), Talk)
        self._server.board = self
        self.address = f"{host}:{self._server.server_address[1]}:{self.token}"
        Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def hear(self, rank: int, message: dict[str, Any]) -> object:
        """Process a message of a rank; returns the answer to a question."""
        with self.changed:
            row = self.rows.setdefault(rank, Row())
            row.heard = monotonic()
            answer = ANSWERS[message["kind"]](self, row, rank, message)
            self.changed.notify_all()
        return answer

    def state(self, row: Row, rank: int, message: dict[str, Any]) -> None:
        """Record a rank's source line and collective."""
        row.place, row.last = message["place"], message["last"]

    def fail(self, row: Row, rank: int, message: dict[str, Any]) -> object:
        """Record that a rank failed; returns whether another one failed before, for this reason.

        A rank can find another one gone before that one's connection closes. It exits when it has
        the answer, so a rank whose connection closes before the answer ended before it.
        """
        row.failed, row.last, row.code = message["text"], message["last"], message["code"]
        if message["in_collective"]:
            self.changed.wait_for(lambda: self.ended, GRACE)
        before = any(self.rows[k].failed == row.failed for k in self.ended)
        # an end that is noticed from now on came later, even where its time is early by a tick
        self.ended.setdefault(rank, monotonic() - (0.0 if self.ended else CLOCK_TICK))
        return before

    def leave(self, row: Row, rank: int, message: dict[str, Any]) -> object:
        """Record that a rank's program has ended."""
        row.left = True
        return True

    def leave_out(self, row: Row, rank: int, message: dict[str, Any]) -> object:
        """Record that the next job is to run without some ranks."""
        self.left_out = LeftOut(tuple(message["hosts"]), message["remaining"], message["why"])
        return True

    def ask(self, row: Row, rank: int, message: dict[str, Any]) -> object:
        """Return the places of all ranks."""
        return table(self.rows, message["size"])

    def clock(self, row: Row, rank: int, message: dict[str, Any]) -> object:
        """Return the board's time."""
        return monotonic_ns()

    def lost(self, rank: int, when: float) -> None:
        """Record that a rank's connection was closed."""
        with self.changed:
            row = self.rows.setdefault(rank, Row())
            row.gone = row.gone or when
            if not row.left and not row.failed:
                self.ended.setdefault(rank, when)
            self.changed.notify_all()

    def verdict(self, size: int) -> tuple[str, int]:
        """The rank that ended the job, as a line of text, and its exit code; none if none did."""
        with self.changed:
            self.changed.wait_for(lambda: all(x.gone for x in self.rows.values()), GRACE)
            if not self.ended:
                return "", 0
            first = min(self.ended, key=self.ended.__getitem__)
            row = self.rows[first]
            return f"rank {first} of {size} {row}", row.code

    def close(self) -> None:
        """Shut the board's server down."""
        self._server.shutdown()
        self._server.server_close()


ANSWERS: dict[str, Callable[[Board, Row, int, dict[str, Any]], object]] = {
    "state": Board.state,
    "fail": Board.fail,
    "leave": Board.leave,
    "leave_out": Board.leave_out,
    "ask": Board.ask,
    "clock": Board.clock,
}


SINCE_ACK = 8 + 12 * 4
"""The offset, in Linux's tcp_info, of the milliseconds since the other side was heard last."""


def last_heard(connection: socket.socket) -> float:
    """The time at which the other side last sent anything, its end included; now, if unknown.

    Ranks are killed within milliseconds of each other, and threads may notice in any order. The
    time is early by less than CLOCK_TICK.
    """
    if not sys.platform.startswith("linux"):
        return monotonic()
    options = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SINCE_ACK + 4)
    return monotonic() - int.from_bytes(options[SINCE_ACK:], sys.byteorder) / 1e3


class Talk(StreamRequestHandler):
    """One rank's connection with the launcher: lines of JSON, one per message or answer."""

    server: Server

    def handle(self) -> None:
        """Process a rank's messages until its connection closes."""
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        rank, board = -1, self.server.board
        try:
            for line in self.rfile:
                message = msgspec.json.decode(line)
                if message.get("token") != board.token:
                    return
                rank = message["rank"]
                answer = board.hear(rank, message)
                if message["kind"] != "state":
                    self.wfile.write(msgspec.json.encode(answer) + b"\n")
        except (OSError, msgspec.DecodeError):
            pass
        finally:
            if rank >= 0:
                board.lost(rank, last_heard(self.connection))
