"""`gn.gguf.tokenizer`: build a file's tokenizer with the `tokenizers` library.

Supported are byte-level BPE, as GPT-2's, and SentencePiece's BPE, as Llama's. The library gets
validated tokens and merges, and patterns that are written here: nothing in a file is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from gnomon.errors import ArgumentError, brief
from gnomon.gguf.file import GGUFFile

__all__ = ["CONTROL", "DEFINED", "PATTERNS", "START", "WHOLE", "byte_level", "tokenizer"]

START = "tokenizer.ggml."
UNKNOWN, CONTROL, DEFINED = 2, 3, 4
"""Types of tokens; all others are normal."""
LONGEST = 512
"""The maximum characters of a token: SentencePiece's are split at every position."""
SPACE = "\u2581"
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS: Mapping[str, str | None] = MappingProxyType(
    {
        **{"gpt-2": None, "default": None},
        "qwen2": rf"{WORDS}\p{{N}}{REST}",
        "llama-bpe": rf"{WORDS}\p{{N}}{{1,3}}{REST}",
    }
)
"""Patterns by which byte-level BPE splits a text into words, by their names in files."""
WHOLE = "llama-bpe"
"""The pre-tokenizer that leaves words that are tokens whole, and implies a first token."""


def tokenizer(file: GGUFFile) -> Tokenizer:
    """Build the tokenizer that a file's metadata describes.

    Encoding adds the first and last tokens that the file asks for, and none with
    add_special_tokens=False.

    Raises ArgumentError for an unsupported kind, and for inconsistent tokens.
    """
    said = {k[len(START) :]: x for k, x in file.metadata.items() if k.startswith(START)}
    try:
        kind = said.get("model")
        if not isinstance(kind, str) or kind not in ("gpt2", "llama"):
            raise ArgumentError(f"{START}model is {brief(kind)}, and known are gpt2 and llama")
        tokens, types = tokens_of(said), types_of(said)
        made = byte_level(said, tokens) if kind == "gpt2" else sentence_pieces(said, tokens, types)
        add_tokens(made, tokens, types)
        add_ends(made, said, tokens)
        return made
    except ArgumentError as refused:
        raise ArgumentError(f"gguf.tokenizer: {file.path}: {refused}.") from refused


def strings_of(said: Mapping[str, Any], key: str) -> list[str]:
    """A required list of strings from the metadata."""
    found = said.get(key)
    if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
        raise ArgumentError(f"{START}{key} is {brief(found)}, and no list of strings")
    return found


def numbers(said: Mapping[str, Any], key: str, kind: str, count: int) -> np.ndarray:
    """A required array from the metadata, with one number of a dtype kind per token."""
    found = said.get(key)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in kind or len(found) != count:
        raise ArgumentError(f"{START}{key} has no number for each of {count} tokens")
    return found


def bool_of(said: Mapping[str, Any], key: str, default: bool) -> bool:
    """A bool from the metadata, or the default."""
    found = said.get(key, default)
    if not isinstance(found, bool):
        raise ArgumentError(f"{START}{key} is {brief(found)}, and no bool")
    return found


def tokens_of(said: Mapping[str, Any]) -> list[str]:
    """The tokens in the order of their ids."""
    tokens = strings_of(said, "tokens")
    if not all(tokens) or len(set(tokens)) != len(tokens):
        raise ArgumentError(f"{START}tokens holds a token twice, or an empty one")
    longest = max(map(len, tokens), default=0)
    if longest > LONGEST:
        raise ArgumentError(f"{START}tokens holds a token of {longest:,} characters")
    return tokens


def types_of(said: Mapping[str, Any]) -> np.ndarray:
    """The types of tokens; all are normal if the file has none."""
    count = len(said["tokens"])
    return numbers(said, "token_type", "iu", count) if "token_type" in said else np.ones(count, int)


