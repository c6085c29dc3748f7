"""Whether this process is one of several that were launched together, and who says so.

Launchers tell ranks by variables of the environment, each by its own. What says nothing of ranks is
one process alone; what contradicts itself is refused, lest a world of one runs without a word.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from gnomon.errors import ConfigError
from gnomon.settings import holding

__all__ = [
    "BACKEND",
    "BOARD",
    "DECLARED",
    "Environment",
    "board_address",
    "by_mpi",
    "declare",
    "environment",
    "meeting_place",
    "thread_place",
    "variables",
    "wanted_backend",
    "was_launched",
]

BOARD = "GNOMON_BOARD"
"""Under which name `gnomon launch` tells ranks where its board is."""
BACKEND = "GNOMON_BACKEND"
"""Under which name it tells them by what they meet, where several things would do."""


DECLARED = "init_process_group"
"""The source of a place that a program gives itself."""


@dataclass(frozen=True)
class Environment:
    """The rank of this process among all and on its machine, and the launcher that set it."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    source: str

    def __str__(self) -> str:
        return (
            f"rank {self.rank} of {self.size}, {self.local_rank} of {self.local_size} on its "
            f"machine, as {self.source} says"
        )


class Names:
    """The variables of a launcher: rank, ranks, and the same on one machine."""

    def __init__(self, source: str, rank: str, size: str, local_rank: str, local_size: str) -> None:
        self.source, self.rank, self.size = source, rank, size
        self.local_rank, self.local_size = local_rank, local_size

    def given(self, given: Mapping[str, str]) -> str:
        """The launcher's variables that are set, as text for messages."""
        names = (self.rank, self.size, self.local_rank, self.local_size)
        return " ".join(f"{name}={given[name]}" for name in names if name in given)


