"""`gnomon serve` runs the server of a model on the address that was asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gnomon.commands import called
from gnomon.errors import ConfigError
from gnomon.lazy import Lazy
from gnomon.train import serve as command
from tests.models.writers import chat_folder

pytest.importorskip("starlette")


def test_a_folders_model_is_served(monkeypatch, tmp_path):
    runs: list[tuple] = []
    run = SimpleNamespace(run=lambda app, **given: runs.append((app.routes[0].path, given)))
    monkeypatch.setattr(command, "uvicorn", run)

    place = str(chat_folder(tmp_path / "small"))
    assert called(["serve", place, "--port", "81"]) == 0
    with pytest.raises(ConfigError, match="serve: --max-waiting must be 1 or more: got 0"):
        called(["serve", place, "--max-waiting", "0"])

    wanted = {"host": "127.0.0.1", "port": 81, "timeout_graceful_shutdown": 5}
    assert runs == [("/v1/models", wanted)]


def test_who_lacks_uvicorn_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "uvicorn", Lazy("uvicorn_of_nobody"))

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gnomon\[serve\]'"):
        called(["serve", str(chat_folder(tmp_path / "small"))])
