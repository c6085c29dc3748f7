"""torch.utils.benchmark: time statements and compare them in a table.

Pending results of a statement are computed before its run ends, so that its time includes their
computation.
"""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean, median, quantiles
from time import perf_counter
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.runtime.threads import get_num_threads, set_num_threads
from gnomon.tensor.evaluate import evaluate_all

__all__ = ["Compare", "Measurement", "Timer", "select_unit", "timer"]

timer = perf_counter
UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
MOST_SPREAD = 0.1
"""The interquartile range, as a fraction of the median, above which a warning is given."""
RUN = ast.parse(
    """
def run(_count, _clock, _settle):
    _setup
    _began = _clock()
    for _ in range(_count):
        _statement
        _settle()
    return _clock() - _began
"""
)
"""The template of the timed function."""


def select_unit(seconds: float) -> tuple[str, float]:
    """The unit in which a time is most readable, and its seconds.

    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    fits = [(name, size) for size, name in UNITS if seconds >= size]
    return fits[-1] if fits else ("ns", 1e-9)


def time_text(seconds: float, digits: int = 3) -> str:
    """A time in the unit in which it is most readable."""
    name, size = select_unit(seconds)
    return f"{round_digits(seconds / size, digits)} {name}"


def round_digits(value: float, digits: int = 3) -> str:
    """A number with a given number of significant digits."""
    places = digits - 1 - (math.floor(math.log10(value)) if value > 0 else 0)
    return f"{round(value, places):.{max(places, 0)}f}"


@dataclass
class Measurement:
    """The times of a statement: `raw_times` in seconds, each of `number_per_run` runs.

    >>> made = Measurement(2, [4.0, 6.0, 20.0], label="sum")
    >>> made.times, made.median
    ([2.0, 3.0, 10.0], 3.0)
    """

    number_per_run: int
    raw_times: list[float]
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1
    stmt: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> list[float]:
        """The seconds per run of each measurement."""
        return [x / self.number_per_run for x in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean seconds per run."""
        return mean(self.times)

    @property
    def median(self) -> float:
        """The median seconds per run."""
        return median(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range of the seconds per run."""
        if len(self.times) < 2:
            return 0.0
        first, _, last = quantiles(self.times, n=4, method="inclusive")
        return last - first

    @property
    def has_warnings(self) -> bool:
        """Whether the measurements vary much."""
        return self.iqr > MOST_SPREAD * self.median

    @property
    def title(self) -> str:
        """The label, or else the statement, with the sub-label."""
        first = self.label or self.stmt
        return f"{first}: {self.sub_label}" if self.sub_label else first

    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def meets_confidence(self, threshold: float = 0.05) -> bool:
        """Whether the interquartile range is at most `threshold` times the median."""
        return self.iqr <= threshold * self.median

    def __repr__(self) -> str:
        count, threads = len(self.raw_times), self.num_threads
        name = f"  Median: {time_text(self.median)}" if count > 1 else f"  {time_text(self.median)}"
        lines = [self.title, *([self.description] if self.description else []), name]
        runs = f"{self.number_per_run} runs" + (" per measurement" if count > 1 else "")
        plural = f"{count} measurement{'s' * (count > 1)}, {runs}, {threads} thread"
        lines.append(f"  {plural}{'s' * (threads > 1)}")
        if self.has_warnings:
            part = 100 * self.iqr / self.median
            lines.append(
                f"  WARNING: Interquartile range is {part:.1f}% of the median measurement."
            )
        return "\n".join(lines)


class Timer:
    """Times a Python statement on `num_threads` threads, as PyTorch's.

    >>> import gnomon as gn
    >>> made = Timer("x + 1", globals={"x": gn.ones(3)}).timeit(5)
    >>> made.number_per_run, made.median > 0
    (5, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: str = "py",
    ) -> None:
        if not isinstance(stmt, str) or global_setup or str(language) not in ("py", "python"):
            raise ArgumentError(
                f"Timer: times statements of Python as text: got {stmt!r} in {language!r}. Give "
                "the text of a statement, and what it reads as globals."
            )
        self.stmt, self.num_threads = textwrap.dedent(stmt).strip(), num_threads
        self._clock, self._named = timer, (label, sub_label, description, env)
        self._run = compiled_timer(self.stmt, textwrap.dedent(setup), globals or {})

    def timeit(self, number: int = 1000000) -> Measurement:
        """Make one measurement of `number` runs, after some warm-up runs."""
        self._times(max(number // 100, 2))
        return self._measured(number, [self._times(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> list[float]:
        """Not implemented, as in PyTorch; use blocked_autorange."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure blocks of runs until they took `min_run_time` seconds together."""
        *_, last = self._measurements(self._block(min_run_time), min_run_time, callback)
        return last

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measure until the interquartile range is small or `max_run_time` seconds have passed."""
        for last in self._measurements(self._block(min_run_time), max_run_time, callback):
            times = last.raw_times
            enough = len(times) > 3 and sum(times) >= min_run_time
            if enough and last.meets_confidence(threshold):
                break
        return last

    autorange = blocked_autorange

    def _measurements(
        self, number: int, most: float, callback: Callable[[int, float], Any] | None
    ) -> Iterator[Measurement]:
        """Time `number` runs repeatedly for `most` seconds; yield all times so far after each."""
        times: list[float] = []
        while not times or sum(times) < most:
            times.append(self._times(number))
            if callback is not None:
                callback(number, times[-1])
            yield self._measured(number, times)

    def _block(self, least: float) -> int:
        """The number of runs per measurement that makes reading the clock negligible."""
        number = 1
        while (took := self._times(number)) < min(least, max(1e-4, least / 1000)):
            number *= 10 if took * 10 < least else 2
        return number

    def _times(self, number: int) -> float:
        """The seconds that `number` runs take."""
        before = get_num_threads()
        set_num_threads(self.num_threads)
        try:
            return max(self._run(number, self._clock, evaluate_all), 1e-9)
        finally:
            set_num_threads(before)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        """A Measurement of some times with this timer's labels."""
        return Measurement(number, list(times), *self._named, self.num_threads, self.stmt)


def compiled_timer(stmt: str, setup: str, names: dict[str, Any]) -> Callable[..., float]:
    """Compile a function that runs a statement repeatedly and returns the seconds."""
    body = ast.parse(stmt).body or [ast.Pass()]
    if isinstance(body[-1], ast.Expr):  # its value is held, or nothing would compute it
        kept = ast.Name("_value", ast.Store())
        body[-1] = ast.Assign([kept], body[-1].value, lineno=1)
    (function,) = ast.parse(ast.unparse(RUN)).body
    assert isinstance(function, ast.FunctionDef)
    loop = function.body[2]
    assert isinstance(loop, ast.For)
    loop.body[:1] = body
    function.body[:1] = ast.parse(setup).body
    space = dict(names)
    made = ast.fix_missing_locations(ast.Module([function], []))
    exec(compile(made, "<timed statement>", "exec"), space)
    return space["run"]


class Compare:
    """A table of measurements, with a row per sub-label and a column per description.

    >>> times = [Measurement(1, [1e-6 * k], "sum", f"{k} rows", "ours") for k in (1, 2)]
    >>> Compare(times).print()
    [ sum ]
               |  ours
    1 threads: -------
     1 rows    |   1.0
     2 rows    |   2.0
    Times are in microseconds (us).
    """

    def __init__(self, results: Sequence[Measurement]) -> None:
        self._results = list(results)
        self._digits = 0

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements."""
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Print times with three significant digits."""
        self._digits = 3

    def colorize(self, rowwise: bool = False) -> None:
        """Do nothing: tables are plain text."""

    def highlight_warnings(self) -> None:
        """Do nothing: the text of a measurement has its warnings."""

    def print(self) -> None:
        """Print the table."""
        print(self)

    def __str__(self) -> str:
        labels = dict.fromkeys(x.label or x.stmt for x in self._results)
        tables = (self._table(label) for label in labels)
        return "\n\n".join("\n".join(lines) for lines in tables)

    def _table(self, label: str) -> Iterator[str]:
        """Yield the lines of the table of one label."""
        own = [x for x in self._results if (x.label or x.stmt) == label]
        unit, size = select_unit(min(x.median for x in own))
        columns = list(dict.fromkeys(x.description or "" for x in own))
        rows = list(dict.fromkeys((x.num_threads, x.as_row_name()) for x in own))
        merged: dict[tuple, list[float]] = {}
        for x in own:
            merged.setdefault((x.num_threads, x.as_row_name(), x.description or ""), []).extend(
                x.times
            )
        cells = {key: self._cell(median(times) / size) for key, times in merged.items()}
        wide = max(len(name) for _, name in rows) + 1
        wide = max(wide, len(f"{rows[0][0]} threads:") - 1)
        sizes = [max(len(c), *(len(cells.get((*row, c), "")) for row in rows)) for c in columns]
        head = "  |  ".join(
            [" " * wide, *(c.rjust(n) for c, n in zip(columns, sizes, strict=True))]
        )
        yield f"[ {label} ]".center(len(head), " ").strip()
        yield head.rstrip()
        threads = None
        for row in sorted(rows, key=lambda row: row[0]):
            if row[0] != threads:
                threads = row[0]
                first = f"{threads} threads: "
                yield first + "-" * (len(head) - len(first))
            made = [cells.get((*row, c), "") for c in columns]
            yield "  |  ".join(
                [f" {row[1]}".ljust(wide), *(x.rjust(n) for x, n in zip(made, sizes, strict=True))]
            )
        yield f"Times are in {NAMES[unit]} ({unit})."

    def _cell(self, value: float) -> str:
        """A time as a table cell."""
        return round_digits(value, self._digits) if self._digits else f"{value:.1f}"


NAMES = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
