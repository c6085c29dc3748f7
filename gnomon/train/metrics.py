"""Metrics of a run: a line of JSON per step, and a final summary."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from gnomon.runtime.files import NOT_JSON, naming, publish, read, write_at

__all__ = ["Metrics", "read_metrics", "write_summary"]

FILE = "metrics.jsonl"
DAMAGED = "metrics.jsonl.damaged"


class MetricsRow(msgspec.Struct):
    """The fields of a line that are read again."""

    step: Annotated[int, Meta(ge=0, le=10**18)]
    loss: float | None = None
    held_out_loss: float | None = None


class Metrics:
    """The open metrics.jsonl of a run; each line is written at once."""

    def __init__(self, run: Path, after: int = 0) -> None:
        """Continue after a step: lines of later steps are dropped.

        If lines cannot be read, they are dropped, and a copy of the file is kept.
        """
        self.path = run / FILE
        found, self.unreadable = valid_rows(run)
        if self.unreadable:
            publish(run / DAMAGED, read(self.path))
        publish(self.path, b"".join(line(row) for row in found if row["step"] <= after))
        self.handle = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        self.place, self.pending = os.fstat(self.handle).st_size, b""
        """The offset of the next line, and the lines that could not be written yet."""

    def write(self, row: Mapping[str, object]) -> OSError | None:
        """Write a line; returns the error of a full disk, after which the line is retried later."""
        self.pending += line(row)
        try:
            self.settle()
        except OSError as wrong:
            return wrong
        return None

    def settle(self) -> None:
        """Write all pending lines."""
        with naming(self.path):
            self.place = write_at(self.handle, memoryview(self.pending), self.place)
        self.pending = b""

    def close(self) -> None:
        """Close the file."""
        os.close(self.handle)


def line(row: Mapping[str, object]) -> bytes:
    """One row as a line of JSON."""
    return msgspec.json.encode(row) + b"\n"


def read_metrics(run: Path) -> list[dict]:
    """The valid rows of a run's metrics; empty without the file."""
    return valid_rows(run)[0]


def valid_rows(run: Path) -> tuple[list[dict], int]:
    """The valid rows of a run's metrics, and the number of invalid complete lines."""
    try:
        lines = read(run / FILE).split(b"\n")[:-1]
    except FileNotFoundError:
        return [], 0
    found = []
    for text in lines:
        with suppress(*NOT_JSON):
            msgspec.json.decode(text, type=MetricsRow)
            found.append(msgspec.json.decode(text, type=dict))
    return found, len(lines) - len(found)


def write_summary(run: Path, summary: Mapping[str, object]) -> Path:
    """Write summary.json; returns its path."""
    path = run / "summary.json"
    publish(path, msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    return path
