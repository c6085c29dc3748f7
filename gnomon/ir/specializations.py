"""Specialization caches: one kind of cache for kernels, clusters, programs and captures.

The key of a family is everything but the numbers: an outline, or a signature without sizes. Each
artifact has guards that say for which numbers it is valid (`serves`); the first valid one is taken,
since it knows most of its numbers. The table of limits below says when a further one is made, from
which samples the varying numbers are found, and how many are kept. If there are too many, the
oldest is dropped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

from gnomon.ir.memo import Recent

__all__ = ["ArtifactFamily", "FamilyLimits", "LatestEntries", "Made", "Specializations"]

Sample = tuple[Any, ...]
ALL = 1 << 62


class FamilyLimits(NamedTuple):
    """Limits of a specialization cache: when to generalize, how many entries to store."""

    enough: int
    """The number of different sizes after which they count as varying."""
    kept: int
    """The most artifacts of a family; numbers that none serves then get one of their own."""
    samples: int = ALL
    """The most samples of earlier numbers, the latest ones."""
    failures: int = ALL
    """The failed attempts after which no more are made for a family."""


KERNELS = FamilyLimits(enough=2, kept=8, samples=512)
"""Code that knows its sizes is up to 5 % quicker (decision 0026): only where other sizes come is
code written that reads them. Writers split by few decisions: one row or many, whole vectors or a
rest. An attempt costs no more than the code that is written instead: no failure is counted."""
CLUSTERS = FamilyLimits(enough=8, kept=1, failures=1)
"""ResNets have two to four sizes of a layer, and code of their own is quicker; DenseNets have
dozens (decision 0072). All sizes of a program are samples: one nest is made for all of them."""
PROGRAMS = FamilyLimits(enough=3, kept=8, samples=4, failures=2)
"""Passes on symbols cost more than those of one size, and who has two sizes never gains (decision
0068: tests took twice as long when the second one asked). Relations that hold in four graphs are
not by chance."""
GRAPHS = FamilyLimits(enough=1, kept=8, samples=1, failures=2)
"""A graph on symbols was captured for many sizes: its first program is one for many. One that
serves no size nearby counts as failed, since further ones would do no better."""
CAPTURES = FamilyLimits(enough=3, kept=8, samples=4, failures=3)
"""As of programs; but what Python decides at one size need not be decided at the next, so that a
capture is tried once more, and a success makes good what failed before."""
ASKED = 2
"""The number of different sizes after which a function with `dynamic=True` generalizes."""
WAYS = 16
"""Captures of a family with host reads: samples too, of which there are several
for the same sizes."""
FILLED = 64
"""Programs at their sizes that are kept of one for many, behind a host read: enough for sizes
that come again in a loop over experts. To fill one in takes less than a millisecond."""
MOST_CALLERS = 256
"""The most lists of lines that are kept for one program."""
SERVED = 512
"""Limits of a function without host reads, whose sizes are those of its arguments."""

K = TypeVar("K")
V = TypeVar("V")


class Serving(Protocol):
    """Protocol of a program, or a part of one, that serves some sizes."""

    def serves(self, numbers: Any, /) -> Any | None:
        """The numbers to pass to it for these sizes; None if it does not serve them."""
        ...


Made = TypeVar("Made", bound=Serving)


class LatestEntries(dict[K, V]):
    """A table that keeps its latest `most` entries.

    >>> squares = LatestEntries(2)
    >>> for x in range(4):
    ...     squares[x] = x * x
    >>> squares
    {2: 4, 3: 9}
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def put(self, key: K, value: V) -> list[K]:
        """Add an entry; returns the keys of evicted ones."""
        self.pop(key, None)
        super().__setitem__(key, value)
        gone = [*self][: -self.most] if len(self) > self.most else []
        for each in gone:
            self.pop(each, None)  # unless another thread has taken it away
        return gone

    def found(self, key: K, make: Callable[[K], V]) -> V:
        """The entry of a key, which is made if there is none."""
        found = self.get(key)
        if found is None:
            found = self[key] = make(key)
        return found


class ArtifactFamily(Generic[Made]):
    """The artifacts of one key.

    `lock` is held while an artifact is made, so that it is made once; readers do not take it.
    """

    def __init__(self, limits: FamilyLimits) -> None:
        self.limits, self.lock = limits, threading.RLock()
        self.made: list[Made] = []
        self.samples: LatestEntries[Sample, Any] = LatestEntries(limits.samples)
        self.failed = 0

    def serving(self, numbers: Sample) -> tuple[Made, Any] | None:
        """The first artifact that serves these numbers, and the numbers to pass to it, or None."""
        for each in self.made:
            given = each.serves(numbers)
            if given is not None:
                return each, given
        return None

    def served(
        self,
        numbers: Sample,
        make: Callable[[list[Sample]], Made | None],
        enough: int = 0,
    ) -> tuple[Made, Any] | None:
        """Find an artifact that serves the numbers, or make one if there are enough samples."""
        found = self.serving(numbers)
        if found is not None:
            return found
        with self.lock:
            found = self.serving(numbers)  # another thread may have made it meanwhile
            others = self.others(numbers, enough) if found is None else None
            self.samples[numbers] = None
            if others is not None:
                self.add(make(others))
                found = self.serving(numbers)
            return found

    @property
    def is_closed(self) -> bool:
        """Whether no more artifacts are tried: there are many, or too many attempts have failed."""
        return len(self.made) >= self.limits.kept or self.failed >= self.limits.failures

    def others(self, numbers: Sample, enough: int = 0) -> list[Sample] | None:
        """The samples beside these numbers; None where no artifact should be tried now.

        enough: the number of samples that tell which numbers vary, where the limits do not say it.
        """
        if self.is_closed:
            return None
        found = [x for x in [*self.samples] if x != numbers]
        return found if len(found) + 1 >= (enough or self.limits.enough) else None

    def add(self, made: Made | None) -> None:
        """Store an artifact; None counts as a failed attempt."""
        with self.lock:
            if made is None:
                self.failed += 1
            else:
                self.made = [*self.made, made][-self.limits.kept :]


class Specializations(Recent[Hashable, Any]):
    """A specialization cache: families by their keys; unused ones are evicted.

    kind: creates a family from limits. `lock` is for short work.
    """

    def __init__(
        self, limits: FamilyLimits, kind: Callable[[FamilyLimits], Any] = ArtifactFamily
    ) -> None:
        super().__init__()
        self.limits, self.kind, self.lock = limits, kind, threading.RLock()
        _tables.add(self)

    def of(self, key: Hashable) -> Any:
        """The family of a key, which is created if there is none."""
        with self.lock:
            found = self.get(key)
            if found is None:
                found = self[key] = self.kind(self.limits)
            return found


_tables: WeakSet[Specializations] = WeakSet()


def forget_locks() -> None:
    """Replace all locks in a forked child: the threads that held them do not exist there."""
    for table in [*_tables]:
        table.lock = threading.RLock()
        for family in table.values():
            family.lock = threading.RLock()


os.register_at_fork(after_in_child=forget_locks)
