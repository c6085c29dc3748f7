"""Regions say which values lie inside, and transforms reach them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.distributions import constraints as c
from gnomon.errors import ArgumentError, ShapeError

INSIDE = [
    (c.positive, [1.0, 0.0, -1.0], [True, False, False]),
    (c.nonnegative_integer, [0.0, 1.5, -1.0], [True, False, False]),
    (c.interval(0, 2), [0.0, 2.0, 3.0], [True, True, False]),
    (c.half_open_interval(0, 2), [0.0, 2.0, 3.0], [True, False, False]),
    (c.less_than(2.0), [0.0, 2.0, 3.0], [True, False, False]),
    (c.integer_interval(0, 2), [0.0, 2.0, 0.5], [True, True, False]),
    (c.boolean, [0.0, 1.0, 0.5], [True, True, False]),
    (c.simplex, [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]], [True, False, False]),
    (c.one_hot, [[0.0, 1.0], [1.0, 1.0]], [True, False]),
    (c.multinomial(3), [[1.0, 2.0], [3.0, 1.0]], [True, False]),
    (c.real_vector, [[0.0, 1.0], [float("nan"), 1.0]], [True, False]),
    (c.lower_triangular, [[1.0, 0.0], [1.0, 1.0]], True),
    (c.lower_cholesky, [[1.0, 0.0], [1.0, -1.0]], False),
    (c.symmetric, [[1.0, 2.0], [1.0, 1.0]], False),
    (c.positive_definite, [[1.0, 2.0], [2.0, 1.0]], False),
    (c.positive_semidefinite, [[2.0, 0.0], [0.0, 0.0]], True),
    (c.square, [[1.0, 2.0], [2.0, 1.0]], True),
    (c.corr_cholesky, [[1.0, 0.0], [0.6, 0.8]], True),
    (c.cat([c.positive, c.real], -1, [1, 1]), [-1.0, -1.0], [False, True]),
    (c.stack([c.positive, c.real], 0), [[-1.0], [-1.0]], [[False], [True]]),
]


@pytest.mark.parametrize(("region", "values", "holds"), INSIDE, ids=str)
def test_a_region_says_what_lies_inside(region: c.Constraint, values: list, holds: object):
    assert region.check(gn.tensor(values)).tolist() == holds


REACHED = [
    *(c.real, c.positive, c.greater_than(2.0), c.less_than(-1.0), c.interval(-1.0, 3.0)),
    *(c.unit_interval, c.simplex, c.corr_cholesky, c.independent(c.positive, 1)),
]


@pytest.mark.parametrize("region", REACHED, ids=str)
@pytest.mark.parametrize(
    "registry", [D.biject_to, D.transform_to], ids=["biject_to", "transform_to"]
)
def test_real_numbers_reach_a_region_and_come_back(region: c.Constraint, registry: object, rng):
    onto = registry(region)
    x = gn.tensor(rng.standard_normal(6))
    y = onto(x)

    assert bool(region.check(y).all())
    np.testing.assert_allclose(onto(onto.inv(y)).numpy(), y.numpy(), rtol=1e-9)
    if onto.bijective:
        np.testing.assert_allclose(onto.inv(y).numpy(), x.numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("region", [c.lower_cholesky, c.positive_definite], ids=str)
def test_matrices_reach_a_region(region: c.Constraint, rng):
    onto = D.transform_to(region)
    y = onto(gn.tensor(rng.standard_normal((3, 3))))

    assert bool(region.check(y).all())
    np.testing.assert_allclose(onto(onto.inv(y)).numpy(), y.numpy(), rtol=1e-9)


def test_parts_have_transforms_of_their_own():
    onto = D.biject_to(c.stack([c.positive, c.unit_interval], -1))
    x = gn.zeros(3, 2)

    assert onto(x).tolist() == [[1, 0.5]] * 3
    assert onto.inv(onto(x)).tolist() == x.tolist()
    joined = D.transform_to(c.cat([c.positive, c.real], -1, [1, 1]))
    assert joined(x).tolist() == [[1, 0]] * 3


def test_what_a_region_has_not_is_said():
    with pytest.raises(NotImplementedError, match="no transform onto Boolean"):
        D.biject_to(c.boolean)
    with pytest.raises(ArgumentError, match="expected a constraint"):
        D.biject_to.register(3, None)(len)
    with pytest.raises(ArgumentError, match="bounds are another parameter's"):
        c.dependent.check(gn.zeros(1))
    with pytest.raises(ArgumentError, match="Interval: takes lower_bound upper_bound"):
        c.interval(0)
    with pytest.raises(ShapeError, match="a value has 1 axes"):
        c.real_vector.check(gn.tensor(1.0))
    with pytest.raises(ShapeError, match="n·"):
        D.CorrCholeskyTransform()(gn.zeros(2))


REFUSED = {
    "Normal: scale does not satisfy GreaterThan": lambda: D.Normal(0.0, -1.0),
    "Normal: loc does not satisfy Real": lambda: D.Normal(gn.tensor([0.0, math.nan]), 1.0),
    "Bernoulli: probs does not satisfy Interval": lambda: D.Bernoulli(gn.tensor(2.0)),
    "Categorical: probs does not satisfy Simplex": lambda: D.Categorical(gn.tensor([-0.1, 1.1])),
    "Uniform: low does not satisfy LessThan": lambda: D.Uniform(1.0, gn.tensor([2.0, 1.0])),
    "covariance_matrix does not satisfy PositiveDefinite": lambda: D.MultivariateNormal(
        gn.zeros(2), gn.tensor([[1.0, 2.0], [2.0, 1.0]])
    ),
    "Gamma: a value does not satisfy": lambda: D.Gamma(1.0, 1.0).log_prob(gn.tensor(-1.0)),
    "Uniform: a value does not satisfy": lambda: D.Uniform(0.0, 1.0).log_prob(gn.tensor(2.0)),
    "Binomial: a value does not satisfy": lambda: D.Binomial(3, 0.5).log_prob(gn.tensor(4.0)),
    "takes a tensor: got 1": lambda: D.Normal(0.0, 1.0).log_prob(1),
    "events have the shape": lambda: D.Dirichlet(gn.ones(3)).log_prob(gn.ones(2)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_parameters_and_samples_outside_are_refused(words: str):
    with pytest.raises((ArgumentError, ShapeError), match=words):
        REFUSED[words]()


def test_nothing_is_checked_where_it_is_not_wanted():
    assert D.Normal(0.0, -1.0, validate_args=False).batch_shape == ()
    assert D.Normal(0.0, 1.0, validate_args=False).log_prob(gn.tensor(math.nan)).isnan()
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Bernoulli(gn.tensor(2.0)).batch_shape == ()
    finally:
        D.Distribution.set_default_validate_args(True)


def test_values_that_are_not_known_yet_are_not_checked():
    @gn.compile
    def density(x: gn.Tensor, scale: gn.Tensor) -> gn.Tensor:
        return D.Normal(0.0, scale).log_prob(x)

    x = gn.tensor(0.5)

    assert density(x, gn.tensor(-1.0)).isnan()
    assert density(x, gn.tensor(1.0)) == D.Normal(0.0, 1.0).log_prob(x)