def byte_level(said: Mapping[str, Any], tokens: list[str]) -> Tokenizer:
    """Build a byte-level BPE tokenizer with the file's merges."""
    parted = said.get("pre", "default")
    if not isinstance(parted, str) or parted not in PATTERNS:
        raise ArgumentError(
            f"{START}pre is {brief(parted)}, and known are {', '.join(sorted(PATTERNS))}"
        )
    ids = {token: k for k, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in strings_of(said, "merges")]
    for pair in pairs:
        if len(pair) != 2 or not {*pair, "".join(pair)} <= ids.keys():
            raise ArgumentError(f"{START}merges holds {brief(' '.join(pair))}, no pair of tokens")
    made = Tokenizer(models.BPE(ids, pairs, ignore_merges=parted == WHOLE))
    pattern = PATTERNS[parted]
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern is not None:
        bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        words = pre_tokenizers.Split(Regex(pattern), "isolated")
        made.pre_tokenizer = pre_tokenizers.Sequence([words, bytewise])
    if parted == "qwen2":
        made.normalizer = normalizers.NFC()
    made.decoder = decoders.ByteLevel()
    return made


def sentence_pieces(said: Mapping[str, Any], tokens: list[str], types: np.ndarray) -> Tokenizer:
    """Build a SentencePiece BPE, which merges the pair whose token has the highest score first."""
    if "precompiled_charsmap" in said:
        raise ArgumentError(f"{START}precompiled_charsmap is not read here")
    scores = numbers(said, "scores", "f", len(tokens))
    ids = {token: k for k, token in enumerate(tokens)}
    ranked = []
    for token, score in zip(tokens, scores.tolist(), strict=True):
        cuts = [(token[:k], token[k:]) for k in range(1, len(token))]
        ranked += [
            (-score, ids[left], ids[right]) for left, right in cuts if left in ids and right in ids
        ]
    pairs = [(tokens[left], tokens[right]) for _, left, right in sorted(ranked)]
    unknown = np.flatnonzero(types == UNKNOWN)
    name = tokens[unknown[0]] if unknown.size else None
    made = Tokenizer(models.BPE(ids, pairs, unk_token=name, fuse_unk=True, byte_fallback=True))
    first = bool_of(said, "add_space_prefix", True)
    replaced = normalizers.Replace(" ", SPACE)
    made.normalizer = (
        normalizers.Sequence([normalizers.Prepend(SPACE), replaced]) if first else replaced
    )
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if first else steps)
    return made


def add_tokens(made: Tokenizer, tokens: list[str], types: np.ndarray) -> None:
    """Register control and user-defined tokens, which are matched literally in texts."""
    for kind in (CONTROL, DEFINED):
        named = [tokens[k] for k in np.flatnonzero(types == kind)]
        made.add_tokens([AddedToken(x, normalized=False, special=kind == CONTROL) for x in named])


def add_ends(made: Tokenizer, said: Mapping[str, Any], tokens: list[str]) -> None:
    """Make the tokenizer add the first and last tokens that the file asks for."""
    usual = {"bos": said["model"] == "llama" or said.get("pre") == WHOLE, "eos": False}
    asked = {x: bool_of(said, f"add_{x}_token", default) for x, default in usual.items()}
    ids = {x: said.get(f"{x}_token_id") for x, wanted in asked.items() if wanted}
    for x, number in ids.items():
        if not isinstance(number, np.integer) or not 0 <= number < len(tokens):
            raise ArgumentError(f"{START}{x}_token_id is {brief(number)}, the number of no token")
    if ids:
        parts = [f"{x}:0" if x in ids else "" for x in ("bos", "eos")]
        single = f"{parts[0]} $A:0 {parts[1]}".split()
        double = [*single, *(x.replace(":0", ":1").replace("$A", "$B") for x in single)]
        special = [{"id": x, "ids": [int(k)], "tokens": [tokens[k]]} for x, k in ids.items()]
        made.post_processor = TemplateProcessing(single, double, special)
