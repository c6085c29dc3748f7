"""An answer is what `generate` gives after the template's text, and nothing is read twice."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.models.conversation import Answer, Conversation
from gnomon.models.pretrained import from_pretrained
from gnomon.models.text_format import text_format
from tests.models.writers import chat_folder

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that tests only read."""
    return chat_folder(tmp_path_factory.mktemp("folder"), max_position_embeddings=200)


@pytest.fixture(scope="module")
def model(folder):
    """The folder's model."""
    return from_pretrained(folder)


def test_each_answer_follows_all_messages_and_is_read_once(model, folder):
    texts = text_format(folder)
    talk, read = Conversation(model, texts, "five", max_new_tokens=6), []
    inner = talk.cached.read
    talk.cached.read = lambda rows: (read.append(len(rows[0])), inner(rows))[1]
    messages = [{"role": "system", "content": "five"}]

    for said in ("one two", "three"):
        messages.append({"role": "user", "content": said})
        ids = texts.chat_ids(messages)
        tokens = model.generate(gn.tensor([ids]), max_new_tokens=6)[0].tolist()[len(ids) :]
        wanted = texts.tokenizer.decode([x for x in tokens if x])
        assert "".join(talk.say(said)) == wanted
        messages.append({"role": "assistant", "content": wanted})
        assert talk.messages == messages

    assert read[0] == len(texts.chat_ids(messages[:2]))
    assert max(read[1:]) <= len(texts.chat_ids(messages[:4])) - read[0]


def test_an_answer_that_is_broken_off_stays_as_far_as_it_came(model, folder):
    talk = Conversation(model, text_format(folder), max_new_tokens=30)

    pieces = talk.say("one")
    first = next(pieces)
    pieces.close()

    assert talk.messages[-1] == {"role": "assistant", "content": first}
    assert "".join(talk.say("two"))


def test_settings_are_those_of_generate(model, folder):
    texts = text_format(folder)
    ids = texts.ids("one two")
    free = "".join(Answer(model, texts, ids, {"max_new_tokens": 8}))

    drawn = dict(do_sample=True, temperature=3.0, max_new_tokens=8)
    assert ["".join(Answer(model, texts, ids, drawn | {"seed": seed})) for seed in (1, 1, 2)].count(
        free
    ) < 3
    stop = free[2:4]
    cut = "".join(Answer(model, texts, ids, {"max_new_tokens": 8, "stop_strings": stop}))
    assert cut == free[: free.index(stop)]


def test_an_answer_says_how_long_it_is_and_whether_it_ended(model, folder):
    texts = text_format(folder)
    ids = texts.ids("one two")
    first = model.generate(gn.tensor([ids]), max_new_tokens=4)[0].tolist()[len(ids) :]

    for given, count, ended in (
        ({}, 4, False),
        ({"eos_token_id": first[2]}, first.index(first[2]) + 1, True),
    ):
        found = Answer(model, texts, ids, {"max_new_tokens": 4, **given})
        assert "".join(found) == texts.tokenizer.decode(first[: count - ended])
        assert (found.row.count, found.row.ended) == (count, ended)


def test_what_is_too_long_was_not_said(model, folder):
    talk = Conversation(model, text_format(folder))

    with pytest.raises(ArgumentError, match="more than max_position_embeddings"):
        talk.say("x" * 300)

    assert talk.messages == []
