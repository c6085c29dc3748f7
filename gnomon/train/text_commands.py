"""The commands complete, chat and serve, and how all commands are called.

A model of a program file needs no compiler, so nothing here loads it.
"""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import App, CycloptsError

import gnomon as gn
from gnomon.errors import ConfigError
from gnomon.train.chat import chat, complete
from gnomon.train.serve import serve

__all__ = ["app", "called"]

app = App(
    name="gnomon",
    help="A deep-learning compiler and distributed trainer with PyTorch's names.",
    version=gn.__version__,
    help_format="plaintext",
)
app.command(chat)
app.command(complete)
app.command(serve)


def called(words: Sequence[str]) -> int:
    """Run a command; returns its exit code. ConfigError for an invalid command line."""
    try:
        options = {"exit_on_error": False, "print_error": False, "result_action": "return_value"}
        code = app(list(words), **options)
    except CycloptsError as wrong:
        raise ConfigError(str(wrong)) from wrong
    return code if isinstance(code, int) else 0
