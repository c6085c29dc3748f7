"""Circular functions of complex numbers far out: C's values, and slopes that are numbers."""

from __future__ import annotations

import math

import pytest

import gnomon as gn
from gnomon.tensor.complex_circles import turned, turned_back

INF, NAN = math.inf, math.nan


def test_a_quarter_turn_and_back_is_nothing():
    x = gn.tensor([1 + 2j, complex(-0.0, INF)])

    assert turned_back(turned(x)).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("sqrt", 3e38 + 1j, 1.7320507e19 + 2.886751e-20j),
        ("log", 3e38 + 3e38j, 88.943420 + 0.7853982j),
        ("exp", 100 + 1e-20j, complex(INF, 2.688117e23)),
        ("asin", 3e38 + 3e38j, 0.7853982 + 89.636566j),
        ("acos", -3e38 + 0j, 3.1415927 - 89.28999j),
        ("acosh", complex(0.0, INF), complex(INF, 1.5707964)),
        ("asinh", complex(-INF, 1.0), complex(-INF, 0.0)),
        ("atanh", complex(1.0, INF), 1.5707964j),
        ("atanh", 1 + 1e-30j, 34.885324 + 0.7853982j),
        ("sinh", complex(INF, 0.0), complex(INF, 0.0)),
        ("cosh", complex(0.0, 1.0), 0.5403023 + 0j),
        ("tanh", complex(INF, INF), 1 + 0j),
        ("tan", complex(1.0, -INF), -1j),
        ("expm1", 89 + 1e-3j, complex(INF, 4.4896124e35)),
        ("expm1", complex(INF, 0.0), complex(INF, 0.0)),
        ("expm1", complex(-INF, INF), -1 + 0j),
        ("expm1", complex(-INF, NAN), -1 + 0j),
        ("expm1", complex(-INF, 2.0), -1 + 0j),
        ("expm1", complex(INF, NAN), complex(INF, NAN)),
        ("expm1", complex(NAN, 0.0), complex(NAN, 0.0)),
    ],
)
def test_values_far_out(name: str, x: complex, expected: complex):
    y = getattr(gn, name)(gn.tensor([x])).tolist()[0]

    assert y.real == pytest.approx(expected.real, rel=1e-6, nan_ok=True)
    assert y.imag == pytest.approx(expected.imag, rel=1e-6, nan_ok=True)


def test_slopes_far_out_are_numbers():
    for name in ("sqrt", "log", "asinh", "acos", "acosh", "atanh"):
        x = gn.tensor([3e38 + 1j, -3e38 - 3e38j, 1 + 2e19j], requires_grad=True)
        gn.view_as_real(getattr(gn, name)(x)).sum().backward()

        assert gn.view_as_real(x.grad).isfinite().all(), name
