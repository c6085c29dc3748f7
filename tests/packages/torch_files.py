"""Runs one of PyTorch's own test files on Gnomon and on PyTorch, and says which tests pass.

    python -m tests.packages.torch_files FOLDER/test/test_indexing.py
    python -m tests.packages.torch_files FOLDER/test/test_nn.py --total 300 --into nn.json

The folder is of a repository of PyTorch's at a commit; nothing of it is in this tree. Each library
has a process of its own, each test a limit of seconds. Only tests that pass on PyTorch count. What
is written to a file is taken up again: the second line, said several times, runs a large file in
slices of at most 300 seconds. --sample takes one dtype of each test that is written for several.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gnomon.nn.hooked import everywhere

ROOT = Path(__file__).parents[2]
LIBRARIES = ("torch", "gnomon")
SETTINGS = {"PYTORCH_PRINT_REPRO_ON_FAILURE": "0", "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu"}
"""PyTorch's own settings of its tests."""


class OutOfTimeError(BaseException):
    """A test's seconds of this process's own time are over; no handler of errors takes it."""


class Notes(unittest.TestResult):
    """Outcomes by test."""

    def __init__(self, limit: float, into: Path) -> None:
        super().__init__()
        self.limit, self.into = limit, into
        self.found: dict[str, tuple[str, str]] = {}

    def startTest(self, test: Any) -> None:
        """Begin to count seconds."""
        super().startTest(test)
        under_way(self.into).write_text(test.id(), encoding="utf-8")
        signal.setitimer(signal.ITIMER_PROF, self.limit)

    def stopTest(self, test: Any) -> None:
        """Count no more; what has no outcome yet has passed."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        super().stopTest(test)
        self.found.setdefault(test.id(), ("passes", ""))
        self.save()

    def save(self) -> None:
        """Write all outcomes; whoever is stopped in the middle leaves the ones of before."""
        aside = self.into.with_suffix(".aside")
        aside.write_text(json.dumps(self.found), encoding="utf-8")
        aside.replace(self.into)

    def note(self, test: Any, kind: str, error: Any) -> None:
        """An outcome, and the last line of what was raised."""
        told = traceback.format_exception_only(*error[:2])[-1] if error[0] else ""
        self.found.setdefault(test.id().split(" ")[0], (kind, f"{error[0].__name__}|{told[:300]}"))

    def addFailure(self, test: Any, err: Any) -> None:
        """A comparison fails."""
        self.note(test, "differs", err)

    def addError(self, test: Any, err: Any) -> None:
        """Something is raised."""
        self.note(test, "out of time" if err[0] is OutOfTimeError else "raises", err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """A part of a test fails."""
        if err is not None:
            self.note(test, "differs" if issubclass(err[0], AssertionError) else "raises", err)

    def addSkip(self, test: Any, reason: str) -> None:
        """The test says that it is not for here."""
        self.found[test.id()] = ("skipped", reason[:200])


def under_way(into: Path) -> Path:
    """The file that names the test that runs."""
    return into.with_suffix(".now")


def tests_of(suite: Any) -> Iterator[Any]:
    """The single tests."""
    for part in suite:
        yield from tests_of(part) if isinstance(part, unittest.TestSuite) else (part,)


def sampled(tests: Iterable[Any]) -> list[Any]:
    """One test of those that differ in their dtype alone: float32 if it is among them."""
    kept: dict[str, Any] = {}
    for test in tests:
        name, _, dtype = test.id().rpartition("_cpu")
        if dtype in ("", "_float32") or (name or test.id()) not in kept:
            kept[name or test.id()] = test
    return list(kept.values())


def run_here(file: Path, library: str, limit: float, into: Path, sample: bool = False) -> None:
    """Run a file's tests in this process and write their outcomes."""
    from tests.packages.torch_border import read_file  # it loads PyTorch

    def over(*_: Any) -> None:
        raise OutOfTimeError("out of time")

    signal.signal(signal.SIGPROF, over)
    module = read_file(file, crossed=library == "gnomon")
    notes = Notes(limit, into)
    notes.found = json.loads(into.read_text(encoding="utf-8")) if into.exists() else {}
    found = tests_of(unittest.defaultTestLoader.loadTestsFromModule(module))
    for test in sampled(found) if sample else found:
        if test.id() in notes.found:
            continue
        try:
            test.run(notes)
        except OutOfTimeError:
            notes.found[test.id()] = ("out of time", "")
        everywhere.clear()  # as the files do by PyTorch's private names
    notes.save()


