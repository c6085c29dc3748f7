"""Settings have transformers' names and defaults; what is not implemented is refused by name."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gnomon.errors import ConfigError
from gnomon.models.carried import Carried
from gnomon.models.generation_config import GenerationConfig, generation_config

pytestmark = pytest.mark.unit


def read(content: object, fields: dict | None = None, **options: object) -> GenerationConfig:
    """The settings of a file, a config.json and a call."""
    files = {"generation_config.json": json.dumps(content).encode()}
    return generation_config(Carried(fields or {}, files), options)


def test_a_call_comes_before_a_file_and_that_before_config_json():
    found = read({"eos_token_id": [1, 2], "top_k": 7}, {"eos_token_id": 9, "pad_token_id": 3})

    assert (found.ends, found.top_k, found.padding) == ((1, 2), 7, 3)
    assert read({"top_k": 7}, top_k=0).top_k == 0
    assert read({}, {"eos_token_id": 9}).padding == 9
    assert read({}).padding == 0


def test_a_published_file_is_read():
    found = read(
        {
            "bos_token_id": 151643,
            "do_sample": True,
            "eos_token_id": [151645, 151643],
            "pad_token_id": 151643,
            "temperature": 0.6,
            "top_k": 20,
            "top_p": 0.95,
            "cache_implementation": "hybrid",
            "transformers_version": "4.51.0",
            "num_beams": 1,
            "no_repeat_ngram_size": 0,
        }
    )

    assert (found.do_sample, found.temperature, found.top_k, found.top_p) == (True, 0.6, 20, 0.95)


def test_lengths_are_those_of_transformers():
    assert read({}).most_new(5) == 20
    assert read({"max_length": 30}).most_new(5) == 25
    assert read({"max_length": 3}).most_new(5) == 0
    assert read({"max_length": 30}, max_new_tokens=2).most_new(5) == 2
    assert read({"max_new_tokens": 2}, max_length=30).most_new(5) == 25


def test_numbers_of_numpy_are_numbers():
    found = read({}, eos_token_id=np.array([4, 5])[:1].tolist(), max_new_tokens=np.int64(3))

    assert (found.ends, found.max_new_tokens) == ((4,), 3)
    assert read({}, temperature=np.float32(0.5)).temperature == 0.5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"num_beams": 4}, "generation_config.json: num_beams is not implemented: got 4. Leave it"),
        ({"temperature": "hot"}, "generation_config.json: Expected `float`, got `str`"),
        ({"eos_token_id": -4}, "generation_config.json: Expected `int` >= 0"),
        ([1], "generation_config.json: it is no JSON object"),
        ({"suppress_tokens": [5]}, "suppress_tokens is not implemented"),
    ],
)
def test_what_a_file_asks_for_in_vain_is_named(content, message):
    with pytest.raises(ConfigError, match=message):
        read(content)


def test_a_file_that_is_no_json_is_named():
    with pytest.raises(ConfigError, match=r"generation_config.json: it is no JSON object"):
        generation_config(Carried({}, {"generation_config.json": b"{"}), {})
