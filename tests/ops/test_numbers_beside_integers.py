"""A Python number beside an integer tensor: wrapped, compared exactly, or refused by name."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import ALL, DType
from gnomon.errors import ArgumentError

INTEGERS = [dtype for dtype in ALL if dtype.is_integer]
by_dtype = pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.name)


def edges(dtype: DType) -> list[int]:
    """Numbers at and beyond the limits of a dtype."""
    low, high = dtype.limits
    return [low - 1, low, -1, 0, high, high + 1, 2**70, -(2**70)]


def of_limits(dtype: DType) -> tuple[gn.Tensor, list[int]]:
    """A tensor of the limits of a dtype and what is between, and the same as numbers."""
    low, high = dtype.limits
    numbers = [low, 0, 1, 7, high]
    return gn.tensor(np.array(numbers, dtype.numpy)), numbers


COMPARISONS = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


@by_dtype
def test_comparisons_are_those_of_whole_numbers(dtype: DType):
    x, numbers = of_limits(dtype)
    for name, compare in COMPARISONS.items():
        for edge in edges(dtype):
            right, left = getattr(gn, name)(x, edge), getattr(gn, name)(edge, x)

            assert right.tolist() == [compare(n, edge) for n in numbers], (name, edge)
            assert left.tolist() == [compare(edge, n) for n in numbers], (name, edge)


RINGS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


@by_dtype
def test_sums_products_and_bits_wrap_as_in_pytorch(dtype: DType):
    x, numbers = of_limits(dtype)
    low, high = dtype.limits
    for name, function in RINGS.items():
        for edge in (n for n in edges(dtype) if abs(n) < 2**64):
            expected = [(function(n, edge) - low) % (high - low + 1) + low for n in numbers]

            assert getattr(gn, name)(x, edge).tolist() == expected, (name, edge)


REFUSING: dict[str, Callable[[gn.Tensor, int], Any]] = {
    "maximum": lambda x, n: gn.maximum(x, n),
    "minimum": lambda x, n: gn.minimum(x, n),
    "where": lambda x, n: gn.where(x > 0, x, n),
    "maximum ": lambda x, n: gn.clip(x, n, None),
    "minimum ": lambda x, n: gn.clip(x, None, n),
    "full": lambda x, n: gn.full((2,), n, dtype=x.dtype),
    "full ": lambda x, n: gn.full_like(x, n),
    "full  ": lambda x, n: x.clone().fill_(n),
    "masked_fill": lambda x, n: x.masked_fill(x > 0, n),
    "x[...] = y": lambda x, n: x.clone().__setitem__(0, n),
    "index_fill": lambda x, n: gn.index_fill(x, 0, gn.tensor([0]), n),
    "scatter": lambda x, n: gn.scatter(x, 0, gn.tensor([0]), n),
    "pad": lambda x, n: gn.nn.functional.pad(x, (1, 1), value=n),
    "floor_divide": lambda x, n: x // n,
    "remainder": lambda x, n: x % n,
    "fmod": lambda x, n: gn.fmod(x, n),
    "tensor": lambda x, n: gn.tensor([n], dtype=x.dtype),
    "searchsorted": lambda x, n: gn.searchsorted(x, n),
}


@by_dtype
@pytest.mark.parametrize("name", REFUSING)
def test_what_would_change_its_value_is_refused(name: str, dtype: DType):
    x, (low, high) = of_limits(dtype)[0], dtype.limits
    told = re.escape(f"{name.strip()}: {dtype.name} holds {low} to {high}: got ")
    for edge in (low - 1, high + 1):
        if name == "tensor" and not -(2**63) <= edge < 2**64:
            continue  # numpy has no dtype for such a list
        with pytest.raises(ArgumentError, match=f"^{told}{edge}\\. Cast the tensor first\\.$"):
            REFUSING[name](x, edge)


@by_dtype
def test_floats_are_cut_and_what_is_no_integer_is_refused(dtype: DType):
    assert gn.full((2,), 1.9, dtype=dtype).tolist() == [1, 1]
    for value in (float("nan"), float("inf"), -1e300):
        with pytest.raises(ArgumentError, match=f"^full: {dtype.name} holds "):
            gn.full((2,), value, dtype=dtype)


def test_no_float_holds_a_number_of_a_thousand_digits():
    with pytest.raises(
        ArgumentError, match=r"^add: an integer beyond every float: got one of 3322 bits\.$"
    ):
        gn.ones(2) + 10**1000


def test_a_quotient_with_a_number_is_one_of_floats():
    assert (gn.tensor([3], dtype=gn.uint8) / 300).item() == np.float32(3) / np.float32(300)


def test_a_constant_cast_is_what_a_value_cast_is():
    for number in (300.7, -5.5, float("nan"), float("inf")):
        constant = gn.full((), number).to(gn.uint8).item()
        assert constant == gn.tensor(number).to(gn.uint8).item()
    assert gn.full((), 300).to(gn.uint8).item() == gn.tensor(300).to(gn.uint8).item() == 44
