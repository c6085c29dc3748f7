"""`gnomon diverge`: find the first recorded value that differs between two runs.

The order is the program's: inputs of a step, forward, backward, gradients, results, state.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import msgspec
import numpy as np

from gnomon.errors import CheckpointError, ConfigError, clipped
from gnomon.settings import Settings
from gnomon.tensor.computed_values import ValueName
from gnomon.train.hashes import FILE, Hashes, read_hashes
from gnomon.train.resuming import FREE, differences
from gnomon.train.runs import find_run, read_config
from gnomon.train.values import values_of

__all__ = ["Divergence", "RecordedRun", "diverge", "ulps"]

PHASES = {
    "input": "what it is given",
    "forward": "forward",
    "backward": "backward",
    "gradient": "gradients by parameter",
    "result": "loss and gradient norm",
    "parameter": "parameters after it",
    "optimizer": "optimizer's state after it",
}


@dataclass(frozen=True)
class RecordedRun:
    """A run's folder and its recorded hashes."""

    folder: Path
    hashes: Hashes

    def __str__(self) -> str:
        mesh, numerics = self.hashes.began.get("mesh"), self.hashes.began.get("numerics")
        plan = self.hashes.began.get("plan_file")
        by = f" by {plan}" if plan else ""
        return f"{self.folder}: {mesh or 'one process'}{by}, numerics {numerics}"

    def keeping(self, step: int) -> str:
        """The command that saves the values of a step."""
        mesh, numerics = self.hashes.began.get("mesh", ""), self.hashes.began.get("numerics")
        words = ["gnomon", "values", str(self.folder), str(step)]
        if mesh:
            ranks = np.prod([int(part.partition("=")[2]) for part in mesh.split(",")])
            words = ["gnomon", "launch", "-n", str(ranks), *words[1:], "--mesh", mesh]
            plan = self.hashes.began.get("plan_file")
            words += ["--plan", plan] if plan else []
        usual = numerics in ("", Settings().numerics)
        return ("" if usual else f"GNOMON_NUMERICS={numerics} ") + shlex.join(words)


@dataclass(frozen=True)
class Divergence:
    """The first value that differs between two runs, with the numbers of equal values before it."""

    step: int
    name: ValueName
    before: ValueName | None
    """The last equal value before it in the same step; None if it is the first."""
    agreeing: dict[str, tuple[int, int]]
    """The numbers of equal values and of all values in each phase of the step."""

    @property
    def place(self) -> str:
        """The step and the value, as a part of a sentence."""
        if self.name.phase in ("forward", "backward"):
            return f"at step {self.step}, {self.name.phase}, in {sentence(self.name)}"
        when = f"at step {self.step}" if self.step else "before the first step"
        return f"{when}, in {sentence(self.name)}"


def sentence(name: ValueName) -> str:
    """The description of a value in words.

    >>> sentence(ValueName("forward", "model.layers.0.mlp", "linear", "model.py:3", index=1))
    'model.layers.0.mlp: linear (the 2nd there), model.py:3'
    >>> sentence(ValueName("parameter", "model.norm.weight", ""))
    'the parameter model.norm.weight'
    """
    if name.phase in ("forward", "backward"):
        which = f" (the {ordinal(name.index + 1)} there)" if name.index else ""
        return f"{name.module or 'the step'}: {name.op}{which}, {name.line}"
    of = {"gradient": "the gradient of ", "parameter": "the parameter ", "optimizer": "AdamW's "}
    return of.get(name.phase, "the ") + name.module


def ordinal(count: int) -> str:
    """The ordinal of a number, such as 2nd.

    >>> ordinal(2), ordinal(11), ordinal(23)
    ('2nd', '11th', '23rd')
    """
    teen = 10 < count % 100 < 20
    return f"{count}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(count % 10, 'th')}"


def diverge(first: str, second: str) -> tuple[int, list[str]]:
    """Compare two runs: the exit code (0 equal, 1 different) and the lines of the report."""
    runs = read_run(first), read_run(second)
    one, other = runs
    steps = sorted(one.hashes.steps.keys() & other.hashes.steps.keys())
    if not steps:
        raise ConfigError(
            f"diverge: {one.folder} and {other.folder} recorded no step in common. "
            "Record both from their start: gnomon train --set train.record_hashes=true"
        )
    found = next((x for x in (first_difference_at(runs, step) for step in steps) if x), None)
    if found is None:
        values = sum(len(one.hashes.steps[step][0]) for step in steps)
        return 0, [
            f"{one.folder} and {other.folder} agree in every bit of steps {steps[0]} to "
            f"{steps[-1]}: {values:,} values.",
            *run_descriptions(runs),
        ]
    return 1, [
        f"{one.folder} and {other.folder} first differ {found.place}.",
        *element(runs, found),
        "",
        *equal_value_lines(found),
        "",
        *run_descriptions(runs),
    ]


