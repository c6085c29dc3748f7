"""Operators follow CPython's protocol: differences from plain numbers are found by a fuzzer."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DtypeError
from tests import drawn as st
from tests.drawn import examples, given


class Bridge:
    """A user's class that knows tensors from both sides."""

    def __add__(self, other):
        return "forward"

    def __radd__(self, other):
        return "reflected"


class Stranger:
    """A user's class that knows nothing."""


class Whole(int):
    """A subclass of int with an opinion of its own."""

    def __rsub__(self, other):
        return "mine"


STRANGERS = ("text", b"bytes", None, {}, Stranger(), Fraction(1, 2))
OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and_", "or_", "xor", "lshift", "rshift", "lt", "le", "gt", "ge", "divmod"),
)


def apply(name, left, right):
    """The operator's result, or the type of what it raised."""
    function = divmod if name == "divmod" else getattr(operator, name)
    try:
        return function(left, right)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("other", STRANGERS, ids=lambda v: type(v).__name__)
def test_strangers_are_refused_as_python_refuses_them(name, other):
    x = gn.ones(2)

    if not (name == "pow" and isinstance(other, Fraction)):  # a fraction turns into a float itself
        assert apply(name, x, other) is TypeError
    formats = name == "mod" and isinstance(other, (str, bytes))  # text formats any mapping
    if not formats and not (name == "pow" and isinstance(other, Fraction)):
        assert apply(name, other, x) is TypeError


ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod")
NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-9, 9),
    st.floats(-9, 9).map(lambda v: float(np.float32(round(v, 2)))),
)


@examples(60)
@given(st.sampled_from(ARITHMETIC), NUMBERS, st.integers(-9, 9), st.booleans())
def test_numbers_combine_as_numpy_combines_them(name, number, element, left):
    x = gn.tensor([float(element)], dtype=gn.float64)
    pair = (x, number) if left else (number, x)
    plain = (np.float64(element), float(number))

    found = apply(name, *pair)

    with np.errstate(all="ignore"):
        expected = apply(name, *(plain if left else plain[::-1]))
    np.testing.assert_allclose(found.numpy()[0], expected, rtol=1e-15)


@examples(60)
@given(
    st.sampled_from((*ARITHMETIC[:3], "floordiv", "mod", "and_", "or_", "xor", "lt", "ge")),
    st.integers(-50, 50),
    st.integers(-50, 50).filter(bool),
    st.booleans(),
)
def test_integers_are_python_s(name, a, b, left):
    x = gn.tensor([a if left else b])

    found = apply(name, *((x, b) if left else (a, x)))

    assert found.tolist() == [apply(name, a, b)]


def test_user_classes_are_asked_from_both_sides():
    x = gn.ones(2)

    assert Bridge() + x == "forward"
    assert x + Bridge() == "reflected"
    assert (x - Whole(1)).tolist() == [0, 0]
    assert Whole(3) - gn.tensor([1]) is not NotImplemented


def test_numpy_on_the_left_does_not_swallow_tensors():
    x = gn.ones(2)

    for result in (np.float32(2) * x, np.ones(2, np.float32) + x, x * np.float64(2)):
        assert isinstance(result, gn.Tensor)
        assert result.tolist() == [2, 2]


def test_scalars_are_weak():
    assert (gn.ones(1, dtype=gn.bfloat16) * 2.5).dtype is gn.bfloat16
    assert (gn.tensor([1]) * 2.5).dtype is gn.float32
    assert (gn.tensor([1]) * True).dtype is gn.int64
    assert (gn.tensor([1, 2]) / 2).tolist() == [0.5, 1]


def test_in_place_forms_write_and_refuse_what_cannot_be_held():
    x = gn.tensor([1, 2])
    same = x
    x += 3
    x *= 2

    assert same.tolist() == [8, 10]
    with pytest.raises(DtypeError, match="can't be cast"):
        x += 0.5
    with pytest.raises(TypeError):
        x += "text"


def test_comparison_with_a_stranger_is_identity():
    x = gn.ones(2)

    assert (x == "text") is False
    assert (x != "text") is True
    assert len({x, x.clone()}) == 2


def test_unsigned_integers_take_no_floats_in_place():
    x = gn.tensor([7], dtype=gn.uint8)

    with pytest.raises(DtypeError, match="float32 can't be cast to the desired output type uint8"):
        x /= 2
    with pytest.raises(DtypeError, match="can't be cast"):
        x.mul_(0.5)
    assert x.add_(gn.tensor([1])).tolist() == [8]


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [2, 2.0, 3])
def test_a_power_is_the_same_when_it_comes_again(dtype, exponent):
    first, second = (gn.tensor(x).astype(dtype) for x in ([0.0, 1.5, 3.0], [2.0, 0.0, 5.0]))
    powers = [x**exponent for x in (first, second, first)]

    assert powers[0]._storage.node is powers[2]._storage.node, "an equal operation is one node"
    for x, made in zip((first, second), powers, strict=False):
        values = x.numpy().astype(made.numpy().dtype)
        np.testing.assert_array_equal(made.numpy(), values ** values.dtype.type(exponent))
