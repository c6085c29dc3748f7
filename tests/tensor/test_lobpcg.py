"""lobpcg finds the ends of a spectrum."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, GradientError, ShapeError


def symmetric(rng, *shape):
    """Symmetric matrices with positive eigenvalues."""
    x = rng.standard_normal(shape)
    return x @ x.swapaxes(-2, -1) + np.eye(shape[-1])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("method", ["basic", "ortho"])
def test_values_and_vectors_are_the_ends_of_eighs(largest: bool, method: str, rng):
    a, x = symmetric(rng, 12, 12), gn.tensor(rng.standard_normal((12, 3)))

    values, v = gn.lobpcg(gn.tensor(a), X=x, largest=largest, method=method, tol=1e-10)

    wanted = np.linalg.eigvalsh(a)
    np.testing.assert_allclose(values.numpy(), wanted[:-4:-1] if largest else wanted[:3], rtol=1e-9)
    np.testing.assert_allclose((gn.tensor(a) @ v).numpy(), (v * values).numpy(), atol=1e-6)
    np.testing.assert_allclose((v.mT @ v).numpy(), np.eye(3), atol=1e-9)


def test_a_second_matrix_measures_vectors(rng):
    a, b = symmetric(rng, 9, 9), symmetric(rng, 9, 9)
    x, near = gn.tensor(rng.standard_normal((9, 2))), gn.tensor(np.linalg.inv(a))

    values, v = gn.lobpcg(gn.tensor(a), B=gn.tensor(b), X=x, iK=near, largest=False, tol=1e-10)

    wanted = np.sort(np.linalg.eigvals(np.linalg.inv(b) @ a).real)[:2]
    np.testing.assert_allclose(values.numpy(), wanted, rtol=1e-8)
    np.testing.assert_allclose((v.mT @ gn.tensor(b) @ v).numpy(), np.eye(2), atol=1e-9)


def test_batches_go_one_by_one_and_guesses_are_drawn(rng):
    a = symmetric(rng, 2, 7, 7)
    gn.manual_seed(0)

    values, v = gn.lobpcg(gn.tensor(a), k=2)

    assert tuple(v.shape) == (2, 7, 2)
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(a)[:, :-3:-1], rtol=1e-6)


def test_a_tracker_sees_each_step_and_may_end_it(rng):
    seen = []

    def tracker(search):
        seen.append((search.ivars["istep"], search.tvars["rerr"].shape))
        search.bvars["force_stop"] = search.ivars["istep"] == 2

    gn.lobpcg(gn.tensor(symmetric(rng, 9, 9)), k=2, tol=0.0, tracker=tracker)

    assert seen == [(1, (2,)), (2, (2,))]


def test_what_does_not_fit_is_refused():
    a = gn.eye(4)
    for error, told, call in (
        (ShapeError, "A must be square", lambda: gn.lobpcg(gn.ones(4, 3))),
        (ShapeError, "must have the same shape", lambda: gn.lobpcg(a, B=gn.eye(3))),
        (ShapeError, "X must have 4 rows", lambda: gn.lobpcg(a, X=gn.ones(3, 1))),
        (ArgumentError, "smaller than 3 x", lambda: gn.lobpcg(a, k=2)),
        (ArgumentError, "basic or ortho", lambda: gn.lobpcg(a, method="other")),
        (DtypeError, "float32 or float64", lambda: gn.lobpcg(a.long())),
        (GradientError, "no gradient here", lambda: gn.lobpcg(gn.ones(4, 4, requires_grad=True))),
    ):
        with pytest.raises(error, match=told):
            call()
