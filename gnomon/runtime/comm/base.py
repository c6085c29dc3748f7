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
"""The name of a wait outside of programs, if there is no other."""
REQUESTS = 2
"""Numbers that each transfer has for itself, at least."""

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""The type of native functions in a group's block; the argument is a call's slots."""
SWEEP = 8
"""The number of unawaited transfers at which completed ones are released."""
MOST_REQUESTS = 1 << 14
"""Transfers of one program that have numbers of their own."""


class Message(NamedTuple):
    """A message to or from a rank: rank, direction, address, bytes, tag.

    Messages of one pair of ranks with one tag arrive in the order in which they were sent.
    """

    peer: int
    sent: int
    start: int
    nbytes: int
    tag: int


class Transfer(NamedTuple):
    """A transfer as its call describes it: addresses, kind, bytes to each rank, number, shift.

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
    """Read a transfer from the slots of the native call that starts or awaits it."""
    words = (ctypes.c_int64 * WORDS).from_address(slots)
    if words[KIND] == FOLD:
        return Transfer(*words, fold=(ctypes.c_int64 * (WORDS + 1)).from_address(slots)[WORDS])
    if words[KIND] != MESSAGES:
        return Transfer(*words)
    size, count = len(Message._fields), words[NBYTES]
    rest = list((ctypes.c_int64 * (WORDS + size * count)).from_address(slots))[WORDS:]
    return Transfer(*words, tuple(Message(*rest[size * k :][:size]) for k in range(count)))


def pieces_of(transfer: Transfer, place: int, count: int) -> Pieces:
    """The messages that one rank of the group sends and receives for a transfer.

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
    """The number of MPI requests that a transfer in a group of `count` ranks takes."""
    kinds = {MESSAGES: len(transfer.messages), RING: 2, FOLD: 2 * (count - 1)}
    return kinds.get(transfer.kind, 1)


FOLDING = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
"""A function that folds rows: where the result goes, where the places of rows stand, bytes."""


def fold_rows(transfer: Transfer, rows: Sequence[int]) -> None:
    """Call a transfer's fold on the rows at these addresses, given in rank order."""
    places = (ctypes.c_void_p * len(rows))(*rows)
    FOLDING(transfer.fold)(transfer.receive, ctypes.addressof(places), transfer.nbytes)


class Caller(Protocol):
    """A program that starts transfers and can describe them for error messages."""

    def collective(self, number: int, precise: bool) -> str:
        """Describe the transfer of this number; `precise` allows a slow search for its line."""
        ...


class UnderWay(Protocol):
    """A transfer that Python started and may wait for."""

    gives: bool
    """Whether others expect something of this rank."""

    def is_done(self) -> bool:
        """Whether the transfer is complete, so that `wait` would return at once."""
        ...

    def wait(self) -> None:
        """Block until the transfer is complete."""
        ...


_links: WeakValueDictionary[int, Link] = WeakValueDictionary()


def links_of_process() -> list[Link]:
    """The group ends of this process, for error messages and heartbeats."""
    return [link for link in (found() for found in _links.valuerefs()) if link is not None]


