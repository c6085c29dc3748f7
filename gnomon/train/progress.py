"""Progress of a run: a live line on a terminal, else a plain line now and then."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

__all__ = ["Progress", "Status", "StepTimes", "WARMING", "bytes_text", "duration", "peak_memory"]

PLAIN_EVERY = 10.0
"""The seconds between status lines without a terminal."""


WARMING = 2
"""The number of first steps that compile: one without the optimizer's state, one with it."""


@dataclass
class StepTimes:
    """The seconds of steps, separately for the first ones, which compile."""

    warming: float = 0.0
    warmed: int = 0
    stepping: float = 0.0
    steps: int = 0
    last: float = 0.0
    measuring: float = 0.0
    """The seconds of the latest evaluation of held-out text."""

    def count(self, seconds: float) -> None:
        """Add the time of a step."""
        self.last = seconds
        if self.warmed < WARMING:
            self.warming += seconds
            self.warmed += 1
        else:
            self.stepping += seconds
            self.steps += 1

    @property
    def seconds_per_step(self) -> float:
        """The mean time of steps that compile nothing; the latest step's before there is one."""
        return self.stepping / self.steps if self.steps else self.last

    @property
    def compiling(self) -> float:
        """The seconds that the first steps took to compile."""
        return max(0.0, self.warming - self.warmed * self.seconds_per_step)


@dataclass(frozen=True)
class Status:
    """The status of a run after a step."""

    step: int
    steps: int
    loss: float
    held_out: float | None
    tokens_per_s: float
    of_peak: float
    """The useful flops per second as a fraction of the measured peak."""
    memory: int
    """The peak of memory in bytes."""
    left: float
    """The remaining seconds."""

    def __str__(self) -> str:
        held_out = "-" if self.held_out is None else f"{self.held_out:.3f}"
        return (
            f"step {self.step}/{self.steps}  loss {self.loss:.3f}  held-out {held_out}  "
            f"{self.tokens_per_s:,.0f} tokens/s  {self.of_peak:.0%} of peak  "
            f"{bytes_text(self.memory)}  {duration(self.left)} left"
        )


class Progress:
    """A context that displays progress: `update` shows a status, `say` prints a lasting line."""

    def __init__(self, console: Console | None = None, quiet: bool = False) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True, quiet=quiet)
        live = self.console.is_terminal and not quiet
        self.live = (
            Live(console=self.console, refresh_per_second=4, transient=True) if live else None
        )
        self.shown = 0.0

    def __enter__(self) -> Progress:
        if self.live:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live:
            self.live.stop()

    def say(self, line: str) -> None:
        """Print a lasting line."""
        self.console.print(Text(line))

    def update(self, status: Status) -> None:
        """Show the progress of the run."""
        if self.live:
            self.live.update(Text(str(status), overflow="ellipsis", no_wrap=True))
            return
        last = status.step == status.steps
        if last or status.step == 1 or time.monotonic() - self.shown > PLAIN_EVERY:
            self.shown = time.monotonic()
            self.say(str(status))


def duration(seconds: float) -> str:
    """The text of a duration in seconds.

    >>> duration(9), duration(75), duration(7260)
    ('9s', '1m15s', '2h01m')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def bytes_text(count: float) -> str:
    """The text of a number of bytes.

    >>> bytes_text(999), bytes_text(1_500_000)
    ('999 B', '1.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def peak_memory() -> int:
    """The peak memory of this process in bytes; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
