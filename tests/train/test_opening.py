"""Commands open the model that they name, and give it the settings that were asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gnomon.commands import app
from gnomon.errors import ConfigError
from gnomon.train import opening
from gnomon.train.opening import HELP, opened_model
from tests.models.writers import chat_folder


def test_commands_share_one_text_about_their_model(capsys):
    for command in ("chat", "serve"):
        app([command, "--help"], result_action="return_value")
        shown = capsys.readouterr().out.replace("│", " ")
        assert HELP in " ".join(shown.split())


def test_an_encoder_is_refused(tmp_path, monkeypatch):
    place = chat_folder(tmp_path / "folder")
    found = SimpleNamespace(from_pretrained=lambda _, encoded: object())
    monkeypatch.setattr(opening, "pretrained", found)

    with pytest.raises(ConfigError, match="holds an encoder, which writes nothing"):
        opened_model(str(place))
