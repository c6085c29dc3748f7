"""A kernel's key: equal for what gives the same code, different for all else."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float64
from gnomon.ops.primitives import reduce
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import pad
from tests.schedule.kernels_of import kernels, leaf, softmax

pytestmark = pytest.mark.unit


def key(*roots) -> str:
    """The key of the only kernel."""
    (kernel,) = kernels(*roots)
    return kernel.key()


def test_equal_structure_has_an_equal_key():
    assert key(softmax(leaf(5, 7))) == key(softmax(leaf(5, 7)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: softmax(leaf(5, 7)), lambda: softmax(leaf(5, 8))),
        (lambda: softmax(leaf(5, 7)), lambda: softmax(leaf(6, 7))),
        (lambda: exp(leaf(7)), lambda: exp(leaf(7, dtype=float64))),
        (lambda: leaf(7) * 2.0, lambda: leaf(7) * 3.0),
        (lambda: leaf(7) + 0.0, lambda: leaf(7) + -0.0),
        (lambda: reduce("max", leaf(7), (0,)), lambda: reduce("min", leaf(7), (0,))),
        (lambda: pad(leaf(7), (1,), (0,), 1.0), lambda: pad(leaf(7), (1,), (0,), 2.0)),
        (lambda: reduce("add", leaf(8, 3), (0,)), lambda: reduce("add", leaf(9, 3), (0,))),
    ],
)
def test_whatever_code_depends_on_is_in_the_key(one, other):
    assert key(one()) != key(other())
