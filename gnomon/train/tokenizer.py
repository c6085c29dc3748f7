"""Byte-level BPE trained on the training files, kept under the hash of what it learned from.

Byte-level means lossless: any text decodes to itself, and every token has a length in bytes.
The algorithm is the `tokenizers` library's; nothing of it is written here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers import __version__ as library_version

from gnomon import settings
from gnomon.errors import ConfigError
from gnomon.runtime.files import publish

__all__ = ["END", "END_ID", "bytes_per_token", "encode_files", "load_tokenizer", "tokenizer_for"]

END = "<|endoftext|>"
END_ID = 0
"""The end mark is the first token; every file begins after one."""

AT_ONCE = 32
"""Files that are encoded together: the library keeps far more than the tokens of each."""


def tokenizer_for(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """The tokenizer of these texts: from the cache, or trained now and cached."""
    folder = settings.current().path_of_cache() / "tokenizers"
    path = folder / f"{key_of(texts, vocab_size)}.json"
    if settings.current().cache and path.exists():
        return load_tokenizer(path)
    tokenizer = train(texts, vocab_size)
    if settings.current().cache:
        publish(path, tokenizer.to_str().encode("utf-8"))
    return tokenizer


def key_of(texts: Iterable[str], vocab_size: int) -> str:
    """What a trained tokenizer depends on, hashed."""
    digest = hashlib.sha256(f"bpe {library_version} {vocab_size}\0".encode())
    for text in texts:
        content = text.encode("utf-8")
        digest.update(f"{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def train(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """Learn the merges; the result does not depend on threads."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer.json, checked to be one whose first token is the end mark."""
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as wrong:  # the library raises plain Exception
        raise ConfigError(f"tokenizer: {path} cannot be read: {wrong}. Delete it.") from None
    if tokenizer.token_to_id(END) != END_ID:
        raise ConfigError(f"tokenizer: {path}: the first token must be {END}. Delete it.")
    return tokenizer


def encode_files(tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """The texts as one line of tokens, an end mark before each.

    Text that spells the end mark is refused: it would not decode to itself.
    """
    parts = [np.zeros(0, np.int64)]
    for start in range(0, len(texts), AT_ONCE):
        some = list(texts[start : start + AT_ONCE])
        for text, encoding in zip(some, tokenizer.encode_batch(some), strict=True):
            if END in text:
                raise ConfigError(f"corpus: a file spells {END}. Leave it out.")
            parts.append(np.array([END_ID, *encoding.ids], np.int64))
    return np.concatenate(parts)


def bytes_per_token(tokenizer: Tokenizer) -> np.ndarray:
    """How many bytes of text each token stands for; the end mark stands for none."""
    # the library spells each byte of a token as one character
    lengths = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64)
    for token, place in tokenizer.get_vocab().items():
        lengths[place] = 0 if token == END else len(token)
    return lengths
