"""Transfers as nodes: shapes, and what tells two apart."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import PRIMITIVES, Arena
from gnomon.ops.collectives import TRANSFERS
from gnomon.ops.transfers import exchange_ranks, fold_ranks, gather_ranks, shift_ranks

pytestmark = pytest.mark.unit


def test_shapes():
    x = Arena().input((2, 3), float32, "x")

    assert gather_ranks(x, "a", 4).shape == (4, 2, 3)
    assert gather_ranks(x, "a", 4, (8, 3)).shape == (8, 3)
    assert exchange_ranks(x, "a", 2).shape == (2, 3)
    assert fold_ranks(x, ("add", 2), "a").shape == (3,)
    assert shift_ranks(x, 1, "a", 4).shape == (2, 3)
    assert set(PRIMITIVES) >= TRANSFERS


def test_a_shift_counts_around_the_ring():
    x = Arena().input((2, 3), float32, "x")

    assert shift_ranks(x, -1, "a", 4) is shift_ranks(x, 3, "a", 4)
    assert shift_ranks(x, 1, "a", 4) is not shift_ranks(x, 1, "b", 4)
