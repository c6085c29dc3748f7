"""Programs that run one after another as one table, in one native call.

What each of them reads and writes is known by its address before the first one runs. Which programs
these are, and which memory they take, is decided by who joins them (gnomon/tensor/pieces.py).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gnomon.runtime import native, threads
from gnomon.runtime.buffer import memory, size_class
from gnomon.runtime.program import ARENA_BASE, LEAST_SCRATCH, Needs, RunState

__all__ = ["JoinedPrograms", "ProgramRows", "joined_rows", "table_rows"]

BARRIER, FIRST, KIND, TARGET = (
    at // 8 for at in (native.BARRIER, native.FIRST_SLOT, native.KIND, native.TARGET)
)
"""Columns of a table of steps."""
BASES = 2
"""Bases of a run: nothing, and the arena, which programs have in turn."""


class ProgramRows(NamedTuple):
    """A program as rows of a longer table: its steps, and every slot's base and offset."""

    steps: np.ndarray
    places: np.ndarray
    """For each slot which of the program's addresses it counts from."""
    bound: np.ndarray
    """For each slot its base in the run, and what is added to it and to the address."""
    jumps: bool
    needs: Needs


def table_rows(steps: np.ndarray, bound: np.ndarray, needs: Needs) -> ProgramRows | None:
    """The rows of a program's own table; None if loops change slots."""
    if needs.registers or needs.scalars:
        return None
    steps, places, bound = steps.copy(), bound[:, 0] // 8, bound.copy()
    steps[:1, BARRIER] = 1  # it reads what the one before has written, and has its arena
    bound[:, 0] = np.where(places == ARENA_BASE, 8 * ARENA_BASE, 0)
    return ProgramRows(steps, places, bound, bool(steps[:, KIND].any()), needs)


Spot = tuple[int, int]
"""The index of an address in a list, and an offset in bytes from it."""


def joined_rows(parts: Sequence[tuple[ProgramRows, Sequence[Spot]]]) -> ProgramRows:
    """The rows of several programs, one after another, with the places of their addresses."""
    rows = [x for x, _ in parts]
    steps, places, bound = tables_of(rows)
    ways = [[(-BASES, 0)] * BASES + list(spots) for _, spots in parts]
    found = np.array([BASES + which for way in ways for which, _ in way])
    shifts = np.array([shift for way in ways for _, shift in way])
    starts = np.cumsum([0, *map(len, ways[:-1])])
    places += np.repeat(starts, [len(x.bound) for x in rows])
    bound[:, 1] += shifts[places]
    needs = Needs(
        arena=max(x.needs.arena for x in rows),
        scratch=max(x.needs.scratch for x in rows),
        alone=all(x.needs.alone for x in rows),
    )
    return ProgramRows(steps, found[places], bound, any(x.jumps for x in rows), needs)


def tables_of(rows: Sequence[ProgramRows]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The concatenated steps of programs; each slot's place in its program, and its binding."""
    steps = np.concatenate([x.steps for x in rows])
    lengths = np.array([len(x.steps) for x in rows])
    slots = np.array([len(x.bound) for x in rows])
    steps[:, FIRST] += np.repeat(8 * (slots.cumsum() - slots), lengths)
    if any([x.jumps for x in rows]):
        steps[:, TARGET] += np.repeat(lengths.cumsum() - lengths, lengths)
    places = np.concatenate([x.places for x in rows])
    return steps, places, np.concatenate([x.bound for x in rows])


class JoinedPrograms:
    """A table to which programs are added until it is run and emptied."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        """Begin a table."""
        self.rows: list[ProgramRows] = []
        self.addresses: list[int] = []
        """For each program: nothing twice, for the bases of a run, its inputs, its outputs."""
        self.begins: list[int] = []

    def add(self, rows: ProgramRows, given: Sequence[int], made: Sequence[int]) -> None:
        """Add a run of a program on buffers given by address."""
        self.begins.append(len(self.addresses))
        self.addresses += (0, 0, *given, *made)
        self.rows.append(rows)

    def run(self) -> None:
        """Run all added programs in order; their buffers are kept alive until then."""
        if not self.rows:
            return
        needs = [x.needs for x in self.rows]
        steps, bound = self._tables()
        start = -(-8 * (BASES + len(bound)) // 64) * 64
        scratch = max(LEAST_SCRATCH, *(x.scratch for x in needs))
        size = max(x.arena for x in needs)
        team = threads.acquire(-(-(start + scratch) // 64) * 64, all(x.alone for x in needs))
        arena = 0
        try:
            arena = memory.take(size_class(size)) if size else 0
            state = RunState(steps, bound, (BASES, 8 * BASES, start))
            state.block[native.THREADS :] = [*team.words, 0, 0, 0, arena]
            threads.entries().run(state.address)
        finally:
            team.release()
            if arena:
                memory.give(arena, size_class(size))
            self._start()

    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The concatenated steps, with slots as addresses."""
        steps, places, bound = tables_of(self.rows)
        begins = np.frombuffer(array("q", self.begins), np.int64)
        places += np.repeat(begins, [len(x.bound) for x in self.rows])
        bound[:, 1] += np.frombuffer(array("q", self.addresses), np.int64)[places]
        return steps, bound
