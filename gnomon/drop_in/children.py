"""Make processes that a script starts use Gnomon as torch, too.

A new interpreter of Python's multiprocessing runs the script's file again, under another name than
`__main__`, before it does anything else; the data that it starts with installs the import hook.
Launchers of ranks, such as Lightning's and Accelerate's, start Python files as commands: commands
of this interpreter are run by `gnomon run` too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import spawn
from typing import Any

from gnomon.drop_in.modules import TorchFinder
from gnomon.drop_in.report import NameReport

__all__ = ["in_children"]


class Arguments(list):
    """A script's arguments, which install the import hook when they are unpickled."""

    def __reduce__(self) -> tuple:
        return installed_arguments, (list(self),)


def installed_arguments(arguments: list[str]) -> list[str]:
    """Install the import hook in this process and return the arguments."""
    if not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        finder: Any = TorchFinder(NameReport())
        sys.meta_path.insert(0, finder)
        tell_children()
    return arguments


def tell_children() -> Callable[[str], dict[str, Any]]:
    """Make new multiprocessing processes install the hook; return the replaced function."""
    before = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        found = before(name)
        return {**found, "sys_argv": Arguments(found["sys_argv"])}

    spawn.get_preparation_data = prepared
    return before


def through_gnomon(command: Any) -> Any:
    """Change a command that runs a Python file to use `gnomon run`; others stay unchanged."""
    if not isinstance(command, (list, tuple)) or len(command) < 2:
        return command
    words = list(map(os.fspath, command))
    if not all(isinstance(word, str) for word in words):
        return command
    file = next((k for k, word in enumerate(words[1:], 1) if not word.startswith("-")), 0)
    before = words[1 : file or 1]
    named = any(word in ("-c", "-m", "-W", "-X") for word in before)
    if words[0] != sys.executable or named or not words[file].endswith(".py"):
        return command
    return [*words[:file], "-m", "gnomon", "run", *words[file:]]


def tell_commands() -> Callable[..., None]:
    """Make subprocess run Python files by `gnomon run`; return the replaced method."""
    before = subprocess.Popen.__init__

    def start(self: subprocess.Popen, args: Any, *rest: Any, **named: Any) -> None:
        before(self, through_gnomon(args), *rest, **named)

    subprocess.Popen.__init__ = start
    return before


@contextmanager
def in_children() -> Iterator[None]:
    """Make processes started inside a `with` import Gnomon as torch."""
    before, commands = tell_children(), tell_commands()
    try:
        yield
    finally:
        spawn.get_preparation_data = before
        subprocess.Popen.__init__ = commands
