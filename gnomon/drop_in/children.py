"""Processes that a script starts: there too, `import torch` is Gnomon.

A new interpreter of Python's multiprocessing runs the script's file again, under another name than
`__main__`, before it does anything else. What is sent to it first brings the names along.
"""

from __future__ import annotations

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


@contextmanager
def in_children() -> Iterator[None]:
    """Make new processes find torch's names in Gnomon too, within a `with` block."""
    before = tell_children()
    try:
        yield
    finally:
        spawn.get_preparation_data = before
