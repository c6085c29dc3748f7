"""Compare two profiles by line, even if the files were edited between them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import PurePath

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from gnomon.profiler.model import Profile
from gnomon.profiler.reports import Cost, LineRow, by_source_line, totals
from gnomon.profiler.tables import short_path, source_line, table, time_text

__all__ = ["Change", "changes", "compare_table"]

SourceLine = tuple[str, int]


class Change(Struct):
    """A line's cost per step in two profiles; None in a profile that lacks the line."""

    file: str
    line: int
    text: str
    before: Cost | None
    after: Cost | None

    @property
    def difference(self) -> float:
        """The nanoseconds by which a step takes longer now."""
        return time_of(self.after) - time_of(self.before)


def time_of(cost: Cost | None) -> float:
    """The time of a cost, 0 for None."""
    return cost.time if cost else 0.0


def changes(before: Profile, after: Profile) -> list[Change]:
    """The cost per step of each line before and after, the largest difference first."""
    old, new = costs_of_a_step(before), costs_of_a_step(after)
    moved = moves(before, after, old)
    found = {moved.get(place, place): cost for place, cost in old.items()}
    rows = [
        Change(*place, text_of(place, before, after), found.get(place), new.get(place))
        for place in {**new, **found}
    ]
    rows = [row for row in rows if time_of(row.before) or time_of(row.after)]
    return sorted(rows, key=lambda row: -abs(row.difference))


def costs_of_a_step(profile: Profile) -> dict[SourceLine, Cost]:
    """The cost per step of each line."""
    steps = max(1, totals(profile).steps)
    return {(row.file, row.line): per_step(row, steps) for row in by_source_line(profile)}


def per_step(row: LineRow, steps: int) -> Cost:
    """A row's cost divided by the number of steps."""
    cost = Cost(kernels=row.cost.kernels, calls=row.cost.calls // steps)
    for name in ("time", "nbytes", "flops", "least"):
        setattr(cost, name, getattr(row.cost, name) / steps)
    return cost


def moves(
    before: Profile, after: Profile, places: Iterable[SourceLine]
) -> dict[SourceLine, SourceLine]:
    """The place in the second profile of each line of the first.

    A file is found by its path, or by its name if only one file has it. Its texts are compared:
    equal stretches correspond, and so do rewritten ones of equal length, line by line.
    """
    lines: dict[str, dict[int, int]] = {}
    found: dict[SourceLine, SourceLine] = {}
    for file, line in places:
        other = same_file(file, after)
        if file not in lines:
            texts = before.sources.get(file, ""), after.sources.get(other, "")
            lines[file] = line_moves(*texts)
        # a line that went keeps its old number, marked by its old path
        if line in lines[file]:
            found[file, line] = (other, lines[file][line])
        elif lines[file]:
            found[file, line] = (f"{file} (before)", line)
    return found


def same_file(file: str, after: Profile) -> str:
    """The path in another profile of a file; unchanged if none matches."""
    if file in after.sources:
        return file
    named = [each for each in after.sources if PurePath(each).name == PurePath(file).name]
    return named[0] if len(named) == 1 else file


def line_moves(before: str, after: str) -> dict[int, int]:
    r"""Map line numbers of a text to those of a later version.

    >>> line_moves("a\nb\nc", "new\na\nB\nc")
    {1: 2, 2: 3, 3: 4}
    """
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    found: dict[int, int] = {}
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and last - first == end - begin):
            found |= {first + n + 1: begin + n + 1 for n in range(last - first)}
    return found


def text_of(place: SourceLine, before: Profile, after: Profile) -> str:
    """The text of a line in the later profile, or else in the earlier one."""
    file, line = place
    old = file.removesuffix(" (before)")
    return source_line(after, file, line) or source_line(before, old, line)


def compare_table(before: Profile, after: Profile, most: int = 20) -> Table:
    """A table of the lines that changed most, and the sum of all."""
    rows = changes(before, after)
    made = table("before", "now", "change", "ratio", "kernels", "line of yours")
    for row in rows[:most]:
        made.add_row(*change_cells(row.before, row.after), place_of(row))
    whole = [sum_of(x.before for x in rows), sum_of(x.after for x in rows)]
    made.add_section()
    made.add_row(*change_cells(*whole), Text("all lines", style="bold"))
    return made


def sum_of(costs: Iterable[Cost | None]) -> Cost:
    """The sum of several costs."""
    made = Cost()
    for cost in costs:
        if cost:
            made.add(cost, 1.0)
    return made


def change_cells(before: Cost | None, after: Cost | None) -> Iterable[str | Text]:
    """The table cells of a change; green means less time."""
    difference = time_of(after) - time_of(before)
    style = "green" if difference < 0 else "red" if difference > 0 else ""
    ratio = f"{time_of(after) / time_of(before):.2f}" if before and before.time and after else ""
    kernels = [str(cost.kernels) if cost else "-" for cost in (before, after)]
    sign = "-" if difference < 0 else "+"
    return (
        time_text(before.time) if before else "-",
        time_text(after.time) if after else "-",
        Text(f"{sign}{time_text(abs(difference))}", style=style),
        Text(ratio, style=style),
        kernels[0] if kernels[0] == kernels[1] else " → ".join(kernels),
    )


def place_of(row: Change) -> Text:
    """The table cell of a line: its place and its text."""
    if not row.file:
        return Text("(no line)", style="dim")
    file = row.file.removesuffix(" (before)")
    gone = " (before)" if file != row.file else ""
    place = Text(f"{short_path(file)}:{row.line}{gone}", style="bold")
    return place.append(f"  {row.text}", style="not bold dim")
