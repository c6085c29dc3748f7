"""The commands that write texts load what their model needs: of a program file no compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gnomon.commands import app as whole
from gnomon.commands import called
from gnomon.errors import ConfigError
from gnomon.train import text_commands
from tests.house import ROOT
from tests.models.writers import chat_file

ALONE = """
import asyncio, io, sys

from gnomon.__main__ import code_of
from tests.train.asgi import Exchange

def compilers():
    parts = ("gnomon.compiler", "gnomon.codegen", "gnomon.schedule", "llvmlite")
    return [x for x in sys.modules if x.startswith(parts)]

flags = [sys.argv[1], "--temperature", "0", "--max-new-tokens", "3"]
for command in ("complete", "chat"):
    sys.stdin = io.StringIO("one two\\n")
    assert code_of([command, *flags]) == 0
    assert not compilers(), (command, compilers())
if sys.argv[2] == "serve":
    import uvicorn

    apps = []
    uvicorn.run = lambda app, **_: apps.append(app)
    assert code_of(["serve", *flags]) == 0

    async def asked():
        answer = await Exchange(apps[0], "completions", {"prompt": "one two"}).end()
        assert answer.status == 200, answer.found

    asyncio.run(asked())
    assert not compilers(), compilers()
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    assert called(["program", str(chat_file(folder / "x.gguf")), str(folder / "x.gnp")]) == 0
    return folder / "x.gnp"


def alone(*words):
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_nothing_of_a_compiler_is_imported_to_write_texts_of_a_program_file(path):
    alone(path, "complete")


def test_nothing_of_a_compiler_is_imported_to_serve_a_program_file(path):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    alone(path, "serve")


def test_all_commands_are_of_one_application():
    assert text_commands.app is whole
    assert {"chat", "complete", "serve", "train", "program"} <= set(whole)
    with pytest.raises(ConfigError, match="nonsense"):
        text_commands.called(["chat", "--nonsense", "3"])
