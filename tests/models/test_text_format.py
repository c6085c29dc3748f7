"""A folder and a GGUF file of one model have the same tokens and the same template."""

from __future__ import annotations

import json

import pytest

from gnomon.errors import ArgumentError, CheckpointError, ConfigError
from gnomon.models.text_format import text_format
from tests.models.writers import TEMPLATE, chat_file, chat_folder, tokenizer

pytest.importorskip("jinja2")

MESSAGES = [{"role": "user", "content": "one two"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that tests only read."""
    return chat_folder(tmp_path_factory.mktemp("folder"))


def test_messages_become_the_tokens_of_the_template(folder, tmp_path):
    wanted = tokenizer().encode("user: one two\nassistant: ").ids

    for place in (folder, chat_file(tmp_path / "x.gguf")):
        texts = text_format(place)
        assert texts.chat_ids(MESSAGES) == wanted
        assert texts.ids("one two") == tokenizer().encode("one two").ids
        assert texts.special["eos_token"] == "<|endoftext|>"


def test_templates_stand_in_several_places(folder, tmp_path):
    settings = tmp_path / "tokenizer_config.json"
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    assert text_format(tmp_path).template is None

    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "yes"}]
    settings.write_text(json.dumps({"chat_template": named, "bos_token": 3}))
    assert text_format(tmp_path).template == "yes"
    assert text_format(tmp_path).special == {}
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "older"}))
    assert text_format(tmp_path).template == "older"
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    assert text_format(tmp_path).template == TEMPLATE


def test_what_is_missing_or_wrong_is_named(folder, tmp_path):
    with pytest.raises(CheckpointError, match=r"tokenizer.json cannot be read: No such file"):
        text_format(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"tokenizer.json is no tokenizer"):
        text_format(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    with pytest.raises(ConfigError, match=r"chat: .* has no chat template. Take a model that was"):
        text_format(tmp_path).chat_ids(MESSAGES)
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('no users') }}")
    with pytest.raises(ArgumentError, match=r"chat: .*: the chat template fails: no users"):
        text_format(tmp_path).chat_ids(MESSAGES)
