"""The backends of communication: groups of ranks, and transfers between their members.

A program's table starts a transfer and waits for it later, from native code, so a group's end is a
block of words that native code reads: where to call, and what the backend keeps there. What a
transfer moves stands in the slots of its call. Backends whose work is Python's derive from
`CallbackLink`; how collectives come down to transfers is gnomon/passes/lower_collectives.py.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, Protocol
from weakref import WeakValueDictionary

from gnomon.errors import CollectiveError

__all__ = [
    "Backend",
    "CallbackLink",
    "Link",
    "Message",
    "Piece",
    "Pieces",
    "Transfer",
    "UnderWay",
    "fold_rows",
    "opened",
    "pieces_of",
    "requests_of",
    "transfer_at",
]

# the words of a group's block; a backend's own follow
START, WAIT, FAILED, STARTED, AWAITED, OWN = range(6)
"""Entries, what failed, and by number and one: the transfer begun last, the one waited for."""

# the words in the slots of a transfer's call
RECEIVE, SEND, GROUP, KIND, NBYTES, FIRST, SHIFT, WORDS = range(8)

GATHER, EXCHANGE, RING, MESSAGES, FOLD = range(5)
"""Kinds: all to all the same; to each rank its slice; to one rank and from another, by a shift;
messages, whose number stands for the bytes, and which follow with words of their own; to each rank
its slice, of which it keeps the fold, by the function whose address follows."""

KINDS = ("gather", "exchange", "shift", "messages", "fold")
"""Their names."""

WORD = "a word with the others"
"""What a rank waits for outside of programs, where nothing else is said."""
REQUESTS = 2
"""Numbers that each transfer has for itself, at least."""

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""What the block of a group names: it takes the slots of a call."""
SWEEP = 8
"""So many transfers that nobody waits for are kept before some are let go."""
MOST_REQUESTS = 1 << 14
"""Transfers of one program that have numbers of their own."""


class Message(NamedTuple):
    """Bytes for one rank, or from it: which, whether they are sent, their place, how many, a tag.

    Messages of one pair of ranks with one tag arrive in the order in which they were sent.
    """

    peer: int
    sent: int
    start: int
    nbytes: int
    tag: int


class Transfer(NamedTuple):
    """A transfer as its call says it: places, kind, bytes (to each rank), number, shift.

    fold: the address of a function that folds rows (gnomon/codegen/kernels/fold_rows.py).
    """

    receive: int
    send: int
    group: int
    kind: int
    nbytes: int
    first: int
    shift: int
    messages: tuple[Message, ...] = ()
    fold: int = 0


class Piece(NamedTuple):
    """Bytes that go to a rank of the group, or come from it."""

    peer: int
    address: int
    nbytes: int
    tag: int = 0


class Pieces(NamedTuple):
    """The messages that one rank sends, and those that it receives."""

    sends: list[Piece]
    receives: list[Piece]


def transfer_at(slots: int) -> Transfer:
    """The transfer that stands in the slots of a call."""
    words = (ctypes.c_int64 * WORDS).from_address(slots)
    if words[KIND] == FOLD:
        return Transfer(*words, fold=(ctypes.c_int64 * (WORDS + 1)).from_address(slots)[WORDS])
    if words[KIND] != MESSAGES:
        return Transfer(*words)
    size, count = len(Message._fields), words[NBYTES]
    rest = list((ctypes.c_int64 * (WORDS + size * count)).from_address(slots))[WORDS:]
    return Transfer(*words, tuple(Message(*rest[size * k :][:size]) for k in range(count)))


