"""Sizes are counted as the model has them and survive Hugging Face's config.json."""

from __future__ import annotations

import pytest

from gnomon.errors import ConfigError
from gnomon.models.config import Qwen3Config, flops_per_token
from gnomon.models.config_json import to_hugging_face
from gnomon.models.registry import from_hugging_face

pytestmark = pytest.mark.unit

SMALL = Qwen3Config(
    vocab_size=300,
    hidden_size=12,
    intermediate_size=20,
    num_hidden_layers=2,
    num_attention_heads=3,
    num_key_value_heads=1,
    head_dim=4,
    max_position_embeddings=16,
)


def test_a_configuration_survives_hugging_faces_file():
    assert from_hugging_face(to_hugging_face(SMALL)) == SMALL


def test_matrices_are_counted_one_by_one():
    layer = 12 * 12 + 2 * 12 * 4 + 12 * 12 + 3 * 12 * 20

    assert SMALL.matrix_parameters == 2 * layer + 300 * 12
    assert flops_per_token(SMALL, 8) == 6 * SMALL.matrix_parameters + 6 * 2 * 8 * 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "mamba"}, "model_type must be one of qwen3.*: got 'mamba'"),
        ({"attention_dropout": 1.0}, "Expected `float` < 1.0"),
    ],
)
def test_what_this_decoder_cannot_be_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        from_hugging_face(to_hugging_face(SMALL) | change)


def test_a_missing_size_is_named():
    found = to_hugging_face(SMALL)
    del found["head_dim"]

    with pytest.raises(ConfigError, match="head_dim must be there"):
        from_hugging_face(found)
