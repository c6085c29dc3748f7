"""`gnomon launch`: start a command as many ranks, by the MPI that is installed, or by ourselves.

MPI's own mpiexec starts, watches and ends the ranks, on this machine or on those of a host file;
where ranks meet in shared memory, processes.py does. A rank that raises ends the job, and what it
raised is the last thing that is said.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.distributed.backends import BACKENDS, check
from gnomon.distributed.processes import run_processes
from gnomon.distributed.rank_threads import run_threads
from gnomon.errors import ConfigError
from gnomon.runtime.comm.board import Board, LeftOut
from gnomon.runtime.comm.environment import BOARD
from gnomon.runtime.system import usable_cores

__all__ = ["Launch", "MISTAKE", "delimited"]

NO_MPI = (
    "launch: no mpiexec is found. Install one: pip install mpi4py mpich, or load your cluster's "
    "MPI and pip install mpi4py."
)
OF_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Variables without which Open MPI refuses root, and more ranks than cores."""
MISTAKE = 2
"""The exit code of a wrong command or configuration, which the rank itself has explained."""
VALUED = ("-n", "--ranks", "--hosts", "--backend", "--patience", "--restarts")
"""Options of launch itself that take a value."""


@dataclass(frozen=True)
class Launch:
    """A launch: number of ranks, command, hosts."""

    command: tuple[str, ...]
    ranks: int
    hosts: Path | None = None
    patience: float | None = None
    """Seconds that a rank waits for the others."""
    backend: str = "mpi"
    """The kind of ranks: processes connected by MPI or shared memory, or threads here."""
    left_out: list[LeftOut] = field(default_factory=list)
    """The ranks without which the job asked to be restarted; filled when it ends."""

    def arguments(self) -> list[str]:
        """The whole command line."""
        if self.backend == "node":
            return self.of_rank()
        hosts = ["--hostfile", str(self.hosts)] if self.hosts else []
        return [mpiexec(), *hosts, "-n", str(self.ranks), *self.of_rank()]

    def of_rank(self) -> list[str]:
        """The command of each rank, wrapped so that a script's exception ends the job."""
        program, *rest = self.command
        runs = [sys.executable, "-m"]
        if Path(program).name.startswith("python"):
            return [*runs, "gnomon.distributed.rank_main", *rest]
        if program.endswith(".py"):
            return [*runs, "gnomon.distributed.rank_main", program, *rest]
        own = shutil.which(program) is None
        return [*runs, "gnomon", program, *rest] if own else [program, *rest]

    @property
    def threads(self) -> int:
        """The threads of each rank: its share of the cores, if all ranks are on this machine."""
        return 0 if self.hosts else max(1, usable_cores() // self.ranks)

    def in_threads(self) -> int:
        """Run all ranks as threads of this process; returns the exit code."""
        python, *words = self.of_rank()
        if python != sys.executable or self.hosts:
            raise ConfigError(
                f"launch: --backend threads runs Python here: got {shlex.join(self.command)}. "
                "Give a script, or leave --backend and --hosts out."
            )
        script = words[2:] if words[1].endswith(".rank_main") else words
        return run_threads(script, self.ranks, self.threads, self.patience)

    def environment(self) -> dict[str, str]:
        """The environment of ranks: this process's, threads, timeout, Open MPI's flags."""
        share = {"GNOMON_NUM_THREADS": str(self.threads)} if self.threads else {}
        patience = {} if self.patience is None else {"GNOMON_PATIENCE": str(self.patience)}
        return OF_OPEN_MPI | share | dict(os.environ) | patience

    def run(self) -> int:
        """Start the ranks and wait for them; returns the exit code."""
        if self.ranks < 1:
            raise ConfigError(f"launch: -n: expected int >= 1: got {self.ranks}.")
        launched = [name for name, kind in BACKENDS.items() if kind.launched]
        check("launch: --backend", self.backend, launched)
        if self.backend == "node" and self.hosts:
            raise ConfigError(
                "launch: --backend node is one machine. Leave --hosts out, or use mpi."
            )
        if self.backend == "threads":
            return self.in_threads()
        board = Board(platform.node() if self.hosts else "127.0.0.1")
        try:
            given = self.environment() | {BOARD: board.address}
            code = self.call(given)
            verdict, own = board.verdict(self.ranks) if code else ("", 0)
            self.left_out.extend([board.left_out] if board.left_out else [])
        finally:
            board.close()
        if verdict and own != MISTAKE:
            print(f"gnomon launch: {verdict}", file=sys.stderr)
        return own or code

    def call(self, given: Mapping[str, str]) -> int:
        """Start all ranks with these variables, and wait for them; returns the exit code."""
        if self.backend == "node":
            return run_processes(self.arguments(), self.ranks, self.backend, given)
        return subprocess.call(self.arguments(), env=given)

    def __str__(self) -> str:
        if self.backend != "mpi":
            kind = "threads" if self.backend == "threads" else "processes"
            return f"{self.ranks} {kind}: {shlex.join(self.of_rank())}"
        own = self.environment().items() - os.environ.items()
        variables = [f"{name}={value}" for name, value in sorted(own)]
        return shlex.join([*variables, *self.arguments()])


def mpiexec() -> str:
    """The path of mpiexec: of this environment, or else of the system."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise ConfigError(NO_MPI)
    return found


def delimited(words: Sequence[str]) -> list[str]:
    """A command line with "--" before the command or script and its options.

    >>> delimited(["launch", "-n", "2", "train", "--mesh", "data=2"])
    ['launch', '-n', '2', '--', 'train', '--mesh', 'data=2']
    >>> delimited(["run", "script.py", "--help"])
    ['run', '--', 'script.py', '--help']
    """
    if list(words[:1]) == ["run"] and len(words) > 1 and not words[1].startswith("-"):
        return ["run", "--", *words[1:]]
    if list(words[:1]) != ["launch"] or "--" in words:
        return list(words)
    place = 1
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in VALUED else 1
    return [*words[:place], "--", *words[place:]]
