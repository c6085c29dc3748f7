"""Products that are added to a tensor: factors of integers are PyTorch's."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import DtypeError

ONES, ROW = gn.ones(2, 2, dtype=gn.int64), gn.arange(2)


def test_the_fraction_of_a_factor_of_integers_is_cut_off():
    assert gn.addmm(ONES, ONES, ONES, beta=1.9, alpha=2.9).tolist() == [[5, 5], [5, 5]]


@pytest.mark.parametrize("word", ["beta", "alpha"])
def test_addr_refuses_a_factor_that_is_no_integer_for_integers(word: str):
    with pytest.raises(DtypeError, match=f"addr: {word} must be an integer for integers: got 0.5"):
        gn.addr(ONES, ROW, ROW, **{word: 0.5})


def test_factors_of_integers_are_finite():
    with pytest.raises(DtypeError, match="a factor of integers must be finite: got inf"):
        gn.addmm(ONES, ONES, ONES, beta=float("inf"))
