"""A script's report: PyTorch's names that are not here or do nothing, and lines that were slow."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.ir.provenance import Site, package_of, waited
from gnomon.lazy import Lazy

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["NameReport"]

tables = Lazy("rich.table")
"""Only a script that missed a name waits for what draws."""

MANY = 16
"""So many programs compiled at one line are worth a word: shapes or numbers vary there."""
OURS = frozenset({"gnomon", "importlib"})
"""Packages between a script's line and its question for a name."""


@dataclass
class NameReport:
    """The names that a script asked for, each with the first line that did, and how often."""

    missing: dict[str, str] = field(default_factory=dict)
    idle: dict[str, str] = field(default_factory=dict)
    """Names that are here and do nothing, such as those of a GPU."""
    waited: dict[Site, tuple[int, float]] = field(default_factory=lambda: dict(waited))
    """Line -> the count and seconds of compilations before the script began."""

    def lacks(self, name: str) -> None:
        """Note a name that is not here."""
        self.missing.setdefault(name, line_of_caller())

    def idles(self, name: str) -> None:
        """Note a name that is here and does nothing."""
        self.idle.setdefault(name, line_of_caller())

    def slow(self) -> dict[str, str]:
        """The lines that waited for many programs, by what was compiled there."""
        found = {}
        for site, (count, seconds) in waited.items():
            count, seconds = (
                now - then
                for now, then in zip((count, seconds), self.waited.get(site, (0, 0)), strict=True)
            )
            if count > MANY:
                line = f"{count} programs compiled in {seconds:.1f} s"
                found[line] = f"{Path(site.file).name}:{site.line}"
        return found

    def rows(self) -> list[tuple[str, str, str]]:
        """Names that were asked for in vain, and lines that were slow: kind, name and line."""
        kinds = (
            ("not in Gnomon", self.missing),
            ("here, does nothing", self.idle),
            ("slow", self.slow()),
        )
        return [(kind, name, line) for kind, names in kinds for name, line in names.items()]

    def show(self, console: Console) -> None:
        """Print what was asked for in vain, and what was slow; nothing where there was neither."""
        rows = self.rows()
        if not rows:
            return
        table = tables.Table(
            box=None, pad_edge=False, title="PyTorch's names, and waits", title_justify="left"
        )
        for title in ("", "name", "line"):
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def line_of_caller() -> str:
    """The innermost line of a program that is neither ours nor Python's importing."""
    caller = sys._getframe(1)
    while caller.f_back is not None:
        name, file = caller.f_globals.get("__name__", ""), caller.f_code.co_filename
        if package_of(name) not in OURS and not file.startswith("<frozen"):
            return f"{Path(file).name}:{caller.f_lineno}"
        caller = caller.f_back
    return "?"
