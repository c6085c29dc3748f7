"""What losses refuse: shapes that would broadcast, numbers out of range, other dtypes."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.nn import functional as F

X = gn.tensor([[0.5], [0.25]])
CALLS = {
    "a target that would broadcast": (
        lambda: F.binary_cross_entropy(X, gn.ones(1, 1)),
        ShapeError,
        r"target must have the shape of x \(2, 1\): got \(1, 1\)",
    ),
    "a target of whole numbers": (
        lambda: F.binary_cross_entropy_with_logits(X, gn.ones(2, 1, dtype=gn.int64)),
        DtypeError,
        "target must be floats: got int64",
    ),
    "beta": (lambda: F.smooth_l1_loss(X, X, beta=-1.0), ArgumentError, "beta must be at least 0"),
    "delta": (lambda: F.huber_loss(X, X, delta=0.0), ArgumentError, "delta must be above 0"),
    "ranks": (
        lambda: F.margin_ranking_loss(X, X, gn.ones(2)),
        ShapeError,
        "equally many axes: got",
    ),
    "weights of another dtype": (
        lambda: F.cross_entropy(gn.ones(2, 3), gn.tensor([0, 1]), weight=gn.ones(3).double()),
        DtypeError,
        "weight must be float32, as x: got float64",
    ),
    "too few weights": (
        lambda: F.nll_loss(gn.ones(2, 3), gn.tensor([0, 1]), weight=gn.ones(2)),
        ShapeError,
        r"weight must be \(3,\): got \(2,\)",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_loss_refuses(name):
    call, kind, told = CALLS[name]

    with pytest.raises(kind, match=told):
        call()
