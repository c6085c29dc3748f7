"""Sums over the last axes, and triangles as vectors and back."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.distributions import parameters
from gnomon.errors import ArgumentError


@pytest.mark.parametrize("n", [1, 2, 4])
def test_triangles_are_vectors_and_back(n: int):
    x = gn.arange(2.0 * n * n).reshape(2, n, n)
    for diag in range(-n, n):
        vector = parameters.tril_matrix_to_vec(x, diag)

        assert vector.tolist() == [
            [x[b, i, j].item() for i in range(n) for j in range(n) if j <= i + diag]
            for b in range(2)
        ]
    again = parameters.vec_to_tril_matrix(parameters.tril_matrix_to_vec(x))
    assert again.tolist() == x.tril().tolist()


def test_what_is_no_triangle_is_refused():
    with pytest.raises(ArgumentError, match=r"diag \(2\) provided is outside \[-2, 2\)"):
        parameters.tril_matrix_to_vec(gn.ones(2, 2), 2)
    with pytest.raises(ArgumentError, match="size of last dimension is 4"):
        parameters.vec_to_tril_matrix(gn.ones(4))


@pytest.mark.parametrize(("dim", "wanted"), [(0, [[1, 1, 1]] * 2), (1, [3, 3]), (2, 6)])
def test_sums_over_the_last_axes(dim: int, wanted):
    assert parameters.sum_rightmost(gn.ones(2, 3), dim).tolist() == wanted
