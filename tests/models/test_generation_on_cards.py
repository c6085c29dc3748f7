"""A model on a card writes the tokens that it writes on the CPU."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.models.config import Qwen3Config
from gnomon.models.decoder import DecoderForCausalLM
from tests.cuda.cards import fake_card

pytestmark = pytest.mark.proof

there = pytest.fixture(fake_card, name="there", autouse=True)


def test_tokens_are_those_of_the_cpu():
    gn.manual_seed(0)
    config = Qwen3Config(
        vocab_size=32,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=32,
    )
    model = DecoderForCausalLM(config)
    with gn.no_grad():
        for p in model.parameters():
            p.normal_()
    prompt = gn.tensor([[3, 1, 4, 1]])
    written = [
        model.to(device).generate(prompt.to(device), max_new_tokens=3).tolist()
        for device in ("cpu", "cuda")
    ]

    assert model.device == "cuda"
    assert written[0] == written[1]
