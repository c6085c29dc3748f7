"""The list of strangers' programs, programs.toml: where each comes from, how it starts and ends.

Nothing is run here: see run.py.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["DOUBLE", "LIST", "OWN", "Program", "read_programs", "read_sources"]

LIST = Path(__file__).with_name("programs.toml")
DOUBLE = "GNOMON_PACKAGES_DOUBLE"
"""The variable under which a run hears whether it computes in double precision: 1 or 0."""
OWN = "scripts"
"""The source that is a folder here: short programs of ours over real packages."""
LOSS = r"(?i)loss\D{0,12}?(-?\d+\.\d+(?:e[-+]?\d+)?)"


@dataclass(frozen=True)
class Program:
    """One program: its folder below the sources, its command, and the line to which it must run."""

    name: str
    folder: str
    command: str
    last: str = ""
    """A pattern of the last line; empty: the program ends by itself, without an error."""
    lines: int = 1
    """How often that line must come."""
    curve: str = LOSS
    """A pattern of the numbers that are compared; empty where they depend on draws of a kind that
    can't be made equal."""
    needs: dict[str, str] = field(default_factory=dict)
    """Kinds of data -> where they must lie."""
    double: bool = False
    """Whether curves are compared in double precision: ten steps make much of roundoff."""
    path: tuple[str, ...] = ()
    """Folders, from the source's, where the program's modules are looked for."""

    @property
    def source(self) -> str:
        """The source that the program belongs to."""
        return self.folder.partition("/")[0]


def read_programs(path: Path = LIST) -> list[Program]:
    """All programs of the list, in its order."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["program"]
    return [Program(**{**row, "path": tuple(row.get("path", ()))}) for row in rows]


def read_sources(path: Path = LIST) -> dict[str, str]:
    """Name of a source -> its repository and commit."""
    return tomllib.loads(path.read_text(encoding="utf-8"))["sources"]
