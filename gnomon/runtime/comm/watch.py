"""A rank's own end of the board: a thread says where the rank is, a few times a second.

Where it is: the transfer that a run waits for, or the user's line that Python executes. The thread
sleeps otherwise and takes no lock of the rank's, so it costs nothing and speaks while native code
runs; native code that holds Python's lock silences it, and the board says so.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from threading import Event, Lock, Thread
from time import monotonic_ns
from types import FrameType
from typing import Any

import msgspec

from gnomon.errors import CollectiveError
from gnomon.ir.provenance import is_ours
from gnomon.runtime.comm.base import links_of_process
from gnomon.runtime.comm.board import WAITS, LeftOut

__all__ = ["Watch", "begin", "doing", "last", "leave_out", "of_process", "table"]

EVERY = 0.2
"""Seconds between two words of a rank."""
ANSWER = 5.0
"""Seconds within which the board answers, or is taken for gone."""


class Watch:
    """A connection with the launcher's server, and the thread that sends heartbeats."""

    def __init__(self, address: str, rank: int, size: int) -> None:
        host, port, self._token = address.rsplit(":", 2)
        self.address, self.rank, self.size, self.note = address, rank, size, ""
        self._socket = socket.create_connection((host, int(port)), ANSWER)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")
        self._speaking, self._over = Lock(), Event()
        Thread(target=self._speak, name="watch", daemon=True).start()

    def _speak(self) -> None:
        """Send heartbeats with the rank's line, until it leaves or the server is gone."""
        try:
            while not self._over.is_set():
                self._send(kind="state", place=self.note or doing(), last=last())
                self._over.wait(EVERY)
        except OSError:
            return

    def _send(self, **content: Any) -> None:
        """Send a line to the launcher's server."""
        line = msgspec.json.encode({"rank": self.rank, "token": self._token, **content})
        with self._speaking:
            self._socket.sendall(line + b"\n")

    def ask(self, kind: str, **content: Any) -> Any:
        """Send a question to the launcher's server; None if it is gone."""
        try:
            self._send(kind=kind, **content)
            return msgspec.json.decode(self._answers.readline())
        except (OSError, msgspec.DecodeError):
            return None

    def fail(self, text: str, code: int, in_collective: bool = False) -> bool:
        """Report that this rank failed; returns whether another one reported the same before.

        in_collective: the failure is one of communication, which another rank's end can cause.
        """
        self._over.set()
        failed = {"text": text, "code": code, "in_collective": in_collective}
        return bool(self.ask("fail", **failed, last=last(precise=True)))

    def leave(self) -> None:
        """Report that this rank's program has ended."""
        self._over.set()
        self.ask("leave")
        self.close()

    def close(self) -> None:
        """Close the connection with the launcher's server."""
        self._over.set()
        self._answers.close()
        self._socket.close()

    def clock(self, rounds: int = 50) -> tuple[int, int]:
        """The offset of the launcher's clock from this rank's, and its largest error, in ns."""
        best = (1 << 62, 0)
        for _ in range(rounds):
            began = monotonic_ns()
            there = self.ask("clock")
            ended = monotonic_ns()
            if there is None:
                raise CollectiveError("clock: the board of this launch does not answer.")
            best = min(best, (ended - began, there - (began + ended) // 2))
        return best[1], -(-best[0] // 2)


_watches: list[Watch] = []


def of_process() -> Watch | None:
    """The connection of this process with the launcher; None where ranks are threads."""
    return _watches[0] if _watches else None


def begin(address: str, rank: int, size: int) -> Watch:
    """Connect this process with a launcher's server, once."""
    if not _watches:
        _watches.append(Watch(address, rank, size))
        os.register_at_fork(after_in_child=_watches.clear)
    return _watches[0]


def leave_out(found: LeftOut) -> None:
    """Ask the launcher to run the next job without some ranks."""
    watch = of_process()
    if watch is not None:
        watch.ask("leave_out", **found._asdict())


def table() -> str:
    """The states of all ranks as text, a line each; "" without a launcher's server."""
    watch = of_process()
    if watch is None:
        return ""
    try:
        watch._send(kind="state", place=doing(precise=True), last=last(precise=True))
    except OSError:
        return ""
    return "".join(f"\n{row}" for row in watch.ask("ask", size=watch.size) or ())


def doing(precise: bool = False) -> str:
    """The state of this rank: the transfer that it waits for, else a line of the user's."""
    for link in links_of_process():
        wait = link.waiting(precise)
        if wait:
            return f"{WAITS}{wait}"
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return f"at {user_line(frame)}"


def last(precise: bool = False) -> str:
    """Describe the last collective that this rank started."""
    found = [link.latest(precise) for link in links_of_process()]
    return next(filter(None, found), "")


def user_line(frame: FrameType | None) -> str:
    """The innermost frame's line that is neither Gnomon's nor Python's library's."""
    while frame is not None:
        if not is_ours(frame.f_code):
            return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return "Gnomon's own code"
