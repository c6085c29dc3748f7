"""Rprop: lengths follow signs."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError


def test_a_step_grows_while_the_sign_stays_and_waits_when_it_turns():
    p = gn.tensor([0.0, 0.0], dtype="float64", requires_grad=True)
    optimizer = optim.Rprop([p], lr=0.1)
    places = []
    for g in ([1.0, 1.0], [5.0, -1.0], [1.0, -1.0]):
        p.grad = gn.tensor(g, dtype="float64")
        optimizer.step()
        places.append(p.tolist())
    # a turned sign halves the length and moves nothing; the step after it moves by what is left
    expected = [[-0.1, -0.1], [-0.22, -0.1], [-0.364, -0.05]]
    np.testing.assert_allclose(places, expected, rtol=1e-12)


def test_etas_that_do_not_shrink_and_grow_are_refused():
    with pytest.raises(ArgumentError, match="eta"):
        optim.Rprop([gn.ones(1, requires_grad=True)], etas=(1.1, 1.2))
