"""assert_close passes what is close, and says what is not and where."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.testing import assert_close


def told(*args: object, **named: object) -> str:
    """What a failing comparison says."""
    with pytest.raises(AssertionError) as caught:
        assert_close(*args, **named)
    return str(caught.value)


def test_bounds_follow_the_dtype():
    assert_close(gn.tensor(1.0 + 1e-6), gn.tensor(1.0))
    assert "not close" in told(gn.tensor(1.0 + 1e-6, dtype="float64"), gn.tensor(1.0).double())
    assert_close(gn.tensor([1.0]).bfloat16(), gn.tensor([1.0078125]).bfloat16())
    assert "Tensor-likes are not equal" in told(gn.tensor([1, 2]), gn.tensor([1, 3]))
    assert_close(gn.tensor([1.0]), gn.tensor([1.4]), rtol=0.0, atol=0.5)


def test_the_greatest_differences_have_places():
    said = told(gn.tensor([[1.0, 2.0], [30.0, 4.0]]), gn.tensor([[1.0, 1.0], [20.0, 4.0]]))

    assert "Mismatched elements: 2 / 4 (50.0%)" in said
    assert "Greatest absolute difference: 10 at index (1, 0) (up to 1e-05 allowed)" in said
    assert "Greatest relative difference: 1 at index (0, 1) (up to 1.3e-06 allowed)" in said


def test_nan_is_close_to_nan_where_that_is_asked_for():
    x = gn.tensor([float("nan"), 1.0])

    assert "at index (0,)" in told(x, x)
    assert_close(x, x, equal_nan=True)


def test_nested_values_say_where():
    one, two = ({"a": [gn.ones(2), gn.tensor(k)]} for k in (1.0, 2.0))

    assert "item ['a'][1]" in told(one, two)
    assert "['b']" in told({"a": 1}, {"b": 1})
    assert "2 != 1" in told([1, 2], [1])


def test_shapes_and_dtypes_must_agree():
    assert "'shape'" in told(gn.ones(2), gn.ones(3))
    assert "'dtype'" in told(gn.ones(2), gn.ones(2).double())
    assert_close(gn.ones(2), gn.ones(2).double(), check_dtype=False)


def test_a_message_of_ones_own():
    assert told(1.0, 2.0, msg="other") == "other"
    assert told(1.0, 2.0, msg=lambda said: f"> {said}").startswith("> Scalars are not close!")


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ArgumentError, match="no atol"):
        assert_close(1.0, 1.0, rtol=1.0)
    with pytest.raises(TypeError, match="str"):
        assert_close("a", 1.0)
    assert_close(np.ones(2), np.ones(2))


def test_the_older_name_takes_any_dtype_and_nan():
    gn.testing.assert_allclose(gn.ones(2), np.ones(2))
    gn.testing.assert_allclose(gn.tensor([float("nan")]), gn.tensor([float("nan")]))
    with pytest.raises(AssertionError, match="mine"):
        gn.testing.assert_allclose(1.0, 2.0, msg="mine")
