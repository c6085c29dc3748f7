"""hashes.jsonl of a run: for every step a hash of each computed value, if requested.

A line has the start of a process, the names of values, or a step's hashes in the order of the
names. Step 0, or the one that a run was resumed after, has the initial state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gnomon.runtime.files import NOT_JSON, naming, publish, read
from gnomon.tensor.computed_values import ValueName

__all__ = ["FILE", "HashLog", "Hashes", "hash_of", "read_hashes"]

FILE = "hashes.jsonl"
DIGITS = 16
"""The number of hexadecimal digits of a hash."""


class HashLine(msgspec.Struct, omit_defaults=True):
    """A line of hashes.jsonl, of one of three kinds."""

    began: dict[str, Any] | None = None
    values: list[ValueName] | None = None
    step: int | None = None
    hashes: str = ""


@dataclass
class Hashes:
    """The contents of a hashes.jsonl."""

    began: dict[str, Any] = field(default_factory=dict)
    """The mesh, its plan and the mode of numerics at the latest start or resumption."""
    steps: dict[int, tuple[list[ValueName], str]] = field(default_factory=dict)
    """The names of the values and their concatenated hashes, by step."""

    def of(self, step: int) -> dict[ValueName, str]:
        """The hash of each value of a step."""
        names, text = self.steps[step]
        cut = (text[k * DIGITS : (k + 1) * DIGITS] for k in range(len(names)))
        return dict(zip(names, cut, strict=True))

    def take(self, line: HashLine, names: list[ValueName]) -> list[ValueName]:
        """Add a line of the file; takes the value names before it, returns those after it."""
        self.began = line.began or self.began
        if line.step is not None:
            if len(line.hashes) != DIGITS * len(names):
                raise msgspec.DecodeError(f"step {line.step} has not a hash for each value")
            self.steps[line.step] = names, line.hashes
        return names if line.values is None else line.values


class HashLog:
    """The open hashes.jsonl of a run; each line is flushed when it is written."""

    def __init__(self, run: Path, after: int, began: Mapping[str, object]) -> None:
        """Continue after a step: lines of later steps are dropped."""
        self.path, self.names = run / FILE, []
        self.steps: set[int] = set()
        kept: list[bytes] = []
        for text in lines_of(run):
            with suppress(*NOT_JSON):
                line = msgspec.json.decode(text, type=HashLine)
                if line.step is None or line.step <= after:
                    kept.append(text + b"\n")
                    self.steps |= {line.step} - {None}
        publish(self.path, b"".join(kept))
        self.file = self.path.open("ab")
        self._put(HashLine(began=dict(began)))

    def write(self, step: int, values: Mapping[ValueName, np.ndarray]) -> None:
        """Add the hashes of a step's values."""
        if list(values) != self.names:
            self.names = list(values)
            self._put(HashLine(values=self.names))
        self._put(HashLine(step=step, hashes="".join(map(hash_of, values.values()))))

    def _put(self, line: HashLine) -> None:
        """Add a line."""
        with naming(self.path):
            self.file.write(msgspec.json.encode(line) + b"\n")
            self.file.flush()

    def close(self) -> None:
        """Close the file."""
        # a line for which the disk had no space was reported when it was written
        with suppress(OSError):
            self.file.close()


def hash_of(value: np.ndarray) -> str:
    """The hash of a value's bits, shape and dtype.

    >>> hash_of(np.float32(0)) == hash_of(np.float32(-0.0))
    False
    """
    digest = hashlib.sha256(f"{value.dtype} {value.shape}".encode())
    digest.update(np.ascontiguousarray(value).view(np.uint8).data)
    return digest.hexdigest()[:DIGITS]


def read_hashes(run: Path) -> Hashes:
    """The hashes that a run has recorded; none if there is no file."""
    found, names = Hashes(), []
    for text in lines_of(run):
        names = found.take(msgspec.json.decode(text, type=HashLine), names)
    return found


def lines_of(run: Path) -> list[bytes]:
    """The complete lines of a run's hashes.jsonl; empty without the file."""
    try:
        return read(run / FILE).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
