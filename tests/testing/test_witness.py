"""A witness tells all bits apart, of tensors, arrays, numbers and what holds them."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.testing import witness


def test_equal_bits_have_one_hash_and_others_another():
    values = [
        gn.ones(2), gn.ones(1, 2), gn.ones(2, dtype=gn.float64), gn.tensor([1.0, -0.0]),
        gn.tensor([1.0, 0.0]), gn.ones(2, dtype=gn.bfloat16), np.ones(2, np.int32), 1, 1.0, True,
        "text", {"a": gn.ones(2)}, {"b": gn.ones(2)}, [gn.ones(2), 1], None,
    ]  # fmt: skip
    hashes = [witness(x) for x in values]

    assert len({*hashes}) == len(hashes)
    assert hashes == [witness(x) for x in values]
    assert witness(gn.ones(2), 1) == witness([gn.ones(2), 1])
