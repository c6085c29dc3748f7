"""PyTorch's words for how a tensor lies are understood."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


def test_what_makes_a_tensor_takes_pytorchs_words_for_how_it_lies():
    words = {"layout": gn.strided, "pin_memory": False, "requires_grad": True}
    made = [
        *(gn.full((2,), 1.0, **words), gn.linspace(0, 1, 2, **words), gn.eye(2, **words)),
        *(gn.ones_like(gn.ones(2), **words), gn.logspace(0, 1, 2, **words)),
        gn.zeros_like(gn.ones(2), memory_format=gn.preserve_format, **words),
        gn.empty(2, memory_format=gn.contiguous_format, **words),
    ]

    assert all(x.requires_grad and x.shape[0] == 2 for x in made)
    with pytest.raises(ArgumentError, match=r"^zeros: layout is strided: got 'sparse'"):
        gn.zeros(2, layout="sparse")
