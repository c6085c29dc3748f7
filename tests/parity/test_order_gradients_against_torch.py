"""Gradients of what chooses elements, where several are equal or NaN, and of symmetric matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

VALUES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0, 2.0, -3.0])
ALL = {
    "max": lambda lib, x: x.max(),
    "min": lambda lib, x: x.min(),
    "median": lambda lib, x: x.median(),
    "nanmedian": lambda lib, x: x.nanmedian(),
    "median of rows": lambda lib, x: x.median(1).values,
    "max of rows": lambda lib, x: x.max(1).values,
    "min of columns": lambda lib, x: x.min(0).values,
}
NUMBERS = {
    "amax": lambda lib, x: lib.amax(x, (0, 1)),
    "amin": lambda lib, x: lib.amin(x, 0),
    "aminmax": lambda lib, x: sum(lib.aminmax(x, dim=1)),
}
PAIRS = {
    "maximum": lambda lib, x, y: lib.maximum(x, y),
    "minimum": lambda lib, x, y: lib.minimum(x, y),
    "fmax": lambda lib, x, y: lib.fmax(x, y),
    "fmin of a row": lambda lib, x, y: lib.fmin(x[0], y),
    "max of two": lambda lib, x, y: lib.max(x, y),
}


def gradients(lib: Any, call: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    """The gradients of a call's results, weighted, by its arguments."""
    given = [lib.tensor(x.tolist(), dtype=lib.float64, requires_grad=True) for x in arrays]
    made = call(lib, *given)
    weights = np.arange(1.0, made.numel() + 1).reshape(tuple(made.shape))
    made.backward(lib.tensor(weights.tolist(), dtype=lib.float64))
    return [x.grad.numpy() for x in given]


@pytest.mark.parametrize("name", [*ALL, *NUMBERS, *PAIRS])
def test_gradients_of_choices_among_equals_and_nans_are_torchs(name, rng):
    call = {**ALL, **NUMBERS, **PAIRS}[name]
    for case in range(25):
        values = VALUES if name not in NUMBERS else VALUES[1:]
        some = values[: 3 + case % 7] if case % 2 else values
        arrays = [rng.choice(some, (2, 4)) for _ in range(2 if name in PAIRS else 1)]
        pairs = zip(gradients(gn, call, *arrays), gradients(torch, call, *arrays), strict=True)
        for mine, theirs in pairs:
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, err_msg=f"{name} of {arrays}")


@pytest.mark.parametrize("shares", [(1.0, 0.0), (0.0, 1.0), (2.0, 0.5)])
def test_the_gradient_of_eigh_is_symmetric_as_torchs(shares, rng):
    x = rng.normal(size=(3, 4, 4))
    x, weights = x + x.transpose(0, 2, 1), rng.normal(size=(3, 4, 4)).tolist()

    def call(lib, x):
        found = lib.linalg.eigh(x)
        signs = lib.sign(found.eigenvectors[:, :1].detach())
        vectors = (found.eigenvectors * signs * lib.tensor(weights, dtype=lib.float64)).sum((1, 2))
        return vectors * shares[0] + found.eigenvalues.sin().sum(1) * shares[1]

    (mine,), (theirs,) = gradients(gn, call, x), gradients(torch, call, x)

    np.testing.assert_allclose(mine, mine.transpose(0, 2, 1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)
