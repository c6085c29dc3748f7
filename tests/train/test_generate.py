"""Writing is a pure function of model, prompt and seed, and never cuts a character in half."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.initialization import initialize
from gnomon.train.generate import Sampling, TextGenerator, choose, stream
from gnomon.train.tokenizer import END_ID, train
from tests.children import environment

GREEDY = Sampling(temperature=0.0)


@pytest.fixture
def writer(config):
    """A writer of random weights."""
    model = DecoderForCausalLM(config.model)
    initialize(model, seed=0)
    return TextGenerator(model)


WRITING = """
from gnomon.models.registry import kind_of
from gnomon.train.generate import Sampling, TextGenerator
from gnomon.train.recipes import RECIPES
for name in ("tiny", "tiny-moe"):
    sizes = RECIPES[name]().model
    model = kind_of(sizes).model(sizes)
    kind_of(sizes).initialize(model, 0)
    writer = TextGenerator(model)
    written = zip(writer.write([5, 6], Sampling(temperature=0.0)), range(8))
    print(name, len(list(written)), writer.extend.captures)
"""


def test_a_text_is_written_by_one_program():
    words = [sys.executable, "-W", "error::UserWarning", "-c", WRITING]

    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=120)

    assert done.stdout.splitlines() == ["tiny 8 1", "tiny-moe 8 1"], done.stderr


def test_the_likeliest_token_is_chosen_at_temperature_zero():
    assert choose(np.array([0.0, 3.0, 1.0, 3.0]), GREEDY, 0) == 1


def test_only_the_top_tokens_are_drawn_and_as_often_as_their_weight_says():
    scores = np.log(np.array([1.0, 6.0, 2.0, 1.0, 3.0]))

    drawn = [choose(scores, Sampling(1.0, 2, seed=4), number) for number in range(4000)]

    assert set(drawn) == {1, 4}
    assert abs(np.mean(np.array(drawn) == 1) - 6 / 9) < 0.03


def test_only_the_tokens_that_make_up_the_share_are_drawn():
    scores = np.log(np.array([1.0, 6.0, 2.0, 1.0, 3.0]))

    some = Sampling(1.0, 0, top_p=0.6)
    assert {choose(scores, some, number) for number in range(400)} == {1, 4}


def test_all_tokens_are_drawn_without_a_limit_and_seeds_differ():
    draws = [
        [choose(np.zeros(7), Sampling(1.0, 0, seed), n) for n in range(200)] for seed in (0, 1)
    ]

    assert set(draws[0]) == set(range(7))
    assert draws[0] != draws[1]


def test_writing_twice_gives_the_same_text(writer):
    texts = [
        [
            token
            for token, _ in zip(writer.write([5, 6], Sampling(1.0, 0, 3)), range(12), strict=False)
        ]
        for _ in range(2)
    ]

    assert texts[0] == texts[1]
    assert len(texts[0]) == 12


def test_writing_goes_on_when_the_context_is_full(writer):
    written = [t for t, _ in zip(writer.write([5] * 50, GREEDY), range(40), strict=False)]

    assert len(written) == 40


def test_the_end_mark_ends_a_text(writer, monkeypatch):
    monkeypatch.setattr("gnomon.train.generate.choose", lambda *_: END_ID)

    assert list(writer.write([5], GREEDY)) == []


def test_pieces_join_to_the_text_and_hold_whole_characters():
    tokenizer = train(["añb" * 50], 260)
    wanted = "añ→b"

    class Repeats:
        def write(self, prompt, sampling):
            yield from tokenizer.encode(wanted).ids

    pieces = list(stream(Repeats(), tokenizer, "x", GREEDY, 100))

    assert "".join(pieces) == wanted
    assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)
    assert len(list(stream(Repeats(), tokenizer, "x", GREEDY, 1))) <= 2
