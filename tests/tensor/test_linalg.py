"""gn.linalg is numpy's, as far as it goes."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, ShapeError


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("norm", {}),
        ("norm", {"ord": 1, "dim": 1}),
        ("norm", {"ord": "fro"}),
        ("matrix_norm", {"keepdim": True}),
        ("vector_norm", {"ord": 3, "dim": 0}),
        ("trace", {"offset": 1}),
        ("diagonal", {"offset": -1}),
        ("matrix_transpose", {}),
    ],
)
def test_a_function_of_a_matrix_is_numpys(name, words, rng):
    x = rng.standard_normal((3, 4))
    theirs = {{"dim": "axis", "keepdim": "keepdims"}.get(k, k): v for k, v in words.items()}

    made = getattr(gn.linalg, name)(gn.tensor(x), **words)

    np.testing.assert_allclose(made.numpy(), getattr(np.linalg, name)(x, **theirs), rtol=1e-12)


@pytest.mark.parametrize("name", ["cross", "outer", "vecdot"])
def test_a_product_of_vectors_is_numpys(name, rng):
    x, y = rng.standard_normal((2, 3))

    made = getattr(gn.linalg, name)(gn.tensor(x), gn.tensor(y))

    np.testing.assert_allclose(made.numpy(), getattr(np.linalg, name)(x, y), rtol=1e-12)


@pytest.mark.parametrize("ord", ["nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_a_norm_of_a_matrix_is_numpys(ord, rng):
    x = rng.standard_normal((3, 4))

    assert gn.linalg.norm(gn.tensor(x), ord).item() == pytest.approx(np.linalg.norm(x, ord))


def test_what_is_added_by_a_factor_of_nothing_is_not_looked_at():
    nothing, x = gn.full((3, 4), float("nan")), gn.ones(3, 3)
    y = gn.ones(3, 4)

    assert (gn.addmm(nothing, x, y, beta=0) == 3).all()
    f = gn.compile(lambda c: gn.addmm(c, x, y, beta=0.0, alpha=2))
    assert (f(nothing) == 6).all()


def test_a_matrix_without_elements_has_results_with_some():
    empty = gn.zeros(3, 0)
    info = gn.compile(lambda x: gn.linalg.cholesky_ex(x)[1] + 1)

    assert gn.linalg.svd(empty)[0].tolist() == np.eye(3).tolist()
    assert info(gn.zeros(2, 0, 0)).tolist() == [1, 1]


def test_a_cross_product_runs_along_the_first_axis_of_three_or_in_linalg_the_last():
    x, y = gn.arange(9.0).reshape(3, 3), gn.ones(3, 3)

    assert gn.cross(x, y).tolist() == gn.linalg.cross(x, y, dim=0).tolist()
    assert x.cross(y).tolist() == gn.cross(x, y, dim=0).tolist()
    assert gn.linalg.cross(x, y).tolist() == gn.cross(x, y, dim=1).tolist()
    assert gn.cross(gn.ones(3, 2), gn.ones(3, 2)).shape == (3, 2)


def test_an_outer_product_of_truth_values_is_where_both_hold():
    x, y = gn.tensor([True, False]), gn.tensor([True, True, False])

    assert gn.outer(x, y).tolist() == [[True, True, False], [False] * 3]
    assert gn.outer(x, gn.tensor([2, 3])).tolist() == [[2, 3], [0, 0]]


def test_a_norm_is_computed_in_the_dtype_asked_for():
    x = gn.tensor([1.0, 2.0])

    assert gn.linalg.norm(x, dtype=gn.float64).dtype is gn.float64
    assert gn.linalg.norm(x, dtype=gn.float64).item() == 5**0.5


def test_factors_of_integers_lose_their_fraction_as_in_torch():
    x, y = gn.ones(2, 2, dtype=gn.int64), gn.ones(2, dtype=gn.int64)
    words = {"beta": 2.5, "alpha": 1.5}
    stack = gn.ones(2, 2, 2, dtype=gn.int64)

    assert gn.addmm(x, x, x, **words).tolist() == [[4, 4], [4, 4]]
    assert gn.addmv(y, x, y, beta=-2.5).tolist() == [0, 0]
    assert gn.baddbmm(stack, stack, stack, **words).flatten().tolist() == [4] * 8
    assert gn.addbmm(x, stack, stack, **words).tolist() == [[6, 6], [6, 6]]
    assert gn.addmm(x.float(), x, x, **words).tolist() == [[5.5, 5.5], [5.5, 5.5]]
    truths = gn.tensor([True, False])
    assert gn.addr(truths, truths, truths, alpha=False).dtype is gn.bool
    with pytest.raises(DtypeError, match="addr: factors of integers are integers: got 2"):
        gn.addr(x, y, y, beta=2.5)


def test_batches_of_products_are_equally_many():
    with pytest.raises(ShapeError, match="bmm: batches differ"):
        gn.bmm(gn.ones(1, 2, 3), gn.ones(4, 3, 2))


def test_a_product_of_choices_is_of_vectors():
    with pytest.raises(ShapeError, match="cartesian_prod: needs vectors"):
        gn.cartesian_prod(gn.ones(2, 2))


@pytest.mark.parametrize("p", [1, -1, np.inf, "fro", "nuc"])
def test_the_condition_of_a_matrix_without_an_inverse_is_infinite(p):
    x = gn.stack([gn.ones(2, 2), gn.eye(2), gn.tensor([[2.0, 1.0], [0.5, 3.0]])])

    found = gn.linalg.cond(x, p).tolist()

    assert found[0] == np.inf
    assert found[1:] == pytest.approx([np.linalg.cond(v.numpy(), p) for v in x[1:]])


def test_complex_matrices_without_an_inverse_are_no_exception():
    x = np.array([[[1, 1j], [1, 1j]], [[1, 2j], [0, 1]]])

    found = gn.linalg.cond(gn.tensor(x), 1).tolist()

    assert found == [np.inf, pytest.approx(np.linalg.cond(x[1], 1))]


def test_a_norm_takes_numpys_words():
    x = gn.arange(8.0).reshape(2, 2, 2)

    assert gn.linalg.norm(x, ord=1, axis=(-2, -1)).tolist() == [4.0, 12.0]
    assert gn.linalg.norm(x, axis=0, keepdims=True).shape == (1, 2, 2)


def test_no_shares_and_no_matrices():
    x = gn.ones(3, 2)

    assert gn.quantile(x, gn.tensor([]), dim=0).shape == (0, 2)
    assert gn.quantile(x, gn.tensor([]), dim=0, keepdim=True).shape == (0, 1, 2)
    with pytest.raises(ArgumentError, match="chain_matmul: needs a matrix"):
        gn.chain_matmul()
