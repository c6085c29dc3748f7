"""Byte-level BPE, trained on the training files and cached under their hash.

Byte-level means lossless: any text decodes to itself, and every token has a length in bytes. The
`tokenizers` library has the algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers import __version__ as library_version

from gnomon import settings
from gnomon.errors import ConfigError, brief, clipped
from gnomon.runtime.cache import cache_of, digest
from gnomon.runtime.files import LARGEST_TEXT, NOT_JSON, read

__all__ = ["END", "END_ID", "bytes_per_token", "encode_files", "load_tokenizer", "tokenizer_for"]

END = "<|endoftext|>"
END_ID = 0
"""The id of the end mark, which precedes every file."""

AT_ONCE = 32
"""The number of files that are encoded at once, which bounds the library's memory."""


def tokenizer_for(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """The tokenizer trained on these texts, from the cache if it is there."""
    kept, key = cache_of(settings.current(), "tokenizers"), key_of(texts, vocab_size)
    found = kept.load(key) if kept else None
    if found is not None:
        return tokenizer_of_json(found)
    tokenizer = train(texts, vocab_size)
    if kept:
        kept.store(key, tokenizer.to_str().encode("utf-8"))
    return tokenizer


def key_of(texts: Sequence[str], vocab_size: int) -> str:
    """The cache key of a trained tokenizer: a hash of all that it depends on."""
    return digest("bpe", library_version, str(vocab_size), *texts)


def train(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """Train byte-level BPE on texts; the result does not depend on threads."""
    tokenizer = configured_tokenizer(Tokenizer(models.BPE()), [])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class Token(msgspec.Struct):
    """A special token of a tokenizer.json."""

    id: int
    content: str


class Kind(msgspec.Struct):
    """A stage of a tokenizer, by its type."""

    type: str


class Merges(msgspec.Struct):
    """The vocabulary and merges of byte-level BPE."""

    type: str
    vocab: dict[str, int]
    merges: list[tuple[str, str]]


class Described(msgspec.Struct):
    """The fields of a tokenizer.json that are checked."""

    model: Merges
    pre_tokenizer: Kind
    decoder: Kind
    added_tokens: list[Token]


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a tokenizer.json in the format that training writes."""
    try:
        return tokenizer_of_json(read(path, LARGEST_TEXT))
    except (OSError, ValueError, *NOT_JSON) as wrong:
        raise ConfigError(
            f"tokenizer: {path} cannot be read: {clipped(wrong)}. Delete it."
        ) from None


def tokenizer_of_json(content: bytes) -> Tokenizer:
    """The tokenizer of a tokenizer.json, checked.

    Only tokens and merges are taken from it. The library itself would run whatever is described,
    such as patterns that never end, and some files end the process that has it read them.
    """
    found = msgspec.json.decode(content, type=Described)
    kinds = (found.model.type, found.pre_tokenizer.type, found.decoder.type)
    if kinds != ("BPE", "ByteLevel", "ByteLevel"):
        raise ValueError(f"it is no byte-level BPE but {brief(kinds)}")
    if found.added_tokens != [Token(END_ID, END)]:
        raise ValueError(f"the one token that was not learned must be {END}, the first")
    vocab, merges = found.model.vocab, found.model.merges
    refuse_unfit(vocab, merges)
    return configured_tokenizer(Tokenizer(models.BPE(vocab, merges)), [END])


def refuse_unfit(vocab: dict[str, int], merges: list[tuple[str, str]]) -> None:
    """Refuse tokens that are not numbered consecutively, or that merges of bytes cannot make."""
    if sorted(vocab.values()) != [*range(len(vocab))] or vocab.get(END) != END_ID:
        raise ValueError(f"its tokens are not numbered from {END} on")
    alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    made = {first + second for first, second in merges}
    if not {x for pair in merges for x in pair} | made | alphabet <= vocab.keys():
        raise ValueError("a byte or a merge has no token")
    if not vocab.keys() - {END} <= made | alphabet or not set("".join(made)) <= alphabet:
        raise ValueError("a token is no merge of bytes")


def configured_tokenizer(tokenizer: Tokenizer, special: list[str]) -> Tokenizer:
    """A tokenizer with its pre-tokenizer, decoder and special tokens set."""
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special)
    return tokenizer


def encode_files(tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """The concatenated tokens of texts, an end mark before each.

    Text that contains the end mark is refused: it would not decode to itself.
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
    """The number of bytes of each token; 0 for the end mark."""
    # the library spells each byte of a token as one character
    lengths = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64)
    for token, place in tokenizer.get_vocab().items():
        lengths[place] = 0 if token == END else len(token)
    return lengths
