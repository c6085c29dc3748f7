"""Sizes with experts are counted by hand, and presets are in order."""

from __future__ import annotations

import pytest

from gnomon.models.qwen3_moe_config import PRESETS, Qwen3MoeConfig

pytestmark = pytest.mark.unit


def test_a_token_is_multiplied_by_its_experts_and_all_are_held():
    sizes = Qwen3MoeConfig(
        hidden_size=6, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=7
    )

    assert sizes.expert == 3 * 6 * 7
    assert sizes.multiplied == 6 * 5 + 2 * 3 * 6 * 7
    assert sizes.mlp_parameters == 6 * 5 + 5 * 3 * 6 * 7
    assert sizes.inner_size == 7


def test_presets_grow():
    counts = [sizes.parameters for sizes in PRESETS.values()]

    assert counts == sorted(counts)
    assert 5e5 < counts[0] < 2e6
    assert 20e9 < PRESETS["235b-a22b"].matrix_parameters < 23e9
