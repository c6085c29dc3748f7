"""Clipping by norm and by value; parameters as one vector."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GradientError
from gnomon.nn import utils


def parameters() -> list[gn.Tensor]:
    """Two parameters whose gradients have the joint norm 13."""
    made = [gn.zeros(2, requires_grad=True), gn.zeros(2, 1, requires_grad=True)]
    made[0].grad, made[1].grad = gn.tensor([3.0, 4.0]), gn.tensor([[12.0], [0.0]])
    return made


def test_a_large_norm_is_brought_down_and_told():
    params = parameters()

    total = utils.clip_grad_norm_(params, 6.5)

    assert total.item() == pytest.approx(13.0)
    np.testing.assert_allclose(params[0].grad.numpy(), [1.5, 2.0], rtol=1e-6)
    np.testing.assert_allclose(params[1].grad.numpy(), [[6.0], [0.0]], rtol=1e-6)


def test_a_small_norm_is_left_alone():
    params = parameters()

    utils.clip_grad_norm_(iter(params), 100.0)

    assert params[0].grad.tolist() == [3.0, 4.0]


def test_other_norms_and_numbers_that_are_none():
    params = parameters()

    assert utils.clip_grad_norm_(params, 1e9, norm_type=float("inf")).item() == 12.0
    assert utils.clip_grad_norm_(params, 1e9, norm_type=1.0).item() == 19.0
    params[0].grad = gn.tensor([float("nan"), 0.0])
    with pytest.raises(GradientError, match="non-finite"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)


def test_values_are_cut_on_both_sides():
    params = parameters()
    params[0].grad = gn.tensor([-3.0, 0.5])

    utils.clip_grad_value_(params, 1.0)

    assert params[0].grad.tolist() == [-1.0, 0.5]
    assert params[1].grad.tolist() == [[1.0], [0.0]]


def test_parameters_become_a_vector_and_come_back():
    params = [gn.tensor([1.0, 2.0]), gn.tensor([[3.0]])]

    vector = utils.parameters_to_vector(params)
    utils.vector_to_parameters(vector * 2, params)

    assert vector.tolist() == [1.0, 2.0, 3.0]
    assert [p.tolist() for p in params] == [[2.0, 4.0], [[6.0]]]
