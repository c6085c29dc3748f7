"""`gnomon serve` runs the server of a model on the address that was asked for."""

from __future__ import annotations

import asyncio
import io
import sys
from types import SimpleNamespace

import pytest

import gnomon as gn
from gnomon.commands import called
from gnomon.errors import CheckpointError, ConfigError
from gnomon.lazy import Lazy
from gnomon.train import serve as command
from tests.models.writers import chat_file, chat_folder
from tests.train.asgi import Exchange

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


def test_a_program_file_is_served_with_the_tokens_of_its_model(monkeypatch, capsys, tmp_path):
    """The answers of both, whole and in pieces, are the text that `gnomon complete` prints."""
    apps: list[object] = []
    run = SimpleNamespace(run=lambda app, **_: apps.append(app))
    monkeypatch.setattr(command, "uvicorn", run)
    places = chat_file(tmp_path / "x.gguf"), tmp_path / "x.gnp"
    words = ["--temperature", "0", "--max-new-tokens", "6"]
    assert called(["program", *map(str, places)]) == 0
    for place in places:
        assert called(["serve", str(place), *words]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("one two\n"))
    capsys.readouterr()
    assert called(["complete", str(places[1]), *words]) == 0
    (wanted,) = capsys.readouterr().out.splitlines()

    async def asked(app):
        given = {"prompt": "one two"}
        whole = [Exchange(app, "completions", given) for _ in range(3)]
        stream = Exchange(app, "completions", given | {"stream": True})
        chat = Exchange(app, "chat/completions", {"messages": [{"role": "user", "content": "one"}]})
        long = Exchange(app, "completions", {"prompt": "one " * 50})
        return [await x.end() for x in (*whole, stream, chat, long)]

    found = [asyncio.run(asked(app)) for app in apps]

    for *whole, stream, _, long in found:
        assert [x.found["choices"][0]["text"] for x in whole] == [wanted] * 3
        pieces = [x["choices"][0]["text"] for x in stream.events[:-1]]
        assert "".join(pieces) == wanted
        assert (long.status, "max_position_embeddings (40)" in str(long.found)) == (400, True)
    ours, theirs = (x[4].found["choices"][0]["message"]["content"] for x in found)
    assert ours == theirs != ""


def test_what_a_program_file_does_not_hold_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "uvicorn", SimpleNamespace(run=lambda app, **_: apps.append(app)))
    apps: list[object] = []
    gn.export.export(gn.nn.Linear(2, 1), (gn.ones(3, 2),)).save(tmp_path / "x.gnp")
    with pytest.raises(CheckpointError, match=r"x\.gnp holds no decoder"):
        called(["serve", str(tmp_path / "x.gnp")])
    source = chat_file(tmp_path / "x.gguf", template=None)
    assert called(["program", str(source), str(tmp_path / "plain.gnp")]) == 0
    assert called(["serve", str(tmp_path / "plain.gnp")]) == 0

    async def asked():
        given = {"messages": [{"role": "user", "content": "one"}]}
        return await Exchange(apps[0], "chat/completions", given).end()

    answer = asyncio.run(asked())
    assert answer.status == 400
    assert "plain.gnp has no chat template" in answer.found["error"]["message"]


def test_who_lacks_uvicorn_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "uvicorn", Lazy("uvicorn_of_nobody"))

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gnomon\[serve\]'"):
        called(["serve", str(chat_folder(tmp_path / "small"))])
