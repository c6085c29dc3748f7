"""Runs of a script under other settings, and what makes one wrong."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gnomon.bisect.child import RunReport

__all__ = ["RunOutcome", "Script"]

CLOSE = 1e-3
"""The relative difference of norms up to which a run without `claim` counts as the same."""


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run."""

    code: int
    witness: str
    """A hash of all that it gave to witness(), else of what it printed."""
    norms: tuple[float, ...]
    counts: dict[str, int]
    seconds: float
    error: str
    """The last line of what it wrote as errors."""

    def is_close(self, other: RunOutcome) -> bool:
        """Whether another run gave as many values of nearly the same norms."""
        if self.code != other.code or len(self.norms) != len(other.norms):
            return False
        pairs = zip(self.norms, other.norms, strict=True)
        return all(abs(a - b) <= CLOSE * max(abs(a), abs(b)) for a, b in pairs)


@dataclass(frozen=True)
class Script:
    """A script and its arguments."""

    path: Path
    arguments: Sequence[str] = ()
    say: Callable[[str], None] = print

    def run(self, without: str = "", case: str = "", at: tuple[str, int] = ("", 0)) -> RunOutcome:
        """Run it without some optimisations; keep a case of one application where that is asked."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            words = [str(report), case, at[0], str(at[1]), str(self.path), *self.arguments]
            made = subprocess.run(
                [sys.executable, "-m", "gnomon.bisect.child", *words],
                env=environment(without),
                capture_output=True,
                text=True,
                check=False,
            )
            found = RunReport([], {}, 0.0)
            if report.is_file():
                found = msgspec.json.decode(report.read_bytes(), type=RunReport)
        given = "".join(each for each, _ in found.witnesses) or made.stdout
        outcome = RunOutcome(
            made.returncode,
            hashlib.sha256(given.encode()).hexdigest()[:32],
            tuple(norm for _, norm in found.witnesses),
            found.counts,
            found.seconds,
            (made.stderr.strip().splitlines() or [""])[-1],
        )
        named = f"without {without}" if without else "with all"
        self.say(f"{named}: exit code {outcome.code}, {outcome.witness}, {outcome.seconds:.2f} s")
        return outcome


def environment(without: str) -> dict[str, str]:
    """The environment of a run: nothing is found in caches, and one process compiles."""
    off = {"GNOMON_CACHE": "0", "GNOMON_KEEP_PROGRAMS": "0", "GNOMON_COMPILE_WORKERS": "1"}
    return {**os.environ, **off, "GNOMON_WITHOUT": without}
