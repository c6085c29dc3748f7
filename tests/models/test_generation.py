"""What is written is what the whole model would write, whatever else is in the batch."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from tokenizers import Tokenizer

import gnomon as gn
from gnomon.errors import ArgumentError, ConfigError
from gnomon.models.carried import Carried
from gnomon.models.generation import Writing
from gnomon.models.registry import MODELS
from gnomon.train.tokenizer import train
from tests.children import ROOT, environment
from tests.models.writers import padded, prompt, small

NEW = 12


@pytest.fixture(scope="module")
def model():
    """A model that tests only read."""
    return small()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """A tokenizer of bytes, and a few words."""
    return train(["one two three " * 50], 270)


def by_the_whole_model(model, row: list[int], count: int) -> list[int]:
    """The likeliest tokens, each by the whole model over the whole text."""
    scores = gn.compile(lambda tokens: model(tokens)[:, -1], dynamic=True)
    tokens = list(row)
    with gn.no_grad():
        for _ in range(count):
            tokens.append(int(scores(gn.tensor([tokens])).numpy().argmax()))
    return tokens


@pytest.mark.parametrize("name", MODELS)
def test_the_likeliest_tokens_are_those_of_the_whole_model(name: str):
    model = small(name)
    row, other = prompt(7, 3)
    wanted = by_the_whole_model(model, row, NEW)

    alone = model.generate(gn.tensor([row]), max_new_tokens=NEW)
    tokens, mask = padded([other, row])
    both = model.generate(tokens, attention_mask=mask, max_new_tokens=NEW)

    assert alone.tolist() == [wanted]
    assert len({*wanted[7:]}) > 3
    assert both[1].tolist() == wanted
    assert (
        both[0, 4:].tolist() == model.generate(gn.tensor([other]), max_new_tokens=NEW)[0].tolist()
    )


def test_a_row_that_has_ended_is_padded_and_others_go_on(model):
    rows = prompt(5, 2, 4)
    tokens, mask = padded(rows)
    free = model.generate(tokens, attention_mask=mask, max_new_tokens=NEW)[:, 5:].tolist()
    ends = (free[0][3], free[1][6])
    wanted = []
    for row in free:
        place = next((k for k, token in enumerate(row) if token in ends), NEW)
        wanted.append(row[: place + 1] + [0] * (NEW - 1 - place))

    given = dict(attention_mask=mask, max_new_tokens=NEW, eos_token_id=ends)
    found = model.generate(tokens, **given, pad_token_id=0)

    longest = max(len([*filter(None, row)]) for row in wanted)
    assert found[:, 5:].tolist() == [row[: found.shape[1] - 5] for row in wanted]
    assert found.shape[1] - 5 >= longest
    assert [x.tolist() for x in model.stream(tokens, **given, pad_token_id=0)] == found[
        :, 5:
    ].T.tolist()
    assert model.generate(tokens, **given)[0, -1].item() == ends[0]


def test_draws_depend_on_seed_and_row_alone(model):
    rows = prompt(5, 5)
    given = dict(do_sample=True, temperature=2.0, top_k=0, max_new_tokens=NEW)

    one = model.generate(gn.tensor(rows), seed=3, **given)
    again = model.generate(gn.tensor(rows), seed=3, **given)
    other = model.generate(gn.tensor(rows), seed=4, **given)
    alone = model.generate(gn.tensor(rows[:1]), seed=3, **given)
    alike = model.generate(gn.tensor([rows[0], rows[0]]), seed=3, **given)

    assert one.tolist() == again.tolist() != other.tolist()
    assert alone[0].tolist() == one[0].tolist()
    assert alike[0].tolist() != alike[1].tolist()


def test_without_a_seed_gnomons_generator_gives_one(model):
    tokens = gn.tensor(prompt(4))
    given = dict(do_sample=True, temperature=3.0, max_new_tokens=NEW)

    gn.manual_seed(5)
    first, second = (model.generate(tokens, **given).tolist() for _ in range(2))
    gn.manual_seed(5)

    assert model.generate(tokens, **given).tolist() == first != second


def test_few_tokens_may_be_drawn(model):
    tokens = gn.tensor(prompt(6))
    likeliest = model.generate(tokens, max_new_tokens=NEW).tolist()

    for few in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}, {"temperature": 1e-6}):
        drawn = model.generate(tokens, do_sample=True, seed=1, max_new_tokens=NEW, **few)

        assert drawn.tolist() == likeliest, few


def test_a_penalty_keeps_tokens_from_coming_twice(model):
    row = prompt(6)[0]

    found = model.generate(gn.tensor([row]), max_new_tokens=25, repetition_penalty=1e6)
    tokens, mask = padded([row, row * 2])
    both = model.generate(tokens, attention_mask=mask, max_new_tokens=25, repetition_penalty=1e6)

    assert len({*found[0].tolist()}) == 31
    assert both[0, 6:].tolist() == found[0].tolist()


def test_stop_strings_end_a_row(model, tokenizer):
    free = model.generate(gn.tensor(prompt(4)), max_new_tokens=NEW)[0, 4:].tolist()

    class Numbers:
        def decode(self, ids):
            return "".join(f"<{x}>" for x in ids)

    stop = f"{free[3]}><{free[4]}"
    given = dict(max_new_tokens=NEW, tokenizer=Numbers())
    found = model.generate(gn.tensor(prompt(4)), stop_strings=stop, **given)
    never = model.generate(gn.tensor(prompt(4)), stop_strings=["no", "such"], **given)

    assert found[0, 4:].tolist() == free[:5]
    assert never[0, 4:].tolist() == free
    assert (
        model.generate(gn.tensor(prompt(4)), stop_strings="\0", tokenizer=tokenizer).shape[1] == 24
    )


def test_settings_come_from_the_models_folder(model):
    kept, model.carried = (
        model.carried,
        Carried({"eos_token_id": 7}, {"generation_config.json": b'{"max_new_tokens": 3}'}),
    )
    try:
        assert model.generate(gn.tensor(prompt(4))).shape == (1, 7)
        assert model.generate(gn.tensor(prompt(4)), max_new_tokens=5).shape == (1, 9)
        assert model.generate(gn.tensor(prompt(4)), max_length=6).shape == (1, 6)
    finally:
        model.carried = kept


def test_a_text_may_fill_the_whole_context(model):
    found = model.generate(gn.tensor(prompt(20)), max_new_tokens=21)

    assert found.shape == (1, 41)
    assert found[0].tolist() == by_the_whole_model(model, prompt(20)[0], 21)
    rows = prompt(39, 20)
    tokens, mask = padded(rows)
    both = model.generate(tokens, attention_mask=mask, max_new_tokens=2)
    alone = model.generate(gn.tensor(rows[1:]), max_new_tokens=2)
    assert both[1, 19:].tolist() == alone[0].tolist()


def test_a_prompt_without_tokens_is_refused(model):
    with pytest.raises(ArgumentError, match="generate: a prompt has no token"):
        Writing(model, {}).rows([[1], []])


def test_a_copy_writes_with_weights_of_its_own(model):
    tokens = gn.tensor(prompt(4))
    before = model.generate(tokens, max_new_tokens=4).tolist()
    copied, loaded = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    with gn.no_grad():
        for parameter in copied.parameters():
            parameter.mul_(-0.5)

    assert copied.generate(tokens, max_new_tokens=4).tolist() != before
    assert model.generate(tokens, max_new_tokens=4).tolist() == before
    assert loaded.generate(tokens, max_new_tokens=4).tolist() == before


def test_a_compiled_step_of_training_does_not_see_that_its_model_writes():
    model = small()
    losses = gn.compile(lambda window: model.losses(window).mean())
    window = gn.tensor(prompt(8))
    losses(window)

    model.generate(window, max_new_tokens=2)
    losses(window)

    assert losses.captures == 1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict(num_beams=4), ConfigError, "generate: num_beams is not implemented: got 4. Leave"),
        (dict(max_tokens=4), ConfigError, "generate: max_tokens is not implemented: got 4"),
        (dict(temperature=0.0), ConfigError, "generate: Expected `float` > 0.0 .*temperature"),
        (dict(top_p=1.5), ConfigError, "generate: Expected `float` <= 1.0 .*top_p"),
        (dict(max_new_tokens=-1), ConfigError, "generate: Expected `int` >= 0 .*max_new_tokens"),
        (dict(stop_strings="x"), ArgumentError, "generate: stop_strings need a tokenizer"),
        (dict(seed=-1), ArgumentError, "generate: seed must be 0 or more, of 64 bits: got -1"),
        (dict(max_new_tokens=38), ArgumentError, "4 tokens and 38 new ones are more than max_pos"),
        (
            dict(attention_mask=gn.tensor([[1, 1, 1]])),
            ArgumentError,
            r"attention_mask must be \(1, 4\), as input_ids: got \(1, 3\)",
        ),
        (
            dict(attention_mask=gn.tensor([[1, 1, 1, 0]])),
            ArgumentError,
            "attention_mask must be 0 on the left only, and 1 at each row's last token",
        ),
        (
            dict(attention_mask=gn.tensor([[1, 0, 1, 1]])),
            ArgumentError,
            "attention_mask must be 0 on the left only",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_at_the_call(model, given, error, message):
    with pytest.raises(error, match=message):
        model.stream(gn.tensor(prompt(4)), **given)


@pytest.mark.parametrize("tokens", [gn.tensor([1, 2]), gn.ones(1, 2), gn.zeros(1, 0).long()])
def test_prompts_are_rows_of_integers(model, tokens):
    with pytest.raises(
        ArgumentError, match=r"input_ids must be integers of shape \(rows, tokens\)"
    ):
        model.generate(tokens)


def test_scores_in_half_precision_are_drawn_from():
    model = small().to(gn.bfloat16)

    found = model.generate(gn.tensor(prompt(4)), max_new_tokens=3)

    assert found.shape == (1, 7)
    assert np.isin(found.numpy(), np.arange(300)).all()


def calls_of_a_token(layers: int) -> int:
    """The fewest calls of Python functions of a token; of some, the collector makes more."""
    tokens = small(num_hidden_layers=layers, max_position_embeddings=128).stream(
        gn.tensor(prompt(5)), max_new_tokens=60
    )
    for _ in range(50):
        next(tokens)
    counts, before = [], sys.getprofile()
    for _ in range(8):
        counts.append(0)
        sys.setprofile(lambda _, event, __: counts.append(counts.pop() + (event == "call")))
        try:
            next(tokens)
        finally:
            sys.setprofile(before)
    return min(counts)


def test_the_calls_of_a_token_hardly_grow_with_the_layers():
    # a process of its own: memory that other tests lend is looked for at each call
    code = "from tests.models.test_generation import calls_of_a_token as f; print(f(1), f(5))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    few, many = map(int, ran.stdout.split())

    assert few < 220
    assert many - few <= 4 * 4  # two tables of a layer, each with a signature


def test_no_new_tokens_are_the_prompt(model):
    given = gn.tensor([[1, 2, 3]], dtype=gn.int32)

    made = model.generate(given, max_new_tokens=0)

    assert (made.tolist(), made.dtype) == ([[1, 2, 3]], gn.int64)
