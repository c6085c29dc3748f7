"""Norms of scalars are those of the vector that they make, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DtypeError
from gnomon.tensor.functions import FUNCTIONS


@pytest.mark.parametrize("count", [1, 2, 3, 19, 38, 64, 65, 130, 200])
@pytest.mark.parametrize("ord", [1, 2, 3])
def test_a_norm_of_scalars_has_the_bits_of_a_vectors(count: int, ord: int):
    values = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    scalars = [gn.tensor(x) for x in values]

    ours = FUNCTIONS["norm_of_scalars"](scalars, ord)

    assert ours.item() == gn.linalg.vector_norm(gn.tensor(values), ord=ord).item()


@pytest.mark.parametrize("name", ["std", "std_mean"])
@pytest.mark.parametrize("compiled", [False, True])
def test_equal_values_have_a_deviation_whose_gradient_is_0(name: str, compiled: bool):
    x = gn.tensor([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]).requires_grad_()

    def run() -> gn.Tensor:
        found = FUNCTIONS[name](x, 1, correction=0)
        found = found[0] if isinstance(found, tuple) else found
        found.sum().backward()
        return found

    y = (gn.compile(run) if compiled else run)()

    third = float(np.sqrt(2 / 3))
    np.testing.assert_allclose(y.detach().numpy(), [0.0, third], rtol=1e-6)
    np.testing.assert_allclose(
        x.grad.numpy(), [[0, 0, 0], [-1 / 3 / third, 0, 1 / 3 / third]], rtol=1e-6
    )


def test_covariances_of_integers_are_those_of_floats():
    x = gn.tensor([[1, 2, 3], [3, 2, 2]])

    for call in (gn.cov, gn.corrcoef, lambda v: gn.cov(v, fweights=gn.tensor([1, 2, 1]))):
        assert call(x).dtype is gn.float32
        assert call(x).equal(call(x.float()))
    with pytest.raises(DtypeError, match="truth values"):
        gn.cov(x > 1)
