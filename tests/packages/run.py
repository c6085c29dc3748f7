"""Run strangers' programs unmodified under PyTorch and under Gnomon, and compare their curves.

    python -m tests.packages.run --sources FOLDER --python ENVIRONMENT/bin/python

FOLDER holds the repositories of programs.toml at the commits named there; the environment has
torch, the packages that the programs import, and Gnomon's own requirements: Gnomon itself is this
tree's. Each run gets a copy of its source to write into.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.packages.data import write_data
from tests.packages.programs import DOUBLE, OWN, Program, read_programs

__all__ = ["Ended", "Place", "farthest", "run_program"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SEEDED = HERE / "seeded.py"
STARTS = {"torch": (), "gnomon": ("-m", "gnomon", "run")}
"""Package -> what stands between Python and a script."""
NUMBERS = 20
"""How many numbers of a curve are compared: ten steps, of at most two losses each."""
NEAR = 1e-5
LEFT_OUT = shutil.ignore_patterns(".git", "*.png", "*.jpg", "*.gif", "*.ipynb")


@dataclass(frozen=True)
class Place:
    """What programs run with: the folder of their sources, a Python, and the seconds for each."""

    sources: Path
    python: str
    limit: float = 90.0


@dataclass(frozen=True)
class Ended:
    """How a program ended under a package."""

    name: str
    reached: bool
    seconds: float
    curve: list[str]
    stopped_by: str


def run_program(program: Program, package: str, place: Place) -> Ended:
    """Run a program under a package until its last line came, it ended, or its time is over."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as top:
        source = HERE if program.source == OWN else place.sources
        copied = Path(top) / program.source
        shutil.copytree(source / program.source, copied, ignore=LEFT_OUT)
        folder = Path(top) / program.folder
        write_data(program.needs, folder)
        words = [place.python, *STARTS[package], str(SEEDED), *shlex.split(program.command)]
        lines, code = watched(words, folder, copied, program, place.limit)
    seen = sum(bool(re.search(program.last, line)) for line in lines) if program.last else 0
    reached = seen >= program.lines if program.last else code == 0
    curve = [found for line in lines for found in numbers_of(program.curve, line)][:NUMBERS]
    why = "" if reached else why_stopped(lines, code)
    return Ended(program.name, reached, round(time.monotonic() - began, 1), curve, why)


def watched(
    words: Sequence[str], folder: Path, source: Path, program: Program, limit: float
) -> tuple[list[str], int]:
    """The lines that a command printed, and its exit code; ended where its last line came."""
    begun = subprocess.Popen(
        words,
        cwd=folder,
        env=environment(program, source),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    lines: list[str] = []
    seen = 0
    with begun:  # which closes its output
        timer = threading.Timer(limit, end, (begun,))
        timer.start()
        for line in parts_of(begun):
            lines.append(line)
            seen += bool(program.last and re.search(program.last, line))
            if program.last and seen >= program.lines:
                end(begun)
                break
        code = begun.wait()
        timer.cancel()
    return lines, code


def parts_of(begun: subprocess.Popen[str]) -> Iterator[str]:
    """Lines as they come; a bar that is drawn over itself has many."""
    assert begun.stdout is not None
    for line in begun.stdout:
        yield from line.rstrip("\n").split("\r")


def end(begun: subprocess.Popen[str]) -> None:
    """End a program and what it has started."""
    try:
        os.killpg(begun.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def environment(program: Program, source: Path) -> dict[str, str]:
    """Variables of a run: no displays, no networks, two threads that sleep while they wait."""
    searched = [str(ROOT), *(str(source / part) for part in program.path)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(searched),
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "PASSIVE",
        "MPLBACKEND": "Agg",
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "disabled",
        DOUBLE: str(int(program.double)),
    }


def numbers_of(pattern: str, line: str) -> list[str]:
    """The numbers of a line that belong to a curve."""
    return re.findall(pattern, line) if pattern else []


def why_stopped(lines: Sequence[str], code: int) -> str:
    """The line that names what stopped a program: the last error, or the last line."""
    if code == -signal.SIGKILL:
        return "out of time"
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b", line)]
    written = [line for line in lines if line.strip()]
    return (errors or written or [f"exit code {code}"])[-1][:200]


def farthest(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """The largest difference of two curves, in what is allowed: above 1 they are not equal.

    1e-5 of the number, or one unit in the last printed place.
    """
    if len(ours) != len(theirs):
        return float("inf")
    return max((distance(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def distance(ours: str, theirs: str) -> float:
    """How far apart two printed numbers are, in what is allowed."""
    digits, _, power = theirs.lower().partition("e")
    places = len(digits.partition(".")[2])
    unit = 1.01 * 10.0 ** (int(power or 0) - places)
    gap = abs(float(ours) - float(theirs))
    return 0.0 if ours == theirs else gap / max(unit, NEAR * max(1.0, abs(float(theirs))))


def main() -> None:
    """Run the programs that are asked for, and print a row for each."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--sources", type=Path, required=True)
    asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--packages", nargs="+", default=["torch", "gnomon"], choices=[*STARTS])
    asked.add_argument("--only", default="", help="a pattern of names")
    asked.add_argument("--limit", type=float, default=90.0, help="seconds for each run")
    asked.add_argument("--results", type=Path, help="a file of results, which are added to it")
    given = asked.parse_args()
    place = Place(given.sources, given.python, given.limit)
    kept = given.results.read_text() if given.results and given.results.exists() else "{}"
    found: dict[str, dict[str, dict]] = json.loads(kept)
    for program in read_programs():
        if re.search(given.only, program.name):
            row = found.setdefault(program.name, {})
            row.update({x: asdict(run_program(program, x, place)) for x in given.packages})
            print(shown(program.name, row), flush=True)
            if given.results:
                given.results.write_text(json.dumps(found, indent=1))
    print(f"{sum(reached(row) for row in found.values())} of {len(found)} reach their last line.")


def reached(row: dict[str, dict]) -> bool:
    """Whether a program ran to its last line under all packages that it was run under."""
    return all(ended["reached"] for ended in row.values())


def shown(name: str, row: dict[str, dict]) -> str:
    """A program's row: how it ended under each package, and how far apart the curves are."""
    words = [f"{name:32}"]
    for package, ended in row.items():
        words.append(f"{package} {'ran' if ended['reached'] else 'STOPPED'} {ended['seconds']}s")
        words.append(ended["stopped_by"])
    if len(row) == 2:
        curves = [row[x]["curve"] for x in STARTS]
        words.append(f"{len(curves[0])} numbers, {farthest(curves[1], curves[0]):.2f}")
    return "  ".join(words)


if __name__ == "__main__":
    main()