class Link(ABC):
    """One rank's end of a group: ranks, its own index, and the block that native code reads."""

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
        """Record the program that starts the next transfers, for error messages."""
        number = self.block[STARTED]
        if number and self._caller is not None:
            self._before, self.block[STARTED] = (self._caller, number), 0
        self._caller = caller

    def keep(self, begun: UnderWay) -> None:
        """Hold a started transfer; from time to time, those that are complete are released."""
        if len(self.under_way) >= self._look_at:
            for done in [each for each in self.under_way if each.is_done()]:
                done.wait()
            self._look_at = 2 * len(self.under_way) + SWEEP
        self.under_way.add(begun)

    def finish(self) -> None:
        """Wait for the started transfers of which other ranks still need data from this one."""
        for begun in list(self.under_way):
            if begun.gives and not self.block[FAILED]:
                begun.wait()

    def waiting(self, precise: bool = False) -> str:
        """Describe the transfer that this rank waits for; "" while it waits for none."""
        if self.talk is not None:
            return self.talk(precise)
        found, number = self._caller, self.block[AWAITED]
        return found.collective(number - 1, precise) if found is not None and number else ""

    def latest(self, precise: bool = False) -> str:
        """Describe the last transfer that was started here; "" before the first one."""
        found, number = self._caller, self.block[STARTED]
        if not number and self._before is not None:
            found, number = self._before
        return found.collective(number - 1, precise) if found is not None and number else ""

    @abstractmethod
    def tell(self, message: bytes) -> list[bytes]:
        """The short messages of all ranks of the group, in rank order; this rank's is `message`."""

    @abstractmethod
    def is_done(self, transfer: Transfer) -> bool:
        """Whether a started transfer is complete, so that a wait for it would return at once."""

    @property
    def numbers_at(self) -> int:
        """The address relative to which native code numbers the group's requests."""
        return 0

    @abstractmethod
    def failure(self) -> CollectiveError | None:
        """The error of a transfer that failed; None if none did."""

    def check(self) -> None:
        """Raise the error of a transfer that failed in a run, if one did."""
        found = self.failure() if self.block[FAILED] else None
        if found is not None:
            raise found

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the group."""


class Backend(ABC):
    """One rank's connection with all ranks, and the factory of groups."""

    name: ClassVar[str]
    rank: int
    size: int
    native: ClassVar[tuple[tuple[str, str], ...]]
    """Its transfers: gather, exchange, shift, messages, each with what does it."""

    @abstractmethod
    def link(self, name: str, ranks: Sequence[int]) -> Link:
        """Create this rank's end of a new group; all its ranks call it, in the same order."""

    @abstractmethod
    def abort(self, cause: BaseException) -> None:
        """End all ranks, because this one failed with `cause`."""

    @abstractmethod
    def close(self) -> None:
        """Close this rank's connections; all ranks call it."""


opened: list[Backend] = []
"""The open backends of this process."""


class CallbackLink(Link):
    """An end of a group whose transfers are Python code: for tests and simulated networks."""

    def __init__(self, name: str, ranks: Sequence[int], place: int) -> None:
        super().__init__(name, ranks, place)
        self.cause: BaseException | None = None
        self._entries = [ENTRY(self._guarded(do)) for do in (self._started, self._awaited)]
        for at, entry in zip((START, WAIT), self._entries, strict=True):
            self.block[at] = ctypes.cast(entry, ctypes.c_void_p).value or 0

    @abstractmethod
    def start(self, transfer: Transfer) -> None:
        """Start a transfer; its data do not change until `wait`."""

    @abstractmethod
    def wait(self, transfer: Transfer) -> None:
        """Wait until a transfer has received its data."""

    def close(self) -> None:
        """Release the callbacks that native code holds: they keep this object alive."""
        self._entries.clear()

    def _started(self, transfer: Transfer) -> None:
        """Start a transfer, and record it as the latest."""
        self.block[STARTED] = transfer.first + 1
        self.start(transfer)

    def _awaited(self, transfer: Transfer) -> None:
        """Wait for a transfer, recorded meanwhile as the one that is waited for."""
        self.block[AWAITED] = transfer.first + 1
        self.wait(transfer)
        self.block[AWAITED] = 0

    def failure(self) -> CollectiveError | None:
        """The error that a callback raised."""
        if isinstance(self.cause, CollectiveError):
            return self.cause
        return CollectiveError(f"{self.name}: {type(self.cause).__name__}: {self.cause}")

    def _guarded(self, do: Callable[[Transfer], None]) -> Callable[[int], None]:
        """Wrap a callback for native code, through which no exception can pass: it is recorded."""

        def entry(slots: int) -> None:
            if self.block[FAILED]:
                return
            try:
                do(transfer_at(slots))
            except BaseException as cause:
                self.cause, self.block[FAILED] = cause, 1

        return entry
