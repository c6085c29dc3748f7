"""Transfers that Python starts: they go on by themselves, in any number, until they are waited for.

The ranks of a group start its gathers and exchanges in one order. What a transfer reads and writes
is kept while it is under way, whoever drops it. Ranks send each other a digest of what they begin,
so that those that would move different things hear so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from gnomon.errors import CollectiveError
from gnomon.ir.provenance import Site
from gnomon.runtime.cache import digest
from gnomon.runtime.comm.base import (
    ENTRY,
    GATHER,
    MESSAGES,
    REQUESTS,
    START,
    WAIT,
    WORDS,
    Link,
    Message,
    Transfer,
    transfer_at,
)

__all__ = ["Comparison", "Posted", "start_collective", "start_messages"]

SHOWN = 4
"""Messages of a list that an error names."""
DIGEST, LABEL = 16, 512
"""Bytes of a digest of what a rank begins, and of its words about it."""


class Posted:
    """A transfer that was started, with `held`, the objects whose memory it uses."""

    def __init__(
        self, link: Link, transfer: Transfer, about: Callable[[], str], held: Any = None
    ) -> None:
        self.link, self.held, self._about = link, held, about
        listed = transfer.messages
        self.gives = transfer.kind != MESSAGES or any(each.sent for each in listed)
        self._requests = (ctypes.c_int64 * max(REQUESTS, len(listed)))()
        first = (ctypes.addressof(self._requests) - link.numbers_at) // 8
        placed = transfer._replace(group=link.address, first=first)
        words = [*placed[:WORDS], *chain(*listed)]
        self._slots = (ctypes.c_int64 * len(words))(*words)
        self._over = False
        self._call(START)
        link.keep(self)

    def collective(self, number: int, precise: bool = False) -> str:
        """Describe the transfer."""
        return self._about()

    def _call(self, entry: int) -> None:
        """Call a native function of the group, by its place in the group's block."""
        self.link.enter(self)
        ENTRY(self.link.block[entry])(ctypes.addressof(self._slots))
        self.link.check()

    def is_done(self) -> bool:
        """Whether all has been sent and received."""
        return self._over or self.link.is_done(transfer_at(ctypes.addressof(self._slots)))

    def wait(self) -> None:
        """Block until all has been sent and received."""
        if not self._over:
            self._over = True
            self._call(WAIT)
            self.link.under_way.discard(self)
            self.held = None


def start_collective(
    link: Link, kind: int, ends: tuple[int, int], nbytes: int, about: Callable[[], str], held: Any
) -> Posted:
    """Start a gather or an exchange between two addresses, of `nbytes` to each rank."""
    return Posted(link, Transfer(*ends, 0, kind, nbytes, 0, 0), about, held)


def start_messages(link: Link, listed: Sequence[Message], held: Any = None) -> Posted:
    """Start a list of messages, each with its address; receives are first."""
    ordered = tuple(sorted(listed, key=lambda each: each.sent))
    transfer = Transfer(0, 0, 0, MESSAGES, len(ordered), 0, 0, ordered)

    def about() -> str:
        rows = [(m.sent, link.ranks[m.peer], m.nbytes) for m in ordered[:SHOWN]]
        parts = [f"{n} bytes {'to' if sent else 'from'} rank {rank}" for sent, rank, n in rows]
        return ", ".join(parts) + (" ..." if len(ordered) > SHOWN else "")

    return Posted(link, transfer, about, held)


class Comparison:
    """A digest of a collective, which ranks exchange before its data.

    Every call sends one: a rank cannot know whether the others begin what they began before. Only
    where digests differ do ranks exchange descriptions.
    """

    def __init__(self, link: Link, what: str, site: Site) -> None:
        self.link, self.what, self.site, self._posted = link, what, site, None
        if link.count == 1:
            return
        mine = link.labels.get(what)
        if mine is None:
            words = bytes.fromhex(digest(what))[:DIGEST]
            mine = link.labels[what] = ctypes.create_string_buffer(words, DIGEST)
        self._mine, self._rows = mine, (ctypes.c_char * (DIGEST * link.count))()
        self._posted = self._gather(mine, self._rows, DIGEST)

    def _gather(self, mine: Any, rows: Any, nbytes: int) -> Posted:
        """Start a gather of these bytes from all ranks."""
        ends = ctypes.addressof(rows), ctypes.addressof(mine)
        return start_collective(self.link, GATHER, ends, nbytes, lambda: self.what, (mine, rows))

    def is_done(self) -> bool:
        """Whether the digests of all ranks are here."""
        return self._posted is None or self._posted.is_done()

    def wait(self) -> None:
        """Wait for all digests; CollectiveError where ranks start different collectives."""
        if self._posted is None:
            return
        self._posted.wait()
        rows = {self._rows.raw[k * DIGEST :][:DIGEST] for k in range(self.link.count)}
        if not rows <= {self._mine.raw, bytes(DIGEST)}:  # ranks that are not there send zeros
            self._refuse()

    def _refuse(self) -> None:
        """Raise an error that names the collectives that two ranks start, and their lines."""
        label = f"{self.what}\n{self.site}".encode()[:LABEL]
        rows = (ctypes.c_char * (LABEL * self.link.count))()
        self._gather(ctypes.create_string_buffer(label, LABEL), rows, LABEL).wait()
        labels = [rows[k * LABEL :][:LABEL].rstrip(b"\0") for k in range(self.link.count)]
        found = [row.decode(errors="replace").partition("\n") for row in labels]
        other = next(k for k, (what, *_) in enumerate(found) if what != found[0][0])
        ranks = [self.link.ranks[place] for place in (0, other)]
        lines = [
            f"  rank {rank}: {found[place][0]}, asked by {found[place][2]}"
            for rank, place in zip(ranks, (0, other), strict=True)
        ]
        raise CollectiveError(
            f"ranks {ranks[0]} and {ranks[1]} begin different collectives of "
            f"{self.link.name!r}.\n" + "\n".join(lines) + "\n"
            "Let all ranks of a group call the same, with the same shapes."
        )
