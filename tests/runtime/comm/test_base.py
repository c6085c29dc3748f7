"""Transfers as messages, and what becomes of errors in callbacks."""

from __future__ import annotations

import ctypes

import pytest

from gnomon.errors import CollectiveError
from gnomon.runtime.comm.base import (
    EXCHANGE,
    FAILED,
    FOLD,
    GATHER,
    RING,
    CallbackLink,
    Piece,
    Transfer,
    pieces_of,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("kind", "sends", "receives"),
    [
        (GATHER, [(0, 100), (1, 100), (2, 100)], [(0, 500), (1, 508), (2, 516)]),
        (EXCHANGE, [(0, 100), (1, 108), (2, 116)], [(0, 500), (1, 508), (2, 516)]),
        (FOLD, [(0, 100), (1, 108), (2, 116)], [(0, 0), (1, 0), (2, 0)]),
        (RING, [(2, 100)], [(0, 500)]),
    ],
)
def test_every_kind_as_messages(kind: int, sends: list, receives: list):
    moved = pieces_of(Transfer(500, 100, 0, kind, 8, 0, 1), place=1, count=3)

    assert moved.sends == [Piece(*x, 8) for x in sends]
    assert moved.receives == [Piece(*x, 8) for x in receives]


class Failing(CallbackLink):
    """A group whose transfers fail."""

    def start(self, transfer: Transfer) -> None:
        raise ValueError("no paper")

    def wait(self, transfer: Transfer) -> None:
        raise AssertionError("nothing is waited for after a failure")

    def tell(self, told: bytes) -> list[bytes]:
        return [told]

    def is_done(self, transfer: Transfer) -> bool:
        return True

    def close(self) -> None:
        pass


def test_an_error_in_a_callback_is_kept_and_raised_afterwards():
    link = Failing("data", [0], 0)
    slots = (ctypes.c_int64 * len(Transfer._fields))()

    for do in (link.start, link.wait):
        link._guarded(do)(ctypes.addressof(slots))

    assert link.block[FAILED]
    with pytest.raises(CollectiveError, match="data: ValueError: no paper"):
        link.check()
