"""The command `gnomon run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gnomon.drop_in.script import run_script

__all__ = ["run"]


def run(script: Path, /, *arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Run a script that imports torch, as it stands, with Gnomon in torch's place.

    `gnomon run -m MODULE` runs a module or package, as `python -m` does.

    No file is changed. A report at the end lists names of PyTorch that could not be resolved, and
    slow source lines. The exit code is the script's.

    Parameters
    ----------
    script
        A Python file.
    arguments
        Arguments of the script.
    """
    return run_script(script, arguments)