def pieces_of(transfer: Transfer, place: int, count: int) -> Pieces:
    """A transfer as messages, those of a rank to itself too; what is folded has no place.

    >>> moved = pieces_of(Transfer(0, 1000, 0, RING, 8, 0, 1), place=0, count=3)
    >>> moved.sends[0].peer, moved.receives[0].peer
    (1, 2)
    """
    receive, send, _, kind, nbytes, _, shift, messages, _ = transfer
    if kind == MESSAGES:
        moved = Pieces([], [])
        for peer, sent, start, size, tag in messages:
            piece = Piece(peer, (send if sent else receive) + start, size, tag)
            (moved.sends if sent else moved.receives).append(piece)
        return moved
    if kind == RING:
        to, source = (place + shift) % count, (place - shift) % count
        return Pieces([Piece(to, send, nbytes)], [Piece(source, receive, nbytes)])
    step = 0 if kind == GATHER else nbytes
    places = [0 if kind == FOLD else receive + k * nbytes for k in range(count)]
    return Pieces(
        [Piece(k, send + k * step, nbytes) for k in range(count)],
        [Piece(k, places[k], nbytes) for k in range(count)],
    )


def requests_of(transfer: Transfer, count: int) -> int:
    """The number of requests that a transfer of so many ranks is, as MPI counts."""
    kinds = {MESSAGES: len(transfer.messages), RING: 2, FOLD: 2 * (count - 1)}
    return kinds.get(transfer.kind, 1)


FOLDING = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
"""A function that folds rows: where the result goes, where the places of rows stand, bytes."""


def fold_rows(transfer: Transfer, rows: Sequence[int]) -> None:
    """Fold rows at these addresses, in rank order, to where a transfer receives."""
    places = (ctypes.c_void_p * len(rows))(*rows)
    FOLDING(transfer.fold)(transfer.receive, ctypes.addressof(places), transfer.nbytes)


class Caller(Protocol):
    """A program that moves bytes, as messages name what it moves."""

    def collective(self, number: int, precise: bool) -> str:
        """A transfer by its number; `precise` where its line may take long to find."""
        ...


class UnderWay(Protocol):
    """A transfer that Python began."""

    gives: bool
    """Whether others expect something of this rank."""

    def is_done(self) -> bool:
        """Whether a wait for it would return at once."""
        ...

    def wait(self) -> None:
        """Return when it is over."""
        ...


_links: WeakValueDictionary[int, Link] = WeakValueDictionary()


def links_of_process() -> list[Link]:
    """All ends of groups that this process holds."""
    return [link for link in (found() for found in _links.valuerefs()) if link is not None]


