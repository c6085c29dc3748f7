"""Notes in a program file for Gnomon itself: what its methods compute, and the lines that asked.

Other loaders skip them. Nothing in them is executed to be read, and graphs are made by the
primitives' own inference. They are good for the version of Gnomon that wrote them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gnomon.errors import GnomonError
from gnomon.ir.memo import memo
from gnomon.ir.node import Graph
from gnomon.program.graphs import GraphReader
from gnomon.runtime.cache import digest
from gnomon.settings import Settings

__all__ = ["BROKEN", "MethodNotes", "ProgramNotes", "read_graphs", "read_notes", "sources"]

OF_CODE = ("codegen", "compiler", "ir", "ops", "passes", "program", "runtime", "schedule")
"""The folders of this package on which kernels depend."""
BROKEN = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError),
    *(RecursionError, GnomonError, msgspec.MsgspecError),
)
"""Exceptions of building a graph from damaged rows."""


class MethodNotes(Struct, frozen=True):
    """The number of a method's graph, and its inputs that are prepacked."""

    graph: int
    kept: tuple[int, ...]


class ProgramNotes(Struct, frozen=True):
    """The source notes of a shipped program: name, encoded graphs, source lines, methods.

    settings: those of the compilation, by name.
    """

    name: str
    sources: str
    settings: dict[str, Any]
    rows: list[Any]
    sites: list[Any]
    methods: tuple[MethodNotes, ...]

    def encoded(self) -> bytes:
        """The notes as bytes."""
        return msgspec.msgpack.encode(self)


@memo
@cache
def sources() -> str:
    """The digest of the sources that code depends on, independent of their folder and times."""
    root = Path(__file__).parent.parent
    paths = sorted(path for folder in OF_CODE for path in (root / folder).rglob("*.py"))
    return digest(*(x for path in paths for x in (str(path.relative_to(root)), path.read_bytes())))


def read_notes(content: bytes) -> ProgramNotes:
    """Decode the notes of a file; raises one of BROKEN for invalid ones."""
    return msgspec.msgpack.decode(content, type=ProgramNotes)


def read_graphs(notes: ProgramNotes) -> tuple[list[Graph], Settings] | None:
    """The graph of each method, and the settings; None if another version wrote the notes.

    Raises one of BROKEN for invalid ones.
    """
    if notes.sources != sources():
        return None
    graphs = GraphReader(notes.rows, notes.sites).graphs
    places = [x.graph for x in notes.methods]
    if not all(0 <= k < len(graphs) for k in places):
        raise ValueError("a method has no graph")
    settings = Settings(**notes.settings)
    if list(map(type, settings)) != list(map(type, Settings())):
        raise ValueError("a setting is of another kind")
    return [graphs[k] for k in places], settings
