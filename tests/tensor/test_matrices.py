"""PyTorch's functions on matrices that come down to those of gn.linalg."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import LinAlgError, ShapeError


def test_a_chain_is_cut_where_fewest_multiplications_are_needed(rng):
    xs = [rng.standard_normal(s) for s in ((10, 2), (2, 30), (30, 3), (3, 7))]

    made = gn.linalg.multi_dot([gn.tensor(x) for x in xs])

    np.testing.assert_allclose(made.numpy(), np.linalg.multi_dot(xs), rtol=1e-12)
    with pytest.raises(ShapeError, match="multi_dot: needs at least two"):
        gn.linalg.multi_dot([gn.ones(2, 2)])


def test_reflections_give_the_orthogonal_factor(rng):
    a = gn.tensor(rng.standard_normal((5, 3)))

    made, tau = gn.geqrf(a)
    q = gn.orgqr(made, tau)

    np.testing.assert_allclose((q @ made[:3].triu()).numpy(), a.numpy(), atol=1e-12)
    np.testing.assert_allclose(gn.ormqr(made, tau, gn.eye(5, 3, dtype=a.dtype)), q, atol=1e-12)


def test_factors_with_infos_and_solutions(rng):
    a, b = gn.tensor(rng.standard_normal((4, 4))), gn.tensor(rng.standard_normal((4, 2)))

    factors, pivots, failed = a.lu(get_infos=True)
    x = b.lu_solve(factors, pivots)

    assert failed.item() == 0
    np.testing.assert_allclose((a @ x).numpy(), b.numpy(), atol=1e-12)
    with pytest.raises(LinAlgError, match="is singular: pivot 1 is 0"):
        gn.linalg.inv_ex(gn.zeros(2, 2), check_errors=True)


def test_a_tensor_is_inverted_as_a_map():
    a = gn.randn(6, 2, 3, dtype=gn.float64) + gn.eye(6, dtype=gn.float64).reshape(6, 2, 3) * 5

    made = gn.tensordot(gn.linalg.tensorinv(a, 1), a, 1)

    np.testing.assert_allclose(made.reshape(6, 6).numpy(), np.eye(6), atol=1e-12)


def test_maps_and_powers_of_nothing_have_shapes():
    A = gn.empty(0, 0, 1, 2, 3, 0)

    assert gn.linalg.tensorinv(A, ind=2).shape == (1, 2, 3, 0, 0, 0)
    assert gn.linalg.tensorsolve(A, gn.empty(0, 0)).shape == (1, 2, 3, 0)
    assert gn.vander(gn.empty(0)).shape == (0, 0)
    assert gn.vander(gn.ones(3), 0).shape == (3, 0)
    assert gn.linalg.vander(gn.empty(0, dtype=gn.int64), N=2).dtype is gn.int64


def test_the_zeroth_power_of_any_number_is_1():
    x = gn.tensor([float("inf"), float("nan"), 0.0])

    assert gn.vander(x, 2)[:, 1].tolist() == [1, 1, 1]
    assert gn.linalg.vander(x, N=2)[:, 0].tolist() == [1, 1, 1]
    assert gn.vander(gn.tensor([True, False]), 2).tolist() == [[1, 1], [0, 1]]


def test_pytorchs_words_of_a_product_over_axes():
    made = gn.tensordot(a=gn.ones(2, 3), b=gn.ones(3, 4), dims=1)

    assert made.tolist() == [[3] * 4] * 2
