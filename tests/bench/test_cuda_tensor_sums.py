"""Products by tensor cores beside the model of their sums, on a stand-in for a card."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cuda import runtime, tensor_sums
from tests.cuda.cards import HOPPER, card_of_teams

there = pytest.fixture(card_of_teams(2, HOPPER), name="there")


def test_products_that_cancel_show_their_order(there):
    assert tensor_sums.has_the_sums((20, 24, 72), "bf16")
    x, w = tensor_sums.cancelling(np.random.default_rng(0), 20, 24, 72)

    order = np.random.default_rng(1).permutation(72)

    assert not tensor_sums.same(
        tensor_sums.on_card(x[:, order], "bf16") @ tensor_sums.on_card(w[order], "bf16"),
        tensor_sums.product(x, w, "bf16"),
        "bf16",
    )


def test_a_row_says_which_sizes_differ(there, monkeypatch):
    monkeypatch.setattr(tensor_sums, "SIZES", [(3, 5, 40)])
    monkeypatch.setattr(tensor_sums, "TIMED", 16)

    row = runtime.tensor_products("f16")

    assert row["equal"]
    assert row["differ"] == []
    assert row["TFLOP/s"] > 0
