"""An expert's name is the stacked one with its number in it."""

from __future__ import annotations

import pytest

from gnomon.models.expert_names import expert_name, is_stacked

pytestmark = pytest.mark.unit


def test_each_expert_has_a_name_of_its_own():
    stacked = "model.layers.3.mlp.experts.gate_proj.weight"

    assert is_stacked(stacked)
    assert not is_stacked("model.layers.3.mlp.gate.weight")
    assert expert_name(stacked, 11) == "model.layers.3.mlp.experts.11.gate_proj.weight"
