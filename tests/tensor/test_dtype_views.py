"""Tensor.view: the same memory in another shape or dtype."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


def test_bytes_are_seen_under_another_dtype():
    x = gn.tensor([[1.0, -2.0], [0.5, 3.0]])

    seen = x.view(gn.int32)
    seen[0, 0] = 0
    pairs = x.view(dtype=gn.int16)

    assert seen.tolist() == x.numpy().view(np.int32).tolist()
    assert x[0, 0].item() == 0.0
    assert pairs.shape == (2, 4)
    assert x.view(gn.float32) is x
    with pytest.raises(ArgumentError, match=r"float32 as gnomon\.float64"):
        gn.zeros(3).view(gn.float64)
    assert x.view(4).shape == x.view((2, 2)).view(-1).shape == (4,)
    assert x.view(size=(4, 1)).shape == (4, 1)