def outcomes(
    file: Path,
    library: str,
    limit: float,
    total: float,
    known: dict[str, list[str]] | None = None,
    sample: bool = False,
) -> dict[str, list[str]]:
    """A file's outcomes in a process of its own, beside those that are known already."""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "found.json"
        if known:
            into.write_text(json.dumps(known), encoding="utf-8")
        words = [str(file), "--here", library, "--limit", str(limit), "--into", str(into)]
        words += ["--sample"] * sample
        python = [sys.executable, "-X", "faulthandler", "-W", "ignore"]
        command = [*python, "-m", "tests.packages.torch_files", *words]
        quiet = {**os.environ, **SETTINGS}
        words = {"cwd": ROOT, "env": quiet, "capture_output": True, "text": True}
        ends, told = time.monotonic() + total, ["the file is out of time"]
        while time.monotonic() < ends:
            try:
                done = subprocess.run(command, timeout=max(1, ends - time.monotonic()), **words)
            except subprocess.TimeoutExpired:
                break
            told = done.stderr.strip().splitlines()
            if done.returncode == 0 or not under_way(into).exists():
                break
            noted = json.loads(into.read_text(encoding="utf-8")) if into.exists() else {}
            noted[under_way(into).read_text(encoding="utf-8")] = (
                "ends the process",
                "\n".join(told[-20:]),
            )
            into.write_text(json.dumps(noted), encoding="utf-8")
            under_way(into).unlink()
        if not into.exists():
            raise RuntimeError(f"{library}: {told[-3:]}")
        return json.loads(into.read_text(encoding="utf-8"))


def read_known(into: Path | None) -> dict[str, dict[str, list[str]]]:
    """Outcomes by library that an earlier run has written."""
    return json.loads(into.read_text(encoding="utf-8")) if into and into.exists() else {}


REASONS = (
    ("no refusal where PyTorch refuses", r"not raised|not triggered"),
    ("the suite's tools", r"border:|_internal|expecttest"),
    ("a name is missing", r"AttributeError|ImportError|ModuleNotFoundError|no attribute"),
    ("complex numbers", r"ComplexError"),
    ("a dtype", r"DtypeError|KeyError"),
    ("arguments", r"ArgumentError|ShapeError|TypeError|IndexOutOfRange|IndexError"),
)


def reason_of(kind: str, told: str) -> str:
    """A class of reasons for an outcome."""
    if kind in ("out of time", "ends the process"):
        return kind
    for name, pattern in REASONS:
        if re.search(pattern, told):
            return name
    return "differs" if kind == "differs" else "raises another error"


def compared(theirs: dict[str, list[str]], ours: dict[str, list[str]]) -> Counter[str]:
    """How many tests pass of those that pass on PyTorch, and why others don't."""
    counts: Counter[str] = Counter()
    for name, (kind, _) in theirs.items():
        mine = ours.get(name, ["out of time", ""])
        if kind != "passes" or mine[0] == "skipped":
            continue
        counts["all"] += 1
        counts["reached"] += name in ours
        counts["passes" if mine[0] == "passes" else reason_of(*mine)] += 1
    return counts


def main() -> None:
    """Run a file on both libraries, or on one in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--here", choices=LIBRARIES)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--total", type=float, default=900.0)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--sample", action="store_true")
    told = parser.parse_args()
    if told.here:
        run_here(told.file, told.here, told.limit, told.into, told.sample)
        return
    known = read_known(told.into)
    limits = (told.limit, told.total)
    found = {x: outcomes(told.file, x, *limits, known.get(x), told.sample) for x in LIBRARIES}
    print(told.file.name, dict(compared(found["torch"], found["gnomon"]).most_common()))
    if told.into:
        told.into.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
