"""Process groups: the ranks that meet in a collective, and those that this rank has.

A rank that is a thread has groups of its own; a process that is one rank has one set for all its
threads. What groups do with tensors is gnomon/tensor/collectives.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from gnomon.errors import ArgumentError, CollectiveError
from gnomon.runtime.comm import here
from gnomon.runtime.comm.base import Backend, Link
from gnomon.settings import Block, holding

__all__ = ["Membership", "ProcessGroup", "default_group", "membership", "of_rank"]

WORLD = "world"
"""The name of the group of all ranks."""


class ProcessGroup:
    """A group of ranks: their global numbers, and this rank's end."""

    _followed = None
    """All of it: a program names its groups, and each run takes the one of that name."""

    def __init__(self, link: Link, backend: Backend) -> None:
        self.link, self.backend, self.ranks, self.name = link, backend, link.ranks, link.name

    def rank(self) -> int:
        """The index of this rank in the group."""
        return self.link.place

    def size(self) -> int:
        """The number of ranks."""
        return len(self.ranks)

    def place_of(self, rank: int) -> int:
        """The index in the group of a global rank."""
        if rank not in self.ranks:
            raise ArgumentError(f"{self.name}: rank {rank} is none of its ranks {self.ranks}.")
        return self.ranks.index(rank)

    def __repr__(self) -> str:
        return f"ProcessGroup({self.name!r}, ranks={self.ranks}, backend={self.backend.name!r})"


class Membership:
    """The groups of a rank by name, the first of which is all ranks."""

    def __init__(self, backend: Backend | None = None) -> None:
        self.seat = backend
        """Its end among the threads of this process, if it is one of them."""
        self.groups: dict[str, ProcessGroup] = {}
        self.meshes: list[Any] = []
        """The meshes that were made over these ranks."""
        self.made = 0
        self.named: Counter[str] = Counter()

    def join(self, backend: Backend) -> ProcessGroup:
        """Make the group of all ranks."""
        return self.add(backend, WORLD, range(backend.size))

    def make(self, ranks: Sequence[int]) -> ProcessGroup | None:
        """Create a group of some ranks; all ranks call it. None on ranks that are not in it."""
        world = self.world()
        self.made += 1
        wrong = [k for k in ranks if k not in world.ranks]
        if wrong or len(set(ranks)) < len(ranks) or not ranks:
            raise ArgumentError(
                f"new_group: expected ranks below {world.size()}, each once: got {list(ranks)}."
            )
        if world.backend.rank not in ranks:
            return None
        return self.add(world.backend, f"group {self.made}", ranks)

    def add(self, backend: Backend, name: str, ranks: Sequence[int]) -> ProcessGroup:
        """Make this rank's end of a group."""
        found = self.groups[name] = ProcessGroup(backend.link(name, ranks), backend)
        here.add(found.link)
        return found

    def number(self, kind: str) -> int:
        """The next number of a kind of groups; all ranks ask for it in the same order."""
        self.named[kind] += 1
        return self.named[kind] - 1

    def fresh(self, name: str) -> str:
        """A new name for a group along a mesh axis; all ranks ask for it in the same order."""
        self.named[name] += 1
        taken = self.named[name] > 1 or name in here.links()
        return f"{name} {self.named[name]}" if taken else name

    def remove(self, group: ProcessGroup) -> None:
        """Leave a group; leaving that of all ranks leaves every group."""
        leaving = list(self.groups.values())[::-1] if group.name == WORLD else [group]
        if group.name == WORLD:
            self.meshes.clear()
            self.named.clear()
        for each in leaving:
            if self.groups.pop(each.name, None) is not None:
                here.remove(each.name)
                each.link.finish()
                each.link.close()

    def world(self) -> ProcessGroup:
        """The group of all ranks."""
        if WORLD not in self.groups:
            raise CollectiveError(
                "distributed: there is no process group. Call gn.distributed.init_process_group()."
            )
        return self.groups[WORLD]


_own: ContextVar[Membership | None] = ContextVar("membership", default=None)
_of_process = Membership()


def membership() -> Membership:
    """The groups of this rank."""
    return _own.get() or _of_process


def default_group() -> ProcessGroup | None:
    """The group of all ranks, if there is one."""
    return membership().groups.get(WORLD)


class of_rank(holding["Membership | None"]):
    """A context manager in which this thread is a rank with groups of its own."""

    def __init__(self, backend: Backend) -> None:
        self.own = Membership(backend)
        super().__init__(_own, self.own)

    __exit__ = Block.__exit__

    def leave(self) -> None:
        """Restore the thread's previous rank, and close the groups of this one."""
        _own.set(self.before[0])
        for name in list(self.own.groups):
            here.remove(name)
            self.own.groups.pop(name).link.close()
