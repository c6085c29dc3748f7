"""gn.masked: elements where the mask does not hold change nothing."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

X = gn.tensor([[1.0, 9.0, 2.0], [4.0, 9.0, 8.0]])
MASK = gn.tensor([[True, False, True], [True, False, True]])
KEPT = np.array([[1.0, 2.0], [4.0, 8.0]])


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean", "std", "var"])
def test_a_reduction_is_that_of_what_the_mask_keeps(name: str):
    call, words = getattr(gn.masked, name), {"ddof": 1} if name in ("std", "var") else {}
    theirs = getattr(np, name)

    assert np.allclose(call(X, 1, mask=MASK).numpy(), theirs(KEPT, 1, **words))
    assert np.allclose(call(X, mask=MASK).numpy(), theirs(KEPT, **words))
    assert call(X, 1, keepdim=True, mask=MASK).shape == (2, 1)


def test_shares_are_among_what_the_mask_keeps():
    share = gn.masked.softmax(X, 1, mask=MASK)

    assert share[:, 1].tolist() == [0, 0]
    assert gn.masked.normalize(X, 1.0, 1, mask=MASK).sum(1).tolist() == [1, 1]
    assert gn.masked.median(X, 1, mask=MASK).tolist() == [1, 4]


def test_integers_have_no_infinity():
    assert gn.masked.amax(X.to(gn.int32), 1, mask=~MASK & (X > 9)).tolist() == [-(2**31)] * 2


def test_gradients_reach_what_the_mask_keeps():
    x = X.clone().requires_grad_()
    gn.masked.sum(x * x, mask=MASK).backward()

    assert x.grad.tolist() == [[2, 0, 4], [8, 0, 16]]
