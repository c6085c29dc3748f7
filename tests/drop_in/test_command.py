"""`gnomon run` says what it is, and is among the commands."""

from __future__ import annotations

import pytest

from gnomon.commands import app
from gnomon.drop_in.command import run

pytestmark = pytest.mark.unit


def test_run_is_a_command_of_its_own():
    assert app["run"].default_command is run


def test_what_follows_the_script_is_the_scripts(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import sys; raise SystemExit(len(sys.argv))")

    assert run(path, "--help", "-x") == 3
