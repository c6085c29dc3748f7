"""Functions whose shapes depend on values."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import TraceError

X = np.array([[3, 0, 1], [0, 3, 3]])


def test_positions_of_what_is_not_zero():
    x = gn.from_numpy(X)

    assert x.nonzero().tolist() == gn.argwhere(x).tolist() == np.argwhere(X).tolist()
    assert [part.tolist() for part in gn.where(x > 1)] == [[0, 1, 1], [0, 1, 2]]
    assert gn.tensor(5).nonzero().shape == (1, 0)


def test_a_mask_selects_in_one_axis():
    x = gn.from_numpy(X)

    assert gn.masked_select(x, x > 1).tolist() == [3, 3, 3]
    assert x.masked_select(gn.tensor([True, False, False])).tolist() == [3, 0]


def test_distinct_elements_and_where_they_went():
    values, inverse, counts = gn.unique(gn.from_numpy(X), return_inverse=True, return_counts=True)

    assert values.tolist() == [0, 1, 3]
    assert values[inverse].tolist() == X.tolist()
    assert counts.tolist() == [2, 1, 3]
    assert gn.unique_all(gn.from_numpy(X)).indices.tolist() == [1, 2, 0]


def test_numbers_are_counted():
    assert gn.bincount(gn.tensor([0, 3, 3])).tolist() == [1, 0, 0, 2]
    assert gn.bincount(gn.tensor([0, 2]), gn.tensor([0.5, 2.0]), 4).tolist() == [0.5, 0.0, 2.0, 0.0]
    assert gn.bincount(gn.tensor([0]), gn.tensor([0.5])).dtype is gn.float32


def test_closeness_and_equality_are_python_truths():
    x = gn.tensor([1.0, float("nan")])

    assert gn.allclose(x[:1], x[:1] + 1e-7)
    assert not gn.allclose(x, x)
    assert gn.allclose(x, x, equal_nan=True)
    assert gn.arange(2).equal(gn.arange(2))
    assert not gn.arange(2).equal(gn.arange(3))


def test_the_positions_of_a_traced_value_are_its_programs_or_refused():
    with pytest.raises(TraceError):
        gn.compile(lambda x: gn.nonzero(x), breaks="error")(gn.ones(2))

    positions = gn.compile(lambda x: gn.argwhere(x) * 2)
    found = [positions(gn.tensor(x)).tolist() for x in ([1.0, 0.0], [0.0, 0.0], [0.0, 5.0])]

    assert found == [[[0]], [], [[2]]]


def test_neighbours_that_are_equal_become_one():
    values, inverse, counts = gn.unique_consecutive(
        gn.tensor([1, 1, 2, 1]), return_inverse=True, return_counts=True
    )

    assert (values.tolist(), inverse.tolist()) == ([1, 2, 1], [0, 0, 1, 2])
    assert counts.tolist() == [2, 1, 1]
    rows = gn.tensor([[1, 2], [1, 2], [3, 4]])
    assert gn.unique_consecutive(rows, dim=0).tolist() == [[1, 2], [3, 4]]


def test_intervals_are_counted():
    x = gn.tensor([0.0, 1.0, 1.5, 2.0, 9.0])

    assert gn.histc(x, bins=2, min=0, max=2).tolist() == [1, 3]
    assert gn.histc(x, bins=3).tolist() == [4, 0, 1]


def test_choices_of_several_elements():
    x = gn.tensor([5, 6, 7])

    assert gn.combinations(x).tolist() == [[5, 6], [5, 7], [6, 7]]
    assert gn.combinations(x, 1, with_replacement=True).tolist() == [[5], [6], [7]]


def test_several_shares_come_along_a_first_axis():
    x = gn.tensor([[0.0, 1.0, 2.0], [0.0, 10.0, 20.0]])

    assert gn.quantile(x, gn.tensor([0.5, 1.0]), dim=1).tolist() == [[1, 10], [2, 20]]
    assert x.quantile(0.25, dim=1).tolist() == [0.5, 5]
    assert x.quantile((0.5, 1), 1, keepdim=True).tolist() == [[[1], [10]], [[2], [20]]]
    assert gn.quantile(x, np.array([0.5, 1.0]), dim=1).tolist() == [[1, 10], [2, 20]]
    assert gn.quantile(input=x, q=gn.tensor(0.25), dim=1).tolist() == [0.5, 5]


def test_quantiles_of_nan_are_nan_and_infinities_are_values():
    x = gn.tensor([[-gn.inf, 1.0, 2.0, gn.inf], [0.0, gn.nan, 1.0, 2.0]])

    for function in (gn.quantile, gn.nanquantile):
        assert function(x[0], gn.tensor([0.0, 0.2, 0.5, 0.8, 1.0])).tolist() == [
            *(-gn.inf, -gn.inf, 1.5, gn.inf, gn.inf)
        ]
        assert function(x[0], 0.5, interpolation="higher").item() == 2.0
    assert x.quantile(0.5, 1).isnan().tolist() == [False, True]
    assert x.nanquantile(0.5, 1).tolist() == [1.5, 1.0]


def test_a_nan_is_put_behind_all_that_is_sorted():
    row, values = gn.tensor([1.0, 2.0, 3.0]), gn.tensor([gn.nan, gn.inf, 2.0])

    assert gn.searchsorted(row, values).tolist() == [3, 3, 1]
    assert gn.bucketize(values, row, right=True).tolist() == [3, 3, 2]


def test_of_no_elements_none_are_consecutive():
    made = gn.unique_consecutive(gn.zeros(0), return_inverse=True, return_counts=True)

    assert [tuple(x.shape) for x in made] == [(0,), (0,), (0,)]


def test_membership_takes_pytorchs_words():
    x, y = gn.tensor([1, 2]), gn.tensor([2])

    made = gn.isin(elements=x, test_elements=y, assume_unique=True, invert=True)

    assert made.tolist() == [True, False]
    assert gn.isin(element=2, test_elements=y).item() is True


@pytest.mark.parametrize("dtype", [gn.uint8, gn.int8, gn.uint16, gn.int32])
def test_narrow_numbers_are_counted(dtype):
    assert gn.bincount(gn.tensor([5, 3, 5], dtype=dtype)).tolist() == [0, 0, 0, 1, 0, 2]
    assert gn.bincount(gn.zeros(0, dtype=dtype), minlength=2).tolist() == [0, 0]
