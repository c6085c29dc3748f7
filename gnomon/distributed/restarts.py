"""A job that is started again when it fails: with as many ranks, or with fewer.

Ranks that are lost take the job with them (ending.py); what begins is a new job, which goes on from
what the old one saved. Nothing of a job survives in its successor but files.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gnomon.distributed.launcher import MISTAKE, Launch
from gnomon.errors import ConfigError

__all__ = ["Restarts", "counts_of"]

FINAL = (0, MISTAKE, *(128 + x for x in (signal.SIGINT, signal.SIGTERM)))
"""Exit codes of a job that did what was asked, could not know what, or was asked to stop."""


@dataclass(frozen=True)
class Restarts:
    """The restarts that a job is given: how many, of which command, with how many ranks each."""

    most: int
    command: tuple[str, ...]
    """What goes on with what the first job began."""
    ranks: Sequence[int]
    """Of the first job and of each that follows; the last holds for all after it."""

    def run(self, first: Launch) -> int:
        """Start the job, and again while it fails; the last exit code."""
        if first.backend == "threads" and self.most:
            raise ConfigError(
                "launch: --restarts starts processes anew: --backend threads has but one. Leave "
                "one of them out."
            )
        code = first.run()
        for number in range(1, self.most + 1):
            if code in FINAL:
                break
            count = self.ranks[min(number, len(self.ranks) - 1)]
            print(f"gnomon launch: restart {number} of {self.most}: -n {count}", file=sys.stderr)
            code = replace(first, command=self.command, ranks=count).run()
        return code


def counts_of(text: str) -> tuple[int, ...]:
    """The numbers of ranks of a job and of those that follow it.

    >>> counts_of("4"), counts_of("4,3,2")
    ((4,), (4, 3, 2))
    """
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"launch: -n: expected int >= 1, or several as in 4,3,2: got {text}.")
    return tuple(map(int, parts))
