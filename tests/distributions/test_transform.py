"""Transforms: what they keep, compare and refuse."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.errors import ArgumentError, ShapeError


def test_a_cache_gives_back_what_went_in():
    kept, forgotten = D.TanhTransform(cache_size=1), D.TanhTransform()
    x = gn.tensor(3.0)

    assert kept.inv(kept(x)) is x
    assert forgotten.inv(forgotten(x)) is not x
    assert kept.with_cache(0)._cache_size == 0
    with pytest.raises(ArgumentError, match="cache_size is 0 or 1: got 2"):
        D.ExpTransform(cache_size=2)


def test_transforms_are_equal_by_their_parameters():
    assert D.AffineTransform(0.0, 2.0) == D.AffineTransform(0.0, 2.0)
    assert D.AffineTransform(0.0, 2.0) != D.AffineTransform(0.0, 3.0)
    assert D.ExpTransform().inv == D.ExpTransform().inv
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()])
    assert repr(D.AffineTransform(0, 2)) == "AffineTransform(loc=0, scale=2)"
    assert D.AffineTransform(0, -2).sign == -1


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="different numbers of elements"):
        D.ReshapeTransform((2, 3), (5,))
    with pytest.raises(ShapeError, match="values end in"):
        D.ReshapeTransform((2, 3), (6,))(gn.zeros(4))
    with pytest.raises(ShapeError, match="needs vectors: got a number"):
        D.StickBreakingTransform().forward_shape(())
    with pytest.raises(NotImplementedError, match="neither rises nor falls"):
        _ = D.SoftmaxTransform().sign
