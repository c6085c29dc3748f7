"""Mutants: one fault planted at a time, and what counts as catching it. Not a test.

A judge catches by an assertion of its own, or by the error that the mutant declares. Any other
error is the mutant's own fault: it is broken, and what it should have shown stays unknown.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.house import PACKAGE
from tests.witnesses import forgotten

Plant = Callable[[pytest.MonkeyPatch], object]
Judge = Callable[[], object]


@dataclass(frozen=True)
class Refusal:
    """The error by which the package itself refuses a mutant: its class and a piece of its text."""

    error: type[Exception]
    text: str

    def matches(self, error: BaseException) -> bool:
        """Whether an error is the declared one; not a subclass, which would say something else."""
        return type(error) is self.error and self.text in str(error)


def caught(judge: Judge, declared: Refusal | None = None) -> bool:
    """Whether a judge refuses a mutant, by an assertion or by the error that is declared."""
    try:
        judge()
    except Exception as error:
        if asserted(error) or (declared and declared.matches(error)):
            return True
        name = type(error).__name__
        raise pytest.fail.Exception(f"the mutant is broken, not caught: {name}: {error}") from error
    except pytest.fail.Exception:  # an error that pytest.raises waited for in vain
        return True
    return False


def asserted(error: Exception) -> bool:
    """Whether an error is an assertion of a test: those inside the package judge nothing."""
    *_, last = traceback.walk_tb(error.__traceback__)
    inside = PACKAGE in Path(last[0].f_code.co_filename).parents
    return isinstance(error, AssertionError) and not inside


# families: rows of a table, each a fault and the test of the ordinary suite that catches it


@dataclass(frozen=True)
class Mutant:
    """A fault, the ordinary test that catches it, and the error that it may end in."""

    plant: Plant
    check: Callable[..., object]
    declared: Refusal | None = None


def changed(place: object, name: str, change: Callable[[Any], Any]) -> Plant:
    """A fault made of what is right."""
    return lambda patch: patch.setattr(place, name, change(getattr(place, name)))


def instead(place: object, name: str, value: object) -> Plant:
    """A fault in place of what is right."""
    return changed(place, name, lambda _: value)


def ordinary(check: Callable[..., object], request: pytest.FixtureRequest) -> Judge:
    """A test of the ordinary suite as a judge: all its cases, with its fixtures."""
    parameters = inspect.signature(check).parameters.values()
    wanted = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]

    def judge() -> None:
        for number, given in enumerate(cases(check)):
            found = {x: request.getfixturevalue(x) for x in wanted if x not in given}
            if given and "tmp_path" in found:
                found["tmp_path"] = found["tmp_path"] / str(number)
                found["tmp_path"].mkdir(exist_ok=True)
            with forgotten():
                check(**given, **found)

    return judge


def cases(check: Callable[..., object]) -> Iterator[dict[str, object]]:
    """The parameters of every case of a test."""
    marks = [x for x in getattr(check, "pytestmark", ()) if x.name == "parametrize"]
    for rows in product(*(x.args[1] for x in marks)):
        given: dict[str, object] = {}
        for mark, row in zip(marks, rows, strict=True):
            names = mark.args[0]
            one = isinstance(names, str) and "," not in names
            names = [x.strip() for x in names.split(",")] if isinstance(names, str) else names
            values = getattr(row, "values", row)
            values = (row,) if one and values is row else values
            given |= dict(zip(names, values, strict=True))
        yield given
