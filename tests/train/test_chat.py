"""`gnomon chat` answers each line of its input, of every kind of model that has a template."""

from __future__ import annotations

import io
import sys

import pytest

from gnomon.commands import called
from gnomon.errors import ConfigError
from gnomon.models.conversation import Conversation
from gnomon.train.opening import opened_model
from tests.models.writers import chat_file, chat_folder

pytest.importorskip("jinja2")


def talk(monkeypatch, capsys, said: str, *words: str) -> list[str]:
    """The lines that the command prints."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(said))
    assert called(["chat", *words, "--max-new-tokens", "5", "--temperature", "0"]) == 0
    return capsys.readouterr().out.split("\n")


def test_folders_and_files_of_one_model_say_the_same(monkeypatch, capsys, tmp_path):
    places = chat_folder(tmp_path / "folder"), chat_file(tmp_path / "x.gguf")

    found = [talk(monkeypatch, capsys, "one\n\ntwo\n", str(place)) for place in places]

    assert found[0] == found[1]
    model, texts = opened_model(str(places[0]))
    conversation = Conversation(model, texts, max_new_tokens=5, do_sample=False)
    wanted = ["".join(conversation.say(text)) for text in ("one", "two")]
    assert "\n".join(found[0]) == "".join(f"{text}\n" for text in wanted)


def test_activations_may_be_rounded(monkeypatch, capsys, tmp_path):
    file = chat_file(tmp_path / "x.gguf")

    assert talk(monkeypatch, capsys, "one\n", str(file), "--activations", "int8")
    with pytest.raises(ConfigError, match=r"--activations int8: is for GGUF files"):
        called(["chat", str(chat_folder(tmp_path / "folder")), "--activations", "int8"])


def test_a_message_that_cannot_be_answered_ends_nothing(monkeypatch, capsys, tmp_path):
    place = chat_folder(tmp_path / "folder")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{'x' * 90}\none\n"))

    assert called(["chat", str(place), "--max-new-tokens", "3"]) == 0

    shown = capsys.readouterr()
    assert "more than max_position_embeddings (40)" in shown.err
    assert shown.out.count("\n") >= 1


def test_models_that_cannot_chat_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no chat template"):
        called(["chat", str(chat_folder(tmp_path / "plain", template=None))])
    with pytest.raises(ConfigError, match="nowhere is not a run"):
        called(["chat", str(tmp_path / "nowhere")])
