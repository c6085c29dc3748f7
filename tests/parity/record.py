"""One row of the table that compares Gnomon with torch: a name, sample arguments, a call.

The call takes the library first, so one line serves both. How two answers are compared is in
test_ops_against_torch.py; the rows are in table/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Record:
    """One op under one set of arguments; `call(lib, *tensors)` gives a tensor or several."""

    name: str
    call: Callable[..., Any]
    makers: tuple[Maker, ...]
    gradient: bool = True
    slack: float = 1.0


class Table(list[Record]):
    """The rows of one family of ops."""

    def add(self, name: str, call: Callable[..., Any], *makers: Maker, **options: Any) -> None:
        """Append a row; its name tells it from all others."""
        self.append(Record(name, call, makers, **options))

    def each(self, names: str, call: Callable[..., Any], *makers: Maker, **options: Any) -> None:
        """Append a row for each op name; the call is given the function of that name."""
        for name in names.split():

            def named(lib: Any, *tensors: Any, name: str = name) -> Any:
                return call(getattr(lib, name), *tensors)

            self.add(name, named, *makers, **options)


def normal(*shape: int) -> Maker:
    """Normal floats."""
    return lambda random: random.standard_normal(shape)


def between(low: float, high: float, *shape: int) -> Maker:
    """Uniform floats of a range."""
    return lambda random: random.uniform(low, high, shape)


def distinct(*shape: int) -> Maker:
    """Floats at least 1/4 apart: no two tie, and none is near a kink of another."""
    size = int(np.prod(shape))
    return lambda random: (random.permutation(size) * 0.25 - size * 0.1).reshape(shape)


def integers(low: int, high: int, *shape: int) -> Maker:
    """Whole numbers of type int64, the upper bound excluded."""
    return lambda random: random.integers(low, high, shape, dtype=np.int64)


def booleans(*shape: int) -> Maker:
    """True and false."""
    return lambda random: random.random(shape) < 0.5


def exactly(values: Any, dtype: str = "float64") -> Maker:
    """These values; floats still take the float type under test."""
    return lambda random: np.array(values, dtype=dtype)
