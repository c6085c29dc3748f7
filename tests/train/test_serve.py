"""`gnomon serve` runs the server of a model on the address that was asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gnomon.commands import called
from gnomon.lazy import Lazy
from gnomon.train import serve as command
from tests.models.writers import chat_folder

pytest.importorskip("starlette")


def test_a_folders_model_is_served(monkeypatch, tmp_path):
    runs: list[tuple] = []
    run = SimpleNamespace(run=lambda app, **given: runs.append((app.routes[0].path, given)))
    monkeypatch.setattr(command, "uvicorn", run)

    assert called(["serve", str(chat_folder(tmp_path / "small")), "--port", "81"]) == 0

    assert runs == [("/v1/models", {"host": "127.0.0.1", "port": 81})]


def test_who_lacks_uvicorn_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "uvicorn", Lazy("uvicorn_of_nobody"))

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gnomon\[serve\]'"):
        called(["serve", str(chat_folder(tmp_path / "small"))])
