"""Every command has its name and its page; what they do is in test_main.py and in gnomon/train."""

from __future__ import annotations

import pytest

from gnomon.commands import app, called
from gnomon.errors import ConfigError

NAMES = (
    *(
        "bench",
        "bisect",
        "chat",
        "complete",
        "diverge",
        "doctor",
        "eval",
        "generate",
        "gguf",
        "launch",
        "plan",
        "profile",
        "program",
    ),
    *("run", "serve", "train", "values"),
)


def test_every_command_stands_on_the_page(capsys):
    assert called(["--help"]) == 0

    shown = capsys.readouterr().out.split()
    assert set(NAMES) <= set(shown)
    assert {name for name in app if not name.startswith("-")} == set(NAMES)


def test_words_that_fit_no_command_are_a_mistake_in_what_was_asked():
    with pytest.raises(ConfigError, match="fly"):
        called(["fly"])
    with pytest.raises(ConfigError, match="wings"):
        called(["doctor", "--wings"])
