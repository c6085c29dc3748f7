"""Text becomes tokens without losing a byte."""

from __future__ import annotations

import dataclasses

import pytest

from gnomon.errors import ConfigError
from gnomon.train.text import prepare

pytestmark = pytest.mark.unit


def test_tokens_stand_for_every_byte_of_both_parts(config):
    text = prepare(config)

    size = sum(len(file.bytes) for file in text.corpus.training)
    assert text.lengths[text.training].sum() == size
    assert text.lengths[text.held_out].sum() == len(text.corpus.held_out_bytes)
    assert text.training.max() < config.model.vocab_size


def test_a_smaller_vocabulary_than_the_tokenizers_is_refused(config):
    tokenizer = prepare(config).tokenizer
    model = dataclasses.replace(config.model, vocab_size=258)

    with pytest.raises(ConfigError, match=r"at least the tokenizer's \d+: got 258"):
        prepare(dataclasses.replace(config, model=model), tokenizer)


def test_sequences_longer_than_the_text_are_refused(config):
    model = dataclasses.replace(config.model, max_position_embeddings=10**6)
    train = dataclasses.replace(config.train, sequence_length=10**6)

    with pytest.raises(ConfigError, match=r"train\.sequence_length: expected fewer than"):
        prepare(dataclasses.replace(config, model=model, train=train))
