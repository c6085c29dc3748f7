"""Einstein sums whose axes are numbers in lists beside each tensor."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, ShapeError

X, Y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
CALLS = {
    "a product": (X, [0, 1], Y, [1, 2], [0, 2]),
    "without a result": (X, [0, 1], Y, [1, 2]),
    "a sum": (X, [4, 3], []),
    "a transpose": (X, [1, 0]),
    "a diagonal": (X[:, :2], [7, 7], [7]),
    "dots": (X, [..., 1], Y, [1, 2], [..., 2]),
    "three": (X, [0, 1], Y, [1, 2], X, [0, 3], [3, 2]),
    "one number": (np.array(3.0), [], X, [0, 1], [0, 1]),
    "no elements": (X[:0], [0, 1], Y, [1, 2], [0, 2]),
}


@pytest.mark.parametrize("kind", ["float64", "complex128", "int64"])
@pytest.mark.parametrize("given", CALLS.values(), ids=CALLS)
def test_lists_of_axes_are_letters(given, kind):
    arrays = [x.astype(kind) if isinstance(x, np.ndarray) else x for x in given]

    made = gn.einsum(*[gn.asarray(x) if isinstance(x, np.ndarray) else x for x in arrays])

    wanted = np.einsum(*arrays)
    assert made.dtype.name == kind
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((X, [0, 99]), ArgumentError, r"einsum: each tensor is followed by a list of axes"),
        ((X, [0, -1]), ArgumentError, r"numbers from 0 to 51 or \.\.\.: got \(0, -1\)"),
        ((X, X), ArgumentError, r"got a tensor \(2, 3\) of float64"),
        ((X,), ArgumentError, r"einsum: each tensor is followed by a list of axes"),
        ((X, [0]), ShapeError, r"einsum: 'a' of 'a' does not name the axes of \(2, 3\)"),
        ((X, [0, 1], [5]), ArgumentError, "einsum: 'ab->f' asks for a result that"),
    ],
)
def test_what_is_no_list_of_axes_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        gn.einsum(*[gn.asarray(x) if isinstance(x, np.ndarray) else x for x in given])
