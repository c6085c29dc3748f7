"""A script's report: PyTorch's names that are missing or do nothing, and slow lines."""

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
"""Loaded only to print a report."""

MANY = 16
"""The number of compilations at one line above which it is reported as slow."""
OURS = frozenset({"gnomon", "importlib"})
"""Packages that are skipped to find the script's line."""


@dataclass
class NameReport:
    """The missing and idle names that a script used, with the first line that did."""

    missing: dict[str, str] = field(default_factory=dict)
    idle: dict[str, str] = field(default_factory=dict)
    """Names that do nothing, such as those of a GPU."""
    waited: dict[Site, tuple[int, float]] = field(default_factory=lambda: dict(waited))
    """The count and seconds of compilations before the script began, by line."""

    def lacks(self, name: str) -> None:
        """Note a missing name."""
        self.missing.setdefault(name, line_of_caller())

    def idles(self, name: str) -> None:
        """Note a name that does nothing."""
        self.idle.setdefault(name, line_of_caller())

    def slow(self) -> dict[str, str]:
        """The lines at which many programs were compiled, by a description."""
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
        """The rows of the report: kind, name and line."""
        kinds = (
            ("not in Gnomon", self.missing),
            ("here, does nothing", self.idle),
            ("slow", self.slow()),
        )
        return [(kind, name, line) for kind, names in kinds for name, line in names.items()]

    def show(self, console: Console) -> None:
        """Print the report, unless it is empty."""
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
    """The innermost line outside of Gnomon and Python's import system."""
    caller = sys._getframe(1)
    while caller.f_back is not None:
        name, file = caller.f_globals.get("__name__", ""), caller.f_code.co_filename
        if package_of(name) not in OURS and not file.startswith("<frozen"):
            return f"{Path(file).name}:{caller.f_lineno}"
        caller = caller.f_back
    return "?"