def read_run(name: str) -> RecordedRun:
    """The folder and the hashes of a run; ConfigError if it recorded none."""
    folder = find_run(name)
    try:
        hashes = read_hashes(folder)
    except (msgspec.DecodeError, UnicodeError, RecursionError, OSError) as wrong:
        raise ConfigError(
            f"diverge: {folder / FILE} cannot be read: {clipped(wrong)}. Record the run again."
        ) from None
    if not hashes.steps:
        raise ConfigError(
            f"diverge: {folder} recorded no hashes. Train it with --set train.record_hashes=true."
        )
    return RecordedRun(folder, hashes)


def first_difference_at(runs: tuple[RecordedRun, RecordedRun], step: int) -> Divergence | None:
    """The first difference at a step; None if all values are equal."""
    one, other = (run.hashes.of(step) for run in runs)
    refuse_other_values(runs, step, (list(one), list(other)))
    same = [mine == its for mine, its in zip(one.values(), other.values(), strict=True)]
    if all(same):
        return None
    names, at = list(one), same.index(False)
    equal = Counter(name.phase for name, agrees in zip(names, same, strict=True) if agrees)
    total = Counter(name.phase for name in names)
    agreeing = {phase: (equal[phase], total[phase]) for phase in total}
    return Divergence(step, names[at], names[at - 1] if at else None, agreeing)


def refuse_other_values(
    runs: tuple[RecordedRun, RecordedRun], step: int, names: tuple[list[ValueName], list[ValueName]]
) -> None:
    """Refuse runs of different programs, whose values do not correspond."""
    for mine, its in zip_longest(*names):
        if mine is None or its is None or mine.key != its.key:
            named = [sentence(name) if name else "nothing more" for name in (mine, its)]
            raise ConfigError(
                f"diverge: the runs are of different programs: step {step} of {runs[0].folder} has "
                f"{named[0]} where {runs[1].folder} has {named[1]}. Compare runs of one model."
            )


def equal_value_lines(found: Divergence) -> list[str]:
    """The lines of a table of equal values at the step of the difference."""
    rows = []
    for phase, (equal, total) in found.agreeing.items():
        rows.append((PHASES.get(phase, phase), f"{equal} of {total}"))
    if found.before:
        rows.append(("the last before it", sentence(found.before)))
    wide = max(len(left) for left, _ in rows)
    return [f"at step {found.step} agree", *(f"  {left:<{wide}}  {right}" for left, right in rows)]


def run_descriptions(runs: tuple[RecordedRun, RecordedRun]) -> list[str]:
    """The descriptions of both runs, and the differences of their configurations."""
    try:
        changes = differences(*(read_config(run.folder) for run in runs))
    except (CheckpointError, ConfigError):
        changes = []
    lines = [f"{x.key}: {x.before} and {x.now}" for x in changes if not x.key.startswith(FREE)]
    return [*map(str, runs), *lines]


def element(runs: tuple[RecordedRun, RecordedRun], found: Divergence) -> list[str]:
    """The first element that differs, or the commands that save the values to find it."""
    kept = [values_of(run.folder, found.step) for run in runs]
    missing = [run for run, values in zip(runs, kept, strict=True) if values is None]
    if not found.step:
        return []
    if missing:
        commands = [f"  {run.keeping(found.step)}" for run in missing]
        return ["To find the differing element, save the values of this step:", *commands]
    by_key = [{name.key: array for name, array in values.items()} for values in kept if values]
    arrays = [values.get(found.name.key) for values in by_key]
    if any(array is None for array in arrays) or arrays[0].shape != arrays[1].shape:
        return ["The kept values of this step are of other programs: keep them anew."]
    return [difference(*arrays)]


def difference(one: np.ndarray, other: np.ndarray) -> str:
    """A sentence on the first element that differs, and the largest difference in ULP.

    >>> one = np.float32([[1, 2], [3, 4]])
    >>> difference(one, np.float32([[1, 2], [3.0000002, 5]]))
    'Element [1, 0] is 3.0 and 3.0000002: 1 ULP apart; 2 of 4 differ, by at most 2,097,152 ULP.'
    """
    flat = np.atleast_1d(one), np.atleast_1d(other)
    apart = ulps(*flat)
    places = np.argwhere(apart)
    if not len(places):
        return "The kept values of this step agree: the runs do not repeat themselves."
    at = tuple(map(int, places[0]))
    numbers = " and ".join(str(array[at]) for array in flat)
    where = "It" if one.ndim == 0 else f"Element {list(at)}"
    unit = "ULP" if one.dtype.kind == "f" else "steps"
    return (
        f"{where} is {numbers}: {int(apart[at]):,} {unit} apart; {len(places):,} of {one.size:,} "
        f"differ, by at most {int(apart.max()):,} {unit}."
    )


def ulps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The distances between elements, in representable numbers of their dtype."""
    first, second = ranks(one), ranks(other)
    return np.where(first > second, first - second, second - first)


def ranks(array: np.ndarray) -> np.ndarray:
    """The rank of each element among all numbers of its dtype; −0 and 0 are neighbours."""
    bits = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").astype(np.int64)
    if array.dtype.kind == "f":
        lowest = np.int64(-1 << (8 * array.dtype.itemsize - 1))
        bits = np.where(bits < 0, lowest - bits - 1, bits)
    return bits.astype(np.uint64) ^ np.uint64(1 << 63)
