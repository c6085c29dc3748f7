"""First weights depend on the seed and the name alone, on every machine."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.families import Gemma3TextConfig
from gnomon.models.initialization import first_value, initialize, normal

pytestmark = pytest.mark.unit


def test_numbers_are_nearly_normal():
    numbers = normal("a", 40_000, seed=0)

    assert abs(numbers.mean()) < 0.02
    assert abs(numbers.std() - 1) < 0.02
    assert abs((np.abs(numbers) > 2).mean() - 0.0455) < 0.01


def test_numbers_belong_to_seed_and_name_and_are_those_of_the_first_day():
    assert normal("a", 3, 0).tolist() == normal("a", 5, 0)[:3].tolist()
    assert (normal("a", 3, 0) != normal("b", 3, 0)).any()
    assert (normal("a", 3, 0) != normal("a", 3, 1)).any()
    assert normal("a", 1, 0).tolist() == FIRST_DAY


def test_norms_that_add_one_begin_at_zero():
    model = DecoderForCausalLM(Gemma3TextConfig(num_hidden_layers=1, vocab_size=300))
    initialize(model, 0)

    assert not model.model.norm.weight.detach().numpy().any()


def test_each_kind_of_parameter_has_its_deviation():
    plain = first_value("model.layers.0.mlp.up_proj.weight", (64, 100), layers=8, seed=0)
    stream = first_value("model.layers.0.mlp.down_proj.weight", (64, 100), layers=8, seed=0)
    embedding = first_value("model.embed_tokens.weight", (64, 100), layers=8, seed=0)

    assert plain.std() == pytest.approx(0.05, rel=0.05)
    assert stream.std() == pytest.approx(0.0125, rel=0.05)
    assert embedding.std() == pytest.approx(0.02, rel=0.05)
    assert (first_value("model.norm.weight", (7,), layers=8, seed=0) == 1).all()
    assert plain.dtype == np.float32


FIRST_DAY = [0.3385861939750612]