class Link(ABC):
    """One rank's end of a group: its ranks, its own place among them, and its block."""

    words: ClassVar[int] = OWN

    def __init__(self, name: str, ranks: Sequence[int], place: int) -> None:
        self.name, self.ranks, self.place = name, tuple(ranks), place
        self.block = (ctypes.c_int64 * self.words)()
        self.address = ctypes.addressof(self.block)
        self.number = ctypes.c_int64(place)
        """The own place as programs read it."""
        self.talk: Callable[[bool], str] | None = None
        """What a conversation outside of programs is about, while it lasts."""
        self.agreed: set[str] = set()
        """The plans of transfers that all ranks were found to share."""
        self.labels: dict[str, ctypes.Array[ctypes.c_char]] = {}
        """The digests of collectives that Python began."""
        self.under_way: set[UnderWay] = set()
        """Transfers that Python began and has not waited for: what they read and write stays."""
        self._look_at = SWEEP
        self._caller: Caller | None = None
        self._before: tuple[Caller, int] | None = None
        _links[id(self)] = self

    @property
    def count(self) -> int:
        """The number of ranks."""
        return len(self.ranks)

    def enter(self, caller: Caller) -> None:
        """A program is about to move bytes here."""
        number = self.block[STARTED]
        if number and self._caller is not None:
            self._before, self.block[STARTED] = (self._caller, number), 0
        self._caller = caller

    def keep(self, begun: UnderWay) -> None:
        """Hold what has begun; nobody may wait for it, so what is over is let go at times."""
        if len(self.under_way) >= self._look_at:
            for done in [each for each in self.under_way if each.is_done()]:
                done.wait()
            self._look_at = 2 * len(self.under_way) + SWEEP
        self.under_way.add(begun)

    def finish(self) -> None:
        """Give others what they expect of this rank, though nobody here waits for it."""
        for begun in list(self.under_way):
            if begun.gives and not self.block[FAILED]:
                begun.wait()

    def waiting(self, precise: bool = False) -> str:
        """The transfer that this rank waits for here; empty while it waits for nothing."""
        if self.talk is not None:
            return self.talk(precise)
        found, number = self._caller, self.block[AWAITED]
        return found.collective(number - 1, precise) if found is not None and number else ""

    def latest(self, precise: bool = False) -> str:
        """The last transfer that was begun here."""
        found, number = self._caller, self.block[STARTED]
        if not number and self._before is not None:
            found, number = self._before
        return found.collective(number - 1, precise) if found is not None and number else ""

    @abstractmethod
    def tell(self, message: bytes) -> list[bytes]:
        """Give every rank some bytes, and get theirs, in rank order."""

    @abstractmethod
    def is_done(self, transfer: Transfer) -> bool:
        """Whether a wait for a transfer that has started would return at once."""

    @property
    def numbers_at(self) -> int:
        """The address from which numbers of transfers are counted."""
        return 0

    @abstractmethod
    def failure(self) -> CollectiveError | None:
        """The error of a transfer that went wrong."""

    def check(self) -> None:
        """Raise what went wrong in a run, if something did."""
        found = self.failure() if self.block[FAILED] else None
        if found is not None:
            raise found

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the group."""


class Backend(ABC):
    """One rank among all, and what makes groups of them."""

    name: ClassVar[str]
    rank: int
    size: int
    native: ClassVar[tuple[tuple[str, str], ...]]
    """Its transfers: gather, exchange, shift, messages, each with what does it."""

    @abstractmethod
    def link(self, name: str, ranks: Sequence[int]) -> Link:
        """Make this rank's end of a new group; all its ranks ask for it, in the same order."""

    @abstractmethod
    def abort(self, cause: BaseException) -> None:
        """End all ranks, since this one failed."""

    @abstractmethod
    def close(self) -> None:
        """Close this rank's connections; all ranks call it."""


opened: list[Backend] = []
"""Those by which this process meets others, until they are closed."""


class CallbackLink(Link):
    """A group's end whose transfers are Python's work: for tests, and for models of networks."""

    def __init__(self, name: str, ranks: Sequence[int], place: int) -> None:
        super().__init__(name, ranks, place)
        self.cause: BaseException | None = None
        self._entries = [ENTRY(self._guarded(do)) for do in (self._started, self._awaited)]
        for at, entry in zip((START, WAIT), self._entries, strict=True):
            self.block[at] = ctypes.cast(entry, ctypes.c_void_p).value or 0

    @abstractmethod
    def start(self, transfer: Transfer) -> None:
        """Begin a transfer; what it sends does not change until it is waited for."""

    @abstractmethod
    def wait(self, transfer: Transfer) -> None:
        """Wait until a transfer has received its data."""

    def close(self) -> None:
        """Drop the callbacks that native code has: they keep this object alive."""
        self._entries.clear()

    def _started(self, transfer: Transfer) -> None:
        """Begin, and note which transfer is the latest."""
        self.block[STARTED] = transfer.first + 1
        self.start(transfer)

    def _awaited(self, transfer: Transfer) -> None:
        """Wait, and note for which transfer meanwhile."""
        self.block[AWAITED] = transfer.first + 1
        self.wait(transfer)
        self.block[AWAITED] = 0

    def failure(self) -> CollectiveError | None:
        """The error that a callback raised."""
        if isinstance(self.cause, CollectiveError):
            return self.cause
        return CollectiveError(f"{self.name}: {type(self.cause).__name__}: {self.cause}")

    def _guarded(self, do: Callable[[Transfer], None]) -> Callable[[int], None]:
        """The entry that native code calls: an error can't be raised there, so it is kept."""

        def entry(slots: int) -> None:
            if self.block[FAILED]:
                return
            try:
                do(transfer_at(slots))
            except BaseException as cause:
                self.cause, self.block[FAILED] = cause, 1

        return entry
