"""A job that is started again when it fails: with as many ranks, or with fewer.

Ranks that are lost take the job with them (ending.py); what begins is a new job, which goes on from
what the old one saved. Nothing of a job survives in its successor but files, and the names of ranks
that it found at fault: they are left out.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gnomon.distributed.launcher import MISTAKE, Launch
from gnomon.errors import ConfigError

__all__ = ["Restarts", "counts_of", "remaining"]

FINAL = (0, MISTAKE, *(128 + x for x in (signal.SIGINT, signal.SIGTERM)))
"""Exit codes of a job that did what was asked, could not know what, or was asked to stop."""


@dataclass(frozen=True)
class Restarts:
    """A job with restarts: how many, the command, and the number of ranks of each."""

    most: int
    command: tuple[str, ...]
    """The command that continues the run of the first job."""
    ranks: Sequence[int]
    """The numbers of ranks of the first job and of the following ones; the last holds for all
    further ones."""

    def run(self, first: Launch) -> int:
        """Run the job, and restart it while it fails; returns the last exit code."""
        if first.backend == "threads" and self.most:
            raise ConfigError(
                "launch: --restarts starts processes anew: --backend threads has but one. Leave "
                "one of them out."
            )
        code = first.run()
        with TemporaryDirectory() as folder:
            for number in range(1, self.most + 1):
                if code in FINAL:
                    break
                job = self.following(first, number, Path(folder) / "hosts")
                if not job.ranks:
                    break
                code = job.run()
        return code

    def following(self, first: Launch, number: int, hosts: Path) -> Launch:
        """The next job, without faulty ranks; of no rank if that is impossible.

        hosts: the file to which the remaining machines are written.
        """
        count, left_out = self.ranks[min(number, len(self.ranks) - 1)], first.left_out
        job = replace(first, command=self.command, ranks=count)
        without = ""
        if left_out:
            job = replace(job, ranks=min(count, left_out[-1].remaining))
            without = f", without {left_out[-1].why}"
        faulty = {host for each in left_out for host in each.hosts}
        if faulty and first.hosts:
            hosts.write_text(remaining(first.hosts, faulty))
            job = replace(job, hosts=hosts)
        if job.ranks:
            message = f"restart {number} of {self.most}: -n {job.ranks}{without}"
        else:
            message = f"no restart{without}: --mesh says how many ranks there are. Launch fewer."
        print(f"gnomon launch: {message}", file=sys.stderr)
        return job


def remaining(hosts: Path, faulty: Set[str]) -> str:
    """A file of hosts without some of them, each a line that begins with its name."""
    lines = hosts.read_text().splitlines(keepends=True)
    short = {host.partition(".")[0] for host in faulty}
    left = [x for x in lines if re.split(r"[\s:.]", x, maxsplit=1)[0] not in short]
    if len(lines) - len(left) < len(short):
        raise ConfigError(
            f"launch: {hosts}: a machine is to be left out that has no line of its own: "
            f"{', '.join(sorted(faulty))}. Name machines there as they name themselves."
        )
    return "".join(left)


def counts_of(text: str) -> tuple[int, ...]:
    """The numbers of ranks of a job and of those that follow it.

    >>> counts_of("4"), counts_of("4,3,2")
    ((4,), (4, 3, 2))
    """
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"launch: -n: expected int >= 1, or several as in 4,3,2: got {text}.")
    return tuple(map(int, parts))
