"""Processes that a script starts: there too, `import torch` is Gnomon.

A new interpreter of Python's multiprocessing runs the script's file again, under another name than
`__main__`, before it does anything else. What is sent to it first brings the names along. Launchers
of ranks, Lightning's and Accelerate's among them, start Python files as commands: those of this
interpreter are run by `gnomon run` too.
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
    """Arguments of a script that, where they arrive, have torch's names found."""

    def __reduce__(self) -> tuple:
        return arrived, (list(self),)


def arrived(arguments: list[str]) -> list[str]:
    """The arguments, in a process whose `import torch` is Gnomon from now on."""
    if not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        finder: Any = TorchFinder(NameReport())
        sys.meta_path.insert(0, finder)
        tell_children()
    return arguments


def tell_children() -> Callable[[str], dict[str, Any]]:
    """Add names to the data that a new process starts with; gives the function before this one."""
    before = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        found = before(name)
        return {**found, "sys_argv": Arguments(found["sys_argv"])}

    spawn.get_preparation_data = prepared
    return before


def through_gnomon(command: Any) -> Any:
    """The command that runs a Python file with `gnomon run`; any other command as it is."""
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
    """Run Python files that are started as commands by `gnomon run`; gives the method before."""
    before = subprocess.Popen.__init__

    def start(self: subprocess.Popen, args: Any, *rest: Any, **named: Any) -> None:
        before(self, through_gnomon(args), *rest, **named)

    subprocess.Popen.__init__ = start
    return before


@contextmanager
def in_children() -> Iterator[None]:
    """Make new processes find torch's names in Gnomon too, within a `with` block."""
    before, commands = tell_children(), tell_commands()
    try:
        yield
    finally:
        spawn.get_preparation_data = before
        subprocess.Popen.__init__ = commands
