"""Norms of scalars are those of the vector that they make, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.tensor.functions import FUNCTIONS


@pytest.mark.parametrize("count", [1, 2, 3, 19, 38, 64, 65, 130, 200])
@pytest.mark.parametrize("ord", [1, 2, 3])
def test_a_norm_of_scalars_has_the_bits_of_a_vectors(count: int, ord: int):
    values = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    scalars = [gn.tensor(x) for x in values]

    ours = FUNCTIONS["norm_of_scalars"](scalars, ord)

    assert ours.item() == gn.linalg.vector_norm(gn.tensor(values), ord=ord).item()
