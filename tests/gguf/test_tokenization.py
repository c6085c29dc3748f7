"""Tokenizers of files give the ids of those that they were written from."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.gguf.tokenization import LONGEST
from tests.gguf.golden_tokenizers import SHOWN, SPECIAL, digest, is_plain, texts
from tests.gguf.test_decoding import GOLDEN

pytestmark = pytest.mark.unit


def file_of_kind(name: str):
    """The golden file of a kind of tokenizer."""
    return gn.gguf.load(GOLDEN / f"tokenizer.{name}.gguf")


@pytest.mark.parametrize("name", ["gpt-2", "qwen2"])
def test_a_thousand_texts_have_the_ids_of_transformers(name):
    expected = json.loads((GOLDEN / "tokenizers.json").read_text(encoding="utf-8"))[name]
    made = gn.gguf.tokenizer(file_of_kind(name))

    ids = [made.encode(x).ids for x in texts()]

    assert ids[:SHOWN] == expected["first"]
    assert digest(ids) == expected["digest"]


def test_a_thousand_texts_have_the_ids_of_sentencepiece():
    expected = json.loads((GOLDEN / "tokenizers.json").read_text(encoding="utf-8"))["llama"]
    made = gn.gguf.tokenizer(file_of_kind("llama"))
    plain = [x for x in texts() if is_plain(x)]

    ids = [made.encode(x).ids for x in plain]

    for text, own, theirs in zip(plain, ids, expected["first"], strict=False):
        assert own == theirs, text
    assert digest(ids) == expected["digest"]


@pytest.mark.parametrize("name", ["gpt-2", "llama"])
def test_ids_decode_to_their_text(name):
    made = gn.gguf.tokenizer(file_of_kind(name))

    for text in texts():
        if is_plain(text) and "<0x" not in text and "\u2581" not in text and "<unk>" not in text:
            assert made.decode(made.encode(text).ids) == text


def test_qwen2_composes_characters_and_parts_digits():
    made = gn.gguf.tokenizer(file_of_kind("qwen2"))

    assert made.encode("e\u0301").ids == made.encode("\xe9").ids
    assert made.encode("123").tokens == ["1", "2", "3"]


def test_control_tokens_are_found_in_texts_and_ends_are_added():
    made = gn.gguf.tokenizer(file_of_kind("gpt-2"))
    assert made.encode(f"a{SPECIAL}").ids[-1] == 0

    llama = gn.gguf.tokenizer(file_of_kind("llama"))
    assert llama.encode("a").tokens[0] == "<s>"
    assert llama.encode("a", add_special_tokens=False).tokens[0] != "<s>"
    assert llama.encode("a", "a").tokens.count("<s>") == 2


def made_of(path, name: str, **changes):
    """The tokenizer of a golden file with other metadata; None takes a key out."""
    metadata = dict(file_of_kind(name).metadata)
    metadata |= {f"tokenizer.ggml.{key}": x for key, x in changes.items()}
    given = {key: x for key, x in metadata.items() if x is not None}
    gn.gguf.save(path / "x.gguf", {}, given)
    return gn.gguf.tokenizer(gn.gguf.load(path / "x.gguf"))


def test_a_file_says_which_ends_are_added(tmp_path):
    both = made_of(tmp_path, "llama", add_eos_token=True)
    neither = made_of(tmp_path, "llama", add_bos_token=False, add_space_prefix=False)

    assert both.encode("a").tokens[-1] == "</s>"
    assert neither.encode("a").tokens == ["a"]
    assert neither.decode(neither.encode("  a").ids) == "  a"


def test_words_of_llama_3_are_whole_and_numbers_have_three_digits(tmp_path):
    tokens = file_of_kind("gpt-2").metadata["tokenizer.ggml.tokens"]
    added = {"tokens": [*tokens, "\u0120zyzzyva"], "token_type": None, "bos_token_id": 0}
    made = made_of(tmp_path, "gpt-2", pre="llama-bpe", **added)

    found = made.encode("a zyzzyva 12345").tokens

    assert found[:3] == [SPECIAL, "a", "\u0120zyzzyva"]
    assert made_of(tmp_path, "gpt-2", **added).encode(" zyzzyva").tokens != ["\u0120zyzzyva"]


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        (
            "gpt-2",
            {"model": "bert"},
            "tokenizer.ggml.model is 'bert', and known are gpt2 and llama",
        ),
        ("gpt-2", {"model": None}, "tokenizer.ggml.model is None"),
        ("gpt-2", {"model": [1, 2]}, r"tokenizer.ggml.model is array\(\[1, 2\]"),
        ("llama", {"add_eos_token": [1, 2]}, r"add_eos_token is array\(\[1, 2\].*, and no bool"),
        ("gpt-2", {"pre": "tekken"}, "tokenizer.ggml.pre is 'tekken', and known are default"),
        ("gpt-2", {"pre": [1]}, r"tokenizer.ggml.pre is array\(\[1\]"),
        ("gpt-2", {"tokens": None}, "tokenizer.ggml.tokens is None, and no list of strings"),
        ("gpt-2", {"tokens": [1, 2]}, "tokenizer.ggml.tokens is array"),
        ("gpt-2", {"tokens": ["a", "a"]}, "tokenizer.ggml.tokens holds a token twice"),
        ("gpt-2", {"tokens": ["a" * (LONGEST + 1)]}, "holds a token of 513 characters"),
        ("gpt-2", {"token_type": [1]}, "tokenizer.ggml.token_type has no number for each of 600"),
        ("gpt-2", {"merges": None}, "tokenizer.ggml.merges is None"),
        ("gpt-2", {"merges": ["ab"]}, "tokenizer.ggml.merges holds 'ab', no pair of tokens"),
        ("gpt-2", {"merges": ["a zyzzyva"]}, "merges holds 'a zyzzyva', no pair"),
        ("gpt-2", {"add_eos_token": True, "eos_token_id": 600}, "eos_token_id is np.uint32"),
        ("llama", {"scores": None}, "tokenizer.ggml.scores has no number for each of 500 tokens"),
        ("llama", {"scores": [1]}, "tokenizer.ggml.scores has no number"),
        ("llama", {"bos_token_id": None}, "tokenizer.ggml.bos_token_id is None"),
        ("llama", {"precompiled_charsmap": np.ones(3, np.uint8)}, "precompiled_charsmap is not"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(name, changes, reason, tmp_path):
    with pytest.raises(ArgumentError, match=f"gguf.tokenizer: .*x.gguf: .*{reason}"):
        made_of(tmp_path, name, **changes)
