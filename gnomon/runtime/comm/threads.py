"""Ranks as threads of one process: the backend of tests, and of several programs on one machine.

What a rank sends is copied when it starts, and waits under the sender's and the receiver's number
until it is taken: nobody waits for a receiver. A rank that fails wakes all others, which say so.
"""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from threading import Condition
from time import monotonic

from gnomon.errors import CollectiveError
from gnomon.runtime.comm.base import (
    FOLD,
    KINDS,
    WORD,
    Backend,
    CallbackLink,
    Piece,
    Transfer,
    fold_rows,
    pieces_of,
)
from gnomon.settings import current

__all__ = ["ThreadBackend", "ThreadLink", "World"]

Message = tuple[Hashable, ...]
"""A group, sender, receiver, tag, and a number: both sides count the messages of a pair."""


class World:
    """The state that ranks of one process share: messages under way, and the first failure."""

    def __init__(self, size: int, patience: float | None = None) -> None:
        self.size = size
        self.patience = current().patience if patience is None else patience
        self.failure: tuple[int, BaseException] | None = None
        self.arrived = Condition()
        self._messages: dict[Message, bytes] = {}
        self._waiting: dict[int, Callable[[], str]] = {}
        """Rank -> a function that describes the transfer that it waits for."""

    def backend(self, rank: int) -> ThreadBackend:
        """One rank's backend."""
        return ThreadBackend(self, rank)

    def put(self, message: Message, content: bytes) -> None:
        """Send."""
        with self.arrived:
            self._messages[message] = content
            self.arrived.notify_all()

    def take(self, message: Message, rank: int, name: str, what: Callable[[], str]) -> bytes:
        """Wait for a message; CollectiveError if its sender failed or nobody sent it in time."""
        end = monotonic() + self.patience
        with self.arrived:
            self._waiting[rank] = what
            while message not in self._messages:
                found = self.failed(message)
                if found is not None:
                    failed, cause = found
                    raise CollectiveError(
                        f"rank {rank}: gave up along mesh axis {name!r} because rank {failed} "
                        f"failed: {type(cause).__name__}: {cause}"
                    ) from cause
                if not self.arrived.wait(end - monotonic()):
                    raise CollectiveError(
                        f"rank {rank}: no answer along mesh axis {name!r} within "
                        f"{self.patience:g} s: {what() or WORD}.{self._table()}\n"
                        "Look for a rank that is somewhere else."
                    )
            del self._waiting[rank]
            return self._messages.pop(message)

    def _table(self) -> str:
        """The waits of all ranks as text, a line each."""
        waits = {rank: f"waits in {what() or WORD}" for rank, what in self._waiting.items()}
        rows = [waits.get(rank, "waits for no other rank") for rank in range(self.size)]
        return "".join(f"\n  rank {rank}: {row}" for rank, row in enumerate(rows))

    def failed(self, message: Message) -> tuple[int, BaseException] | None:
        """The rank whose failure keeps a message from arriving, and its error; None without one."""
        return self.failure

    def has(self, message: Message) -> bool:
        """Whether a message has arrived."""
        return message in self._messages

    def fail(self, rank: int, cause: BaseException) -> None:
        """Record the first failure, and wake all waiting threads."""
        with self.arrived:
            self.failure = self.failure or (rank, cause)
            self.arrived.notify_all()


class ThreadBackend(Backend):
    """One thread's end of a world."""

    name = "threads"
    native = tuple((kind, "copies") for kind in KINDS)

    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank, self.size = world, rank, world.size
        self._made: Counter[tuple[int, ...]] = Counter()

    def link(self, name: str, ranks: Sequence[int]) -> ThreadLink:
        """The end of a new group; its number tells it from others of the same ranks."""
        members = tuple(ranks)
        self._made[members] += 1
        return self.group(name, members, (members, self._made[members]))

    def group(self, name: str, members: tuple[int, ...], key: Hashable) -> ThreadLink:
        """The end of a group with this key."""
        return ThreadLink(self, name, members, key)

    def abort(self, cause: BaseException) -> None:
        """Wake all others."""
        self.world.fail(self.rank, cause)

    def close(self) -> None:
        """Do nothing: a world lasts as long as its ranks."""


class ThreadLink(CallbackLink):
    """One thread's end of a group."""

    def __init__(
        self, backend: ThreadBackend, name: str, ranks: tuple[int, ...], key: Hashable
    ) -> None:
        super().__init__(name, ranks, ranks.index(backend.rank))
        self.backend, self.key = backend, key
        self._sent: Counter[tuple[int, int]] = Counter()
        self._asked: Counter[tuple[int, int]] = Counter()
        """Messages so far to, and from, each peer by tag."""
        self._due: dict[int, list[tuple[Piece, Message]]] = defaultdict(list)
        """What transfers under way will receive, by their numbers."""
        self._tells = 0

    def start(self, transfer: Transfer) -> None:
        """Send all messages, and record the order in which to receive them."""
        moved = pieces_of(transfer, self.place, self.count)
        for piece in moved.sends:
            self.send(piece, ctypes.string_at(piece.address, piece.nbytes))
        for piece in moved.receives:
            number = self._asked[piece.peer, piece.tag]
            self._asked[piece.peer, piece.tag] += 1
            message = (self.key, piece.peer, self.place, piece.tag, number)
            self._due[transfer.first].append((piece, message))

    def send(self, piece: Piece, content: bytes) -> None:
        """Send a message to a place of the group."""
        number = self._sent[piece.peer, piece.tag]
        self._sent[piece.peer, piece.tag] += 1
        self.backend.world.put((self.key, self.place, piece.peer, piece.tag, number), content)

    def wait(self, transfer: Transfer) -> None:
        """Receive a transfer's messages, waiting for those that have not come."""
        due = self._due.pop(transfer.first, ())
        if transfer.kind == FOLD:
            found = [ctypes.c_char_p(self._taken(*each)) for each in due]
            fold_rows(transfer, [ctypes.cast(x, ctypes.c_void_p).value or 0 for x in found])
            return
        for piece, message in due:
            ctypes.memmove(piece.address, self._taken(piece, message), piece.nbytes)

    def _taken(self, piece: Piece, message: Message) -> bytes:
        """A received message; CollectiveError if its size is not the expected one."""
        what = partial(self.waiting, True)
        content = self.backend.world.take(message, self.backend.rank, self.name, what)
        if len(content) != piece.nbytes:
            raise CollectiveError(
                f"rank {self.backend.rank}: along mesh axis {self.name!r} rank "
                f"{self.ranks[piece.peer]} sends {len(content)} bytes where {piece.nbytes} "
                "are received. Look for a rank that runs another program."
            )
        return content

    def is_done(self, transfer: Transfer) -> bool:
        """Whether all messages of a transfer have arrived."""
        due = self._due.get(transfer.first, ())
        return all(self.backend.world.has(message) for _, message in due)

    def tell(self, message: bytes) -> list[bytes]:
        """Exchange bytes by messages numbered apart from programs'."""
        self._tells += 1
        world, here, what = self.backend.world, self.place, partial(self.waiting, True)
        for k in range(self.count):
            world.put((self.key, here, k, "tell", self._tells), message)
        return [
            world.take((self.key, k, here, "tell", self._tells), self.backend.rank, self.name, what)
            for k in range(self.count)
        ]
