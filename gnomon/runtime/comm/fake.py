"""Ranks that are not there: one rank of any number, whose transfers bring zeros at once.

For programs to be captured, compiled and looked at as one rank of a large world has them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from gnomon.runtime.comm.base import (
    FOLD,
    KINDS,
    Backend,
    CallbackLink,
    Transfer,
    fold_rows,
    pieces_of,
)

__all__ = ["FakeBackend", "FakeLink"]


class FakeBackend(Backend):
    """One rank of a world that has no others."""

    name = "fake"
    native = tuple((kind, "zeros") for kind in KINDS)

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def link(self, name: str, ranks: Sequence[int]) -> FakeLink:
        """Make this rank's end of a group."""
        return FakeLink(name, ranks, list(ranks).index(self.rank))

    def abort(self, cause: BaseException) -> None:
        """Do nothing: there is no other rank to end."""

    def close(self) -> None:
        """Do nothing: no rank is connected."""


class FakeLink(CallbackLink):
    """An end of a group whose other ranks do not exist."""

    def start(self, transfer: Transfer) -> None:
        """Copy what this rank sends to itself, and zeros in place of other ranks' data."""
        moved = pieces_of(transfer, self.place, self.count)
        own = [piece for piece in moved.sends if piece.peer == self.place]
        if transfer.kind == FOLD:
            zeros = ctypes.create_string_buffer(transfer.nbytes)
            rows = [ctypes.addressof(zeros)] * self.count
            rows[self.place] = own[0].address
            fold_rows(transfer, rows)
            return
        for piece in moved.receives:
            if piece.peer == self.place and own:
                ctypes.memmove(piece.address, own.pop(0).address, piece.nbytes)
            else:
                ctypes.memset(piece.address, 0, piece.nbytes)

    def wait(self, transfer: Transfer) -> None:
        """Return at once: the result of a transfer is there when it starts."""

    def is_done(self, transfer: Transfer) -> bool:
        """Return True: a transfer is done when it starts."""
        return True

    def tell(self, message: bytes) -> list[bytes]:
        """The messages of all ranks, as if each had sent this rank's own."""
        return [message] * self.count
