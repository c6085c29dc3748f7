"""The saved form of a program: all that a run needs beside machine code, as data and as bytes.

Kept on disk, it spares a process that sees a graph again all passes and all scheduling. It is data
alone; machine code is stored under the keys of its texts in the cache of objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnomon.runtime.program import Needs, Step
from gnomon.schedule.memory import MemoryPlan

__all__ = ["BufferKind", "ExternalCall", "Move", "Packed", "SavedProgram"]


@dataclass(frozen=True)
class Packed:
    """Prepacked weights that a run leaves for the next: input, bytes, and the packing kernel."""

    given: int
    nbytes: int
    symbol: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Move:
    """A transfer: the collective that it serves, mesh axis, kind, dtype and bytes.

    number: its id in the program. asked: the path to a node of the source that has its line: a
    place in the graph, then a graph in that node and a place there.
    """

    of: str
    mesh: str
    kind: int
    dtype: str
    nbytes: int
    shift: int
    number: int
    asked: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.of} along {self.mesh!r}, {self.nbytes:,} bytes of {self.dtype}"


BufferKind = tuple[tuple[int, ...], str]
"""A shape and the name of a dtype."""


@dataclass(frozen=True)
class ExternalCall:
    """A call of an external operation: its key, its arguments, the kinds of its buffers."""

    key: str
    said: str
    made: tuple[BufferKind, ...]
    given: tuple[BufferKind, ...]


@dataclass(frozen=True)
class SavedProgram:
    """A plan of a program, without its machine code.

    sizes: the bytes of each result. returns: for each output whether it is a result or an input,
    and which. over: results with an input that each may overwrite, if the caller gives it up.
    verdicts: what was measured of its fusions. kept: prepacked inputs.
    """

    steps: tuple[Step, ...]
    needs: Needs
    memory: MemoryPlan
    sizes: tuple[int, ...]
    returns: tuple[tuple[bool, int], ...]
    over: tuple[tuple[int, int], ...] = ()
    verdicts: tuple[tuple[str, tuple[Any, ...] | None], ...] = ()
    kept: tuple[Packed, ...] = ()
    meshes: tuple[str, ...] = ()
    """The mesh axes along which it moves bytes: it is given a group for each."""
    numbers: tuple[str, ...] = ()
    """The mesh axes along which it reads the rank's number, as its last inputs."""
    moves: tuple[Move, ...] = ()
    """The transfers between ranks, in the order in which they start."""
    externals: tuple[ExternalCall, ...] = ()
    """The calls of external operations: it is given the address of a function for each."""
