"""A tokenizer that is written is read with its ids, or is refused by its reason."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import BertProcessing, TemplateProcessing

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.gguf.tokenizer_keys import tokenizer_keys
from tests.gguf.golden_tokenizers import texts
from tests.gguf.test_tokenization import file_of_kind

pytestmark = pytest.mark.unit


def small(**settings) -> Tokenizer:
    """A byte-level BPE of all bytes and one merge."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: k for k, token in enumerate([*alphabet, "ab"])}
    made = Tokenizer(models.BPE(vocab, [("a", "b")], **settings))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<end>"])
    return made


def written(made: Tokenizer, special=(), **config) -> dict:
    """The keys of a tokenizer, without what they all begin with."""
    keys = tokenizer_keys(made, dict(special), {"vocab_size": 300, **config})
    return {key.removeprefix("tokenizer.ggml."): value for key, value in keys.items()}


@pytest.mark.parametrize("name", ["gpt-2", "qwen2"])
def test_a_tokenizer_comes_back(name, tmp_path):
    first = gn.gguf.tokenizer(file_of_kind(name))
    size = first.get_vocab_size()

    keys = tokenizer_keys(first, {}, {"vocab_size": size + 3})
    gn.gguf.save(tmp_path / "x.gguf", {}, keys)
    second = gn.gguf.tokenizer(gn.gguf.load(tmp_path / "x.gguf"))

    assert keys["tokenizer.ggml.pre"] == name
    assert keys["tokenizer.ggml.tokens"][-3:] == [f"[PAD{size + k}]" for k in range(3)]
    assert keys["tokenizer.ggml.token_type"][-3:].tolist() == [5, 5, 5]
    for text in texts()[:200]:
        assert second.encode(text).ids == first.encode(text).ids


def test_a_first_and_a_last_token_are_added_again():
    made = small(ignore_merges=False)
    made.post_processor = TemplateProcessing("<end> $A <end>", special_tokens=[("<end>", 257)])

    found = written(made)

    assert (found["add_bos_token"], found["add_eos_token"]) == (True, True)
    assert (found["bos_token_id"], found["eos_token_id"]) == (257, 257)


def test_special_tokens_are_those_of_settings_then_of_the_config():
    made = small()

    assert "eos_token_id" not in written(made)
    assert written(made, eos_token_id=3)["eos_token_id"] == 3
    found = written(made, {"eos_token": "<end>"}, eos_token_id=[4, 257], pad_token_id=None)
    assert (found["eos_token_id"], found["eot_token_id"]) == (257, 4)
    assert "padding_token_id" not in found
    assert found["token_type"][[0, 257, 258]].tolist() == [1, 3, 5]


def test_tokens_that_are_not_special_are_found_all_the_same():
    made = small()
    made.add_tokens([AddedToken("<tool>", normalized=False)])

    assert written(made)["token_type"][258] == 4


def changed(**parts) -> Tokenizer:
    """A small tokenizer with other stages."""
    made = small()
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def around() -> Tokenizer:
    """A tokenizer with a token that takes the blanks before it."""
    made = small()
    made.add_tokens([AddedToken("<mask>", lstrip=True)])
    return made


WORDS = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
REFUSED = {
    "its model is 'WordLevel'": lambda: WORDS,
    "its model is 'BPE'": lambda: small(end_of_word_suffix="</w>"),
    "its token '<mask>' takes characters": around,
    "it parts texts in none of the ways of default, gpt-2": lambda: changed(
        pre_tokenizer=pre_tokenizers.Whitespace()
    ),
    "it parts texts in none of the ways": lambda: changed(normalizer=normalizers.Lowercase()),
    "it adds tokens by 'BertProcessing'": lambda: changed(
        post_processor=BertProcessing(("<end>", 257), ("<end>", 257))
    ),
    "it adds tokens by 'TemplateProcessing'": lambda: changed(
        post_processor=TemplateProcessing("<end> <end> $A", special_tokens=[("<end>", 257)])
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_no_key_says_is_refused(reason):
    with pytest.raises(ArgumentError, match=reason):
        written(REFUSED[reason]())


def test_more_tokens_than_the_model_has_are_refused():
    with pytest.raises(ArgumentError, match="it has 258 tokens, and the model 200"):
        written(small(), vocab_size=200)


def test_keys_are_of_the_types_of_files():
    found = written(small(), eos_token_id=1)

    assert found["token_type"].dtype == np.int32
    assert isinstance(found["eos_token_id"], np.uint32)
    assert json.dumps(found["merges"]) == '["a b"]'
