"""Sums with weights: narrow floats are computed in float32 and rounded once."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DtypeError
from gnomon.ops.blends import addcdiv, addcmul, lerp
from gnomon.ops.registry import OPS

HALVES = (gn.float16, gn.bfloat16)


def test_they_are_operations():
    assert {"lerp", "addcmul", "addcdiv"} <= OPS.keys()
    assert [each.__name__ for each in (lerp, addcmul, addcdiv)] == ["lerp", "addcmul", "addcdiv"]


@pytest.mark.parametrize("dtype", HALVES)
def test_narrow_floats_are_rounded_once(dtype: gn.dtype, rng: np.random.Generator):
    x, a, b = (gn.from_numpy(rng.standard_normal(99, np.float32)).to(dtype) for _ in range(3))
    wide = [v.float() for v in (x, a, b)]

    for name, words in (("addcmul", {"value": 0.1}), ("addcdiv", {"value": 1e6})):
        function = getattr(gn, name)
        assert function(x, a, b, **words).equal(function(*wide, **words).to(dtype))
    assert gn.lerp(x, a, 0.3).equal(gn.lerp(wide[0], wide[1], 0.3).to(dtype))
    assert gn.lerp(x, a, b).equal(gn.lerp(*wide).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
def test_a_number_beside_narrow_floats_is_one_of_float32(dtype: gn.dtype):
    x = gn.tensor([0.0, 1.0, -3.0, 65504.0], dtype=dtype)

    for c in (1e6, 0.1, 1e-8):
        assert (x * c).equal((x.float() * c).to(dtype))
        assert (x / c).equal((x.float() / c).to(dtype))
        assert (x // c).equal((x.float() // c).to(dtype))
    assert gn.full((1,), 0.1, dtype=dtype).eq(0.1).item()


def test_factors_of_integers_are_finite():
    x = gn.ones(2, 2, dtype=gn.int64)

    with pytest.raises(DtypeError, match=r"factors of integers are finite: got \[inf\]"):
        gn.addmm(x, x, x, beta=float("inf"))


def test_a_factor_of_integers_beside_floats_does_not_overflow():
    large = gn.tensor([2**62])

    assert gn.addcdiv(large, large, gn.tensor([0.5]), value=2).item() == 5 * 2.0**62
    assert gn.addcmul(gn.tensor([0]), large, gn.tensor([0.5]), value=2).item() == 2.0**62
