"""Prepare a corpus: its tokenizer, training tokens and held-out tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from gnomon.errors import ConfigError
from gnomon.train.config import Config
from gnomon.train.corpus import Corpus, read_corpus
from gnomon.train.tokenizer import bytes_per_token, encode_files, tokenizer_for

__all__ = ["Text", "prepare"]


@dataclass(frozen=True)
class Text:
    """The tokenizer, and the training and held-out tokens of a corpus."""

    corpus: Corpus
    tokenizer: Tokenizer
    training: np.ndarray
    held_out: np.ndarray
    lengths: np.ndarray
    """The number of bytes of each token."""


def prepare(config: Config, tokenizer: Tokenizer | None = None) -> Text:
    """Read and tokenize the corpus; without a tokenizer, one is trained or taken from the cache."""
    corpus = read_corpus(config.corpus.folder, config.corpus.held_out_percent)
    texts = [file.text for file in corpus.training]
    tokenizer = tokenizer or tokenizer_for(texts, config.model.vocab_size)
    found = tokenizer.get_vocab_size()
    if found > config.model.vocab_size:
        raise ConfigError(
            f"model.vocab_size: expected at least the tokenizer's {found}: "
            f"got {config.model.vocab_size}."
        )
    training = encode_files(tokenizer, texts)
    held_out = encode_files(tokenizer, [file.text for file in corpus.held_out])
    lengths = bytes_per_token(tokenizer)
    assert lengths[held_out].sum() == len(corpus.held_out_bytes), "byte-level BPE loses nothing."
    if len(training) <= config.train.sequence_length:
        raise ConfigError(
            f"train.sequence_length: expected fewer than {len(training)}, the tokens to learn "
            f"from: got {config.train.sequence_length}."
        )
    return Text(corpus, tokenizer, training, held_out, lengths)
