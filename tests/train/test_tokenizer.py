"""The tokenizer is lossless, counts bytes, and comes back from its cache unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon import settings
from gnomon.errors import ConfigError
from gnomon.train.tokenizer import (
    END,
    END_ID,
    bytes_per_token,
    encode_files,
    load_tokenizer,
    tokenizer_for,
    train,
)
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit

TEXTS = ["def square(x):\n    return x * x\n" * 20, "import os\n\nprint(os.getcwd())\n" * 20]
LEARNED = train(TEXTS, 300)


@given(text=st.text(max_size=40))
def test_any_text_decodes_to_itself_and_its_bytes_are_counted(text):
    encoded = LEARNED.encode(text)

    if END not in text:
        assert LEARNED.decode(encoded.ids) == text
        assert bytes_per_token(LEARNED)[encoded.ids].sum() == len(text.encode("utf-8"))


def test_every_file_begins_after_an_end_mark():
    tokens = encode_files(LEARNED, TEXTS)

    starts = np.flatnonzero(tokens == END_ID)
    assert len(starts) == 2
    assert LEARNED.decode(tokens[1 : starts[1]].tolist()) == TEXTS[0]
    assert bytes_per_token(LEARNED)[END_ID] == 0


def test_a_file_that_spells_the_end_mark_is_refused():
    with pytest.raises(ConfigError, match="a file spells"):
        encode_files(LEARNED, [f"x = '{END}'"])


def test_training_twice_gives_the_same_tokenizer():
    assert train(TEXTS, 300).to_str() == LEARNED.to_str()


def test_the_cache_gives_back_what_was_trained(tmp_path):
    with settings.override(cache_dir=str(tmp_path), cache=True):
        first = tokenizer_for(TEXTS, 300)
        kept = list((tmp_path / "tokenizers").glob("??/*"))
        second = tokenizer_for(TEXTS, 300)
        tokenizer_for(TEXTS, 280)

    assert first.to_str() == second.to_str()
    assert len(kept) == 1
    assert len(list((tmp_path / "tokenizers").glob("??/*"))) == 2


def test_a_tokenizer_is_read_from_its_file_as_it_was(tmp_path):
    LEARNED.save(str(tmp_path / "tokenizer.json"))

    assert load_tokenizer(tmp_path / "tokenizer.json").to_str() == LEARNED.to_str()


def test_a_damaged_tokenizer_is_named(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text("{")

    with pytest.raises(ConfigError, match=r"tokenizer\.json cannot be read"):
        load_tokenizer(path)
