"""The default dtype is that of new floats: of Python's numbers and of what integers become."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import dtype_of
from gnomon.ir.node import Arena, Graph
from gnomon.ops.registry import OPS
from tests.ops.samples import SAMPLES

OTHERS = (gn.float64, gn.bfloat16)


@contextmanager
def default(dtype: Any) -> Iterator[None]:
    """Another default dtype for a while."""
    before = gn.get_default_dtype()
    gn.set_default_dtype(dtype)
    try:
        yield
    finally:
        gn.set_default_dtype(before)


class Built:
    """The graph of a sample's call, its floats as float32."""

    def __init__(self, name: str, number: int) -> None:
        sample, self.leaves = SAMPLES[name][number], []
        self.arena = Arena()
        made = OPS[name](*self.given(sample.args), **self.given(sample.kwargs))
        self.results = made if isinstance(made, tuple) else (made,)

    def given(self, value: Any) -> Any:
        """The value with leaves for arrays."""
        if isinstance(value, np.ndarray):
            kind = gn.float32 if value.dtype.kind == "f" else dtype_of(value.dtype)
            self.leaves.append(self.arena.input(value.shape, kind))
            return self.leaves[-1]
        if isinstance(value, dict):
            return {k: self.given(v) for k, v in value.items()}
        return type(value)(map(self.given, value)) if isinstance(value, (list, tuple)) else value

    @property
    def key(self) -> Any:
        """The graph as something to compare."""
        return Graph(self.leaves, self.results).key


@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.parametrize("name", SAMPLES)
def test_calls_on_floats_do_not_depend_on_it(name: str, other: Any):
    for number in range(len(SAMPLES[name])):
        usual = Built(name, number)
        if not any(x.dtype.is_floating_point for x in usual.leaves):
            continue
        with default(other):
            assert Built(name, number).key == usual.key


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_integers_become_floats_of_it(other: Any):
    x = gn.tensor([1, 2, 4])

    for _ in range(2):
        with default(other):
            floats = [x / 2, x * 0.5, x**0.5, x.sqrt(), x.exp(), (x > 1).sigmoid(), x / x.sum()]
            floats += [
                gn.where(x > 1, x, 0.5),
                gn.atan2(x, x),
                gn.softmax(x, 0),
                x + gn.tensor(1.0),
            ]
            assert {y.dtype for y in floats} == {other}
            assert (x * 1j).dtype is other.to_complex()
            assert (gn.ones(2, dtype=gn.float32) * 0.5).dtype is gn.float32
        assert (x / 2).dtype is x.sqrt().dtype is gn.float32
        assert (x * 1j).dtype is gn.complex64


def test_values_are_as_exact_as_it():
    x = gn.tensor([3])

    assert (x / 7).item() != 3 / 7
    with default(gn.float64):
        assert (x / 7).item() == 3 / 7
        assert (1 / x).item() == 1 / 3
        assert x.log().item() == pytest.approx(np.log(3), abs=1e-15)


def test_a_compiled_function_is_captured_for_each():
    @gn.compile
    def third(x: gn.Tensor) -> gn.Tensor:
        return x / 3

    x = gn.tensor([1])
    assert third(x).dtype is gn.float32
    with default(gn.float64):
        assert third(x).item() == 1 / 3
    assert third(x).dtype is gn.float32
