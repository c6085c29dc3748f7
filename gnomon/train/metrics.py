"""What a run writes down: a line of JSON per step, and a summary at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from gnomon.runtime.files import publish

__all__ = ["Metrics", "read_metrics", "write_summary"]

FILE = "metrics.jsonl"


class Metrics:
    """The open metrics.jsonl of a run; each line is there as soon as it is written."""

    def __init__(self, run: Path, after: int = 0) -> None:
        """Go on after a step: lines of later ones, which a crash outlived, are dropped."""
        path = run / FILE
        kept = [row for row in read_metrics(run) if row["step"] <= after]
        publish(path, b"".join(line(row) for row in kept))
        self.file = path.open("ab")

    def write(self, row: Mapping[str, object]) -> None:
        """Add one line."""
        self.file.write(line(row))
        self.file.flush()

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def line(row: Mapping[str, object]) -> bytes:
    """One row as a line of JSON."""
    return msgspec.json.encode(row) + b"\n"


def read_metrics(run: Path) -> list[dict]:
    """Every whole row of a run; none when it has none yet."""
    path = run / FILE
    if not path.exists():
        return []
    whole = path.read_bytes().split(b"\n")[:-1]
    return [msgspec.json.decode(text, type=dict) for text in whole]


def write_summary(run: Path, summary: Mapping[str, object]) -> Path:
    """Publish summary.json."""
    path = run / "summary.json"
    publish(path, msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    return path
