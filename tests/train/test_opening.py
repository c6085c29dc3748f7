"""Commands open the model that they name, and give it the settings that were asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gnomon.commands import app
from gnomon.errors import ConfigError
from gnomon.tensor.views import is_encoded
from gnomon.train import opening
from gnomon.train.opening import HELP, opened_model, opened_writer
from tests.models.writers import chat_file, chat_folder


def test_commands_share_one_text_about_their_model(capsys):
    for command in ("chat", "serve"):
        app([command, "--help"], result_action="return_value")
        shown = capsys.readouterr().out.replace("│", " ")
        assert HELP in " ".join(shown.split())


def test_activations_are_rounded_for_files_in_blocks_alone(tmp_path):
    place = chat_folder(tmp_path / "folder")

    for name in (str(place), "x.gnp"):
        with pytest.raises(
            ConfigError, match=r"--activations int8: is for GGUF files: got .*Leave"
        ):
            opened_writer(name, "int8")
    file = chat_file(tmp_path / "x.gguf")
    for activations in ("", "int8"):
        model, _ = opened_writer(str(file), activations)
        shown = [x._view.chain[0][1] for x in model.parameters() if is_encoded(x._view)]
        assert {x.get("activations", "") for x in shown} <= {activations}


def test_an_encoder_is_refused(tmp_path, monkeypatch):
    place = chat_folder(tmp_path / "folder")
    found = SimpleNamespace(from_pretrained=lambda _, **options: object())
    monkeypatch.setattr(opening, "pretrained", found)

    with pytest.raises(ConfigError, match="holds an encoder, which writes nothing"):
        opened_model(str(place))
