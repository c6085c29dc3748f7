"""Printed tensors beside torch's, character by character."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon as gn  # noqa: E402
from gnomon.drop_in.printing import printed  # noqa: E402

SIZES, SHARES = (0, 1, 2, 3, 7, 12, 40), (0.05, 0.2, 0.25, 0.2, 0.15, 0.1, 0.05)


def arrays(count: int) -> Iterator[np.ndarray]:
    """Arrays of several dtypes, sizes and ranges, with zeros and what is not finite."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        shape = tuple(rng.choice(SIZES, rng.integers(0, 4), p=SHARES))
        floats = rng.standard_normal(shape)
        yield from (
            np.asarray(floats, np.float32),
            np.asarray(floats * 10.0 ** rng.integers(-8, 12)),
            np.asarray(np.exp(6 * floats), np.float32),
            np.asarray(rng.integers(-1000, 1000, shape)),
            np.asarray(rng.integers(-50, 50, shape), np.float32),
            np.asarray(floats > 0),
            np.asarray(np.where(floats > 1, rng.choice([np.nan, np.inf, -np.inf]), floats)),
            np.asarray(rng.integers(0, 255, shape), np.uint8),
            np.zeros(shape, np.float32),
        )


def test_tensors_print_as_torchs():
    rng = np.random.default_rng(1)
    with printed():
        for array in arrays(60):
            theirs, ours = torch.from_numpy(array.copy()), gn.from_numpy(array.copy())
            if theirs.is_floating_point() and rng.random() < 0.2:
                theirs, ours = theirs.half(), ours.half()
            if theirs.is_floating_point() and rng.random() < 0.2:
                theirs, ours = theirs.requires_grad_(), ours.requires_grad_()
            assert repr(ours) == repr(theirs), (array.shape, array.dtype)
