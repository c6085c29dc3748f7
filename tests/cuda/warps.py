"""Threads that stand together: which wait for which, what they give each other, what they touch."""

from __future__ import annotations

from collections import Counter

import numpy as np

WARP = 32
"""Threads of a warp."""
TOGETHER = 16
"""Threads that meet in a warp: those of a vector's lanes."""
SECTOR = 32
"""Bytes that memory is read and written by."""
ADDRESS = 48
"""Bits of an address."""


class Warps:
    """The threads of a launch by blocks and warps."""

    def __init__(self, blocks: int, threads: int) -> None:
        numbers = np.arange(blocks * threads, dtype=np.int64)
        self.groups, within = numbers // threads, numbers % threads
        self.lanes = within % WARP
        self.numbers = self.groups * -(-threads // WARP) + within // WARP
        """The warp of each thread."""
        self.first = numbers - self.lanes

    def words(self, on: np.ndarray) -> np.ndarray:
        """A bit for each thread, warp by warp."""
        found = np.zeros(int(self.numbers[-1]) + 1, np.int64)
        np.bitwise_or.at(found, self.numbers[on], np.int64(1) << self.lanes[on])
        return found

    def sources(self, how: str, by: np.ndarray, clamp: np.ndarray) -> np.ndarray:
        """The thread from which each gets a number by a shuffle (PTX ISA 8.0, shfl)."""
        segment, last, lanes = (clamp >> 8) & 31, clamp & 31, self.lanes
        low = lanes & segment
        high = low | (last & ~segment)
        ways = {
            "up": lanes - by,
            "down": lanes + by,
            "bfly": lanes ^ by,
            "idx": low | (by & ~segment),
        }
        inside = ways[how] >= high if how == "up" else ways[how] <= high
        return self.first + np.where(inside, ways[how], lanes)

    def ready(self, meets: str | None, here: np.ndarray, members: np.ndarray | None) -> np.ndarray:
        """The threads here of which all that they meet are here too.

        meets: None for nobody, "" for all of a block; else members are bits, for each thread.
        """
        if members is not None:
            missing = members.astype(np.int64) & ~self.words(here)[self.numbers]
            return here & (missing == 0)
        if meets is None:
            return here
        late = np.zeros(int(self.groups[-1]) + 1, bool)
        late[self.groups[~here]] = True
        return here & ~late[self.groups]

    def some(
        self, found: np.ndarray, members: np.ndarray | None, apart: bool, order: np.random.Generator
    ) -> np.ndarray:
        """Some of the threads that are ready; those that meet go together.

        apart: whether none of them meets another.
        """
        threads = np.arange(len(found))
        groups = threads if apart else self.groups
        if members is not None:
            wide = bool((members.astype(np.int64) >> TOGETHER & members & 0xFFFF).any())
            groups = self.numbers if wide else threads // TOGETHER
        kept = found & (order.random(int(groups[-1]) + 1) < 0.5)[groups]
        return kept if kept.any() else found


class Traffic:
    """What a launch reads and writes in the card's memory, warp by warp.

    A warp's access touches as many sectors as its threads' places are in; a place that several
    threads read counts once.
    """

    def __init__(self) -> None:
        self.sectors: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def add(self, name: str, addresses: np.ndarray, size: int, warps: np.ndarray) -> None:
        """Count an access of `size` bytes for each thread."""
        assert not (addresses >> np.uint64(ADDRESS)).any(), "warps: an address has too many bits."
        places = np.unique(warps.astype(np.uint64) << np.uint64(ADDRESS) | addresses)
        self.bytes[name] += size * len(places)
        # sorted, so that the places of a sector follow each other
        self.sectors[name] += int((np.diff(places // SECTOR) != 0).sum()) + (len(places) > 0)

    def take(self, other: Traffic) -> None:
        """Add another launch's."""
        self.sectors += other.sectors
        self.bytes += other.bytes

    def share(self, name: str) -> float:
        """How much of what is moved was asked for: 1 where no byte of a sector is left out."""
        return self.bytes[name] / (SECTOR * self.sectors[name])
