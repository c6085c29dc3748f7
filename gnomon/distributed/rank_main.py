"""Run a Python script as one rank: what it raises is said with its rank, and ends the job."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from gnomon.distributed.ending import as_rank
from gnomon.runtime.comm.environment import Environment, environment

__all__ = ["main"]


def main(words: Sequence[str]) -> None:
    """Run a script, or a module after -m, with its arguments."""
    module = words[0] == "-m"
    name, *sys.argv[1:] = words[1:] if module else words
    sys.argv[0] = name
    with as_rank():
        os.environ.update(by_torchruns_names(environment()))
        if module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(name))
            runpy.run_path(name, run_name="__main__")


def by_torchruns_names(place: Environment) -> dict[str, str]:
    """A rank's variables by torchrun's names, which scripts read, whatever the launcher was."""
    numbers = {
        "RANK": place.rank,
        "WORLD_SIZE": place.size,
        "LOCAL_RANK": place.local_rank,
        "LOCAL_WORLD_SIZE": place.local_size,
    }
    return {name: str(number) for name, number in numbers.items()}


if __name__ == "__main__":
    main(sys.argv[1:])