LAUNCHERS = (
    Names(
        "Open MPI",
        *("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        *("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ),
    Names("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    Names("SLURM", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE"),
    Names("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", ""),
    Names("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
)
"""Launchers in the order of lookup: last those whose variables others set too. A shell of SLURM's
has no task count."""
KUBERNETES = Names("Kubernetes", "JOB_COMPLETION_INDEX", "WORLD_SIZE", "", "")
"""An indexed job gives each pod its index alone: how many there are, its author says."""
LIGHTNING = Names("Lightning", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_RANK", "WORLD_SIZE")
"""Its own launcher gives no RANK: on the first machine the rank is the local one."""
MPIS = ("Open MPI", "MPICH", "Flux")
"""Launchers whose ranks MPI connects."""
ALONE = Environment(0, 1, 0, 1, "no launcher")
HINTS = ("PMI_RANK", "PMIX_RANK", "PALS_RANKID", "MPIRUN_RANK")
"""Signs of a launcher that tells no size: MPI itself knows it."""

_standing: ContextVar[Environment | None] = ContextVar("environment", default=None)
_declared: list[Environment] = []
"""The place that the program of this process gives itself, where no launcher gives one."""


def environment(given: Mapping[str, str] = os.environ) -> Environment:
    """The rank of this process, or of this thread where ranks are threads.

    >>> environment({"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"})
    Environment(rank=1, size=4, local_rank=1, local_size=4, source='torchrun')
    >>> environment({}).size
    1
    """
    found = _standing.get() or found_in(given)
    return _declared[-1] if found is ALONE and _declared and given is os.environ else found


def declare(rank: int, size: int) -> None:
    """Set this process's rank, where no launcher did.

    Raises ConfigError for an invalid rank.
    """
    if not 0 <= rank < size:
        raise ConfigError(
            f"init_process_group: world_size={size} needs a rank of 0 to {size - 1}: got {rank}. "
            f"Pass rank=, or launch as many: gnomon launch -n {size} ..."
        )
    _declared[:] = [Environment(rank, size, rank, size, DECLARED)]


def thread_place(place: Environment) -> holding[Environment | None]:
    """A context manager in which this thread has this rank."""
    return holding(_standing, place)


def found_in(given: Mapping[str, str]) -> Environment:
    """The rank in launchers' variables; ConfigError if two launchers differ."""
    found = [(names, read(names, given)) for names in launchers(given) if given.get(names.size)]
    if len({each.size for _, each in found}) > 1:
        said = "; ".join(f"{each} ({names.given(given)})" for names, each in found)
        raise ConfigError(f"launch: the environment says different things: {said}. Unset one.")
    return found[0][1] if found else ALONE


def launchers(given: Mapping[str, str]) -> Sequence[Names]:
    """Launchers whose variables may be set in this environment."""
    if "RANK" not in given and "LOCAL_RANK" in given and given.get("NODE_RANK") == "0":
        return (*LAUNCHERS[:-1], LIGHTNING)
    if KUBERNETES.rank not in given or "RANK" in given:
        return LAUNCHERS
    if KUBERNETES.size not in given:
        raise ConfigError(
            f"launch: Kubernetes says {KUBERNETES.given(given)} and not how many pods there are. "
            "Set WORLD_SIZE to the job's completions; to 1 where each pod works alone."
        )
    return (KUBERNETES, *LAUNCHERS[:-1])


def was_launched(given: Mapping[str, str] = os.environ) -> bool:
    """Whether a variable shows that some launcher started this process."""
    return any(name in given for name in HINTS)


def variables(given: Mapping[str, str] = os.environ) -> str:
    """The variables that hold a rank in this environment, for messages."""
    found = [names for names in launchers(given) if given.get(names.size)]
    return found[0].given(given) if found else ""


def meeting_place(given: Mapping[str, str] = os.environ) -> tuple[str, int] | None:
    """The host and port of the first rank, by torchrun's variables; None if unset.

    An agent of torchrun's listens at the port itself: then it is the next one.

    >>> meeting_place({"MASTER_ADDR": "node1", "MASTER_PORT": "29500"})
    ('node1', 29500)
    """
    if not given.get("MASTER_ADDR") or not given.get("MASTER_PORT"):
        return None
    taken = given.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return given["MASTER_ADDR"], integer("MASTER_PORT", given["MASTER_PORT"]) + taken


def by_mpi(place: Environment, given: Mapping[str, str] = os.environ) -> bool:
    """Whether the place was found in variables that MPI's own launcher sets."""
    return place.source in MPIS or was_launched(given)


def board_address(given: Mapping[str, str] = os.environ) -> str:
    """The address of the launcher's server of rank states; empty for other launchers."""
    return given.get(BOARD, "")


def wanted_backend(given: Mapping[str, str] = os.environ) -> str | None:
    """The backend that the user asked for; None if it follows from the launcher."""
    return given.get(BACKEND) or None


def read(names: Names, given: Mapping[str, str]) -> Environment:
    """The rank of this process by the variables of one launcher."""
    if names.rank not in given:
        raise ConfigError(
            f"launch: {names.size}={given[names.size]} without {names.rank}. Set both, or none."
        )
    rank, size = (integer(name, given[name]) for name in (names.rank, names.size))
    local = given.get(names.local_rank), given.get(names.local_size)
    alone = names is KUBERNETES
    local_rank = integer(names.local_rank, local[0]) if local[0] else 0 if alone else rank
    local_size = tasks_of(names, local[1], given) if local[1] else 1 if alone else size
    if not 0 <= rank < size:
        raise ConfigError(f"launch: {names.rank}={rank} is no rank of {names.size}={size}.")
    return Environment(rank, size, local_rank, local_size, names.source)


def tasks_of(names: Names, text: str, given: Mapping[str, str]) -> int:
    """The number of ranks on this machine; SLURM lists them by machine, as 2(x3),1."""
    counts = []
    for part in text.split(","):
        count, _, times = part.partition("(x")
        counts += [integer(names.local_size, count)] * (int(times.rstrip(")")) if times else 1)
    return counts[min(int(given.get("SLURM_NODEID", "0")), len(counts) - 1)]


def integer(name: str, text: str) -> int:
    """The value of a launcher's variable as an integer; ConfigError if it is none."""
    if not text.isdecimal():
        raise ConfigError(f"launch: {name}: expected a number >= 0: got {text!r}.")
    return int(text)
