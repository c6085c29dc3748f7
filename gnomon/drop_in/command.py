"""The command `gnomon run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gnomon.drop_in.script import run_script

__all__ = ["run"]


def run(script: Path, /, *arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Run a script that imports torch, as it stands, with Gnomon in torch's place.

    Nothing is changed on disk. At its end stands which of PyTorch's names it missed, and what was
    slow, by line; the exit code is the script's.

    Parameters
    ----------
    script
        A Python file.
    arguments
        Arguments of the script.
    """
    return run_script(script, arguments)
