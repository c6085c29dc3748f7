"""debug_nans names the first operation that made a NaN."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import NanError


def test_the_operation_and_its_line_are_named():
    with gn.debug_nans(), pytest.raises(NanError, match=r"log made a NaN.*test_nans\.py"):
        (gn.tensor([-1.0]).log() + 1).tolist()


def test_inputs_that_are_nan_already_are_told_so():
    with gn.debug_nans(), pytest.raises(NanError, match="already"):
        (gn.tensor([float("nan")]) + 1).tolist()


def test_compiled_functions_are_looked_at_too():
    f = gn.compile(lambda x: x.sqrt() * 2)
    f(gn.ones(1))

    with gn.debug_nans(), pytest.raises(NanError, match="sqrt"):
        f(gn.tensor([-1.0]))
    assert f(gn.ones(1)).tolist() == [2]


def test_the_operation_inside_a_turn_is_named():
    f = gn.compile(lambda c, xs: gn.scan(lambda c, x: ((c * x).log(), c), c, xs)[0])

    with gn.debug_nans(), pytest.raises(NanError, match=r"log made a NaN.*test_nans\.py"):
        f(gn.ones(2), -gn.ones(3, 2))


def test_nothing_is_looked_at_otherwise():
    assert gn.tensor([-1.0]).log().isnan().tolist() == [True]
