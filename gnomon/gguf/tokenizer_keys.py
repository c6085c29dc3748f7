"""Convert a byte-level BPE tokenizer to the metadata that tokenization.py reads.

A tokenizer is written only if the one read from its keys splits and joins texts equally.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from gnomon.errors import ArgumentError, brief
from gnomon.gguf.chat import SPECIAL
from gnomon.gguf.file import GGUFFile
from gnomon.gguf.tokenization import CONTROL, DEFINED, PATTERNS, START, WHOLE, byte_level, tokenizer

__all__ = ["tokenizer_keys"]

LEARNED, UNUSED = 1, 5
BPE = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback")
"""Settings of BPE that have no key and must be off."""
AROUND = ("lstrip", "rstrip", "single_word")
"""Settings of tokens that affect adjacent characters and must be off."""


def tokenizer_keys(
    made: Tokenizer, special: Mapping[str, str], config: Mapping[str, Any]
) -> dict[str, Any]:
    """A file's metadata for a tokenizer of the `tokenizers` library.

    special: special tokens by the names that templates use. config: the model's, with its number of
    tokens and the ids of special ones. Ids without a token are filled.

    Raises ArgumentError for a tokenizer that has no such form, or that tokenization.py does not
    read.
    """
    described = json.loads(made.to_str())
    model, vocab_size = described["model"], config.get("vocab_size", 0)
    if model["type"] != "BPE" or any(model[field] for field in BPE):
        raise ArgumentError(f"its model is {brief(model['type'])}, and byte-level BPE is known")
    added = described["added_tokens"]
    strange = [x["content"] for x in added if any(x[field] for field in AROUND)]
    if strange:
        raise ArgumentError(f"its token {brief(strange[0])} takes characters around it")
    ids = model["vocab"] | {x["content"]: x["id"] for x in added}
    count = max(ids.values(), default=-1) + 1
    if count > vocab_size:
        raise ArgumentError(f"it has {count:,} tokens, and the model {vocab_size:,}")
    count = vocab_size
    tokens, types = [f"[PAD{k}]" for k in range(count)], np.full(count, UNUSED, np.int32)
    for token, k in ids.items():
        tokens[k], types[k] = token, LEARNED
    for x in added:
        types[x["id"]] = CONTROL if x["special"] else DEFINED
    said = {"model": "gpt2", "pre": pattern_of(described), "tokens": tokens, "token_type": types}
    said["merges"] = [" ".join(pair) for pair in model["merges"]]
    said |= {f"add_{end}_token": False for end in ("bos", "eos")}
    said |= special_ids(ids, special, config) | added_ends(described, ids)
    found = {f"{START}{key}": value for key, value in said.items()}
    tokenizer(GGUFFile("the file", 3, found, {}))
    return found


def pattern_of(described: Mapping[str, Any]) -> str:
    """GGUF's name of the pre-tokenizer in a tokenizer.json."""
    for name in PATTERNS:
        plain = json.loads(byte_level({"pre": name, "merges": []}, []).to_str())
        alike = all(
            without_offsets(described[part]) == without_offsets(plain[part])
            for part in ("normalizer", "pre_tokenizer")
        )
        joined = (described["decoder"] or {}).get("type") == plain["decoder"]["type"]
        if alike and joined and described["model"]["ignore_merges"] == (name == WHOLE):
            return name
    raise ArgumentError(
        f"it parts texts in none of the ways of {', '.join(sorted(PATTERNS))}: "
        f"{brief(described['pre_tokenizer'])}"
    )


def without_offsets(stage: Any) -> Any:
    """A stage of a tokenizer without settings that affect only offsets.

    >>> without_offsets({"type": "ByteLevel", "trim_offsets": True, "use_regex": False})
    {'type': 'ByteLevel', 'use_regex': False}
    """
    if isinstance(stage, list):
        return [without_offsets(x) for x in stage]
    if not isinstance(stage, dict):
        return stage
    return {k: without_offsets(x) for k, x in stage.items() if k != "trim_offsets"}


def special_ids(
    ids: Mapping[str, int], special: Mapping[str, str], config: Mapping[str, Any]
) -> dict[str, Any]:
    """The keys of special tokens' ids; a second eos token becomes the end of a message."""
    found: dict[str, Any] = {}
    for own, name in SPECIAL.items():
        said = config.get(f"{name}_id")
        known = [ids.get(special.get(name, "")), *(said if isinstance(said, list) else [said])]
        numbers = list(dict.fromkeys(k for k in known if isinstance(k, int)))
        if numbers:
            found[f"{own}_token_id"] = np.uint32(numbers[0])
        if own == "eos" and numbers[1:]:
            found["eot_token_id"] = np.uint32(numbers[1])
    return found


def added_ends(described: Mapping[str, Any], ids: Mapping[str, int]) -> dict[str, Any]:
    """The keys of the first and last tokens that a tokenizer adds to a text."""
    found: dict[str, Any] = {}
    for stage in stages(described["post_processor"]):
        if stage["type"] == "ByteLevel":
            continue
        parts = [next(iter(x.items())) for x in stage.get("single", [])]
        names = [kind for kind, _ in parts]
        middle = names.index("Sequence") if "Sequence" in names else len(names)
        ends = ("bos", parts[:middle]), ("eos", parts[middle + 1 :])
        if stage["type"] != "TemplateProcessing" or any(len(some) > 1 for _, some in ends):
            raise ArgumentError(f"it adds tokens by {brief(stage['type'])}, which has no key")
        for end, some in ends:
            for _, token in some:
                found |= {f"add_{end}_token": True, f"{end}_token_id": np.uint32(ids[token["id"]])}
    return found


def stages(stage: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a stage, or the stages of a sequence."""
    if stage is not None and stage["type"] == "Sequence":
        for part in stage["processors"]:
            yield from stages(part)
    elif stage is not None:
        yield stage
