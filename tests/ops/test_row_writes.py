"""Slices are written as their elements are, each at its own position, and where they belong."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn


@pytest.mark.parametrize(
    ("shape", "axis", "known"),
    [
        ((3, 2, 7, 4), 2, (3, 1, 5, 1)),
        ((3, 2, 7, 4), 2, (1, 1, 5, 1)),
        ((3, 2, 7, 4), 1, (3, 5, 1, 1)),
        ((6, 4), 0, (5, 1)),
        ((2, 3, 6), 1, (2, 4, 1)),
        ((3, 2, 7), 2, (3, 1, 5)),
        ((3, 2, 7, 4), 2, (1, 2, 5, 4)),
    ],
)
def test_slices_are_scattered_as_their_elements_are(rng, shape, axis, known):
    whole = tuple(known[axis] if k == axis else n for k, n in enumerate(shape))
    index = rng.integers(0, shape[axis], known)
    given = [rng.standard_normal(sizes).astype(np.float32) for sizes in (shape, whole, shape)]
    found = []
    for places in (
        gn.from_numpy(index).expand(whole),
        gn.from_numpy(np.broadcast_to(index, whole).copy()),
    ):
        x, values, pull = (gn.from_numpy(v).requires_grad_() for v in given)
        y = x.scatter(axis, places, values)
        (y * pull).sum().backward()
        found.append([v.detach().numpy().tobytes() for v in (y, x.grad, values.grad)])

    assert found[0] == found[1]


def test_slices_are_scattered_in_place_and_their_positions_checked(rng):
    put = gn.compile(lambda x, i, v: x.scatter_(1, i.unsqueeze(2).expand(v.shape), v))
    x, values = gn.zeros(2, 5, 3), gn.ones(2, 2, 3)

    put(x, gn.tensor([[0, 4], [3, 1]]), values)

    assert x.sum(2).tolist() == [[3.0, 0.0, 0.0, 0.0, 3.0], [0.0, 3.0, 0.0, 3.0, 0.0]]
    assert [kernel.name for kernel in put.kernels()] == ["put_rows"]
    with pytest.raises(gn.errors.IndexOutOfBounds, match="5"):
        gn.evaluate(put(x, gn.tensor([[0, 4], [5, 1]]), values))
