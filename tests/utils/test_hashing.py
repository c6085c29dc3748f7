"""The hash of integers is one to one, and neighbours are far apart."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.utils.hashing import mix

pytestmark = pytest.mark.unit


def test_mixing_is_one_to_one_and_spreads_neighbours():
    mixed = mix(np.arange(1000, dtype=np.uint64))

    assert len(set(mixed.tolist())) == 1000
    assert abs(np.unpackbits(mixed.view(np.uint8)).mean() - 0.5) < 0.01
