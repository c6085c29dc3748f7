"""The backend by which this rank meets the others: MPI, sockets, shared memory, or threads.

What a launcher's variables say and what MPI connects must agree: a world of one that others take
for a part of theirs would run without a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnomon.errors import ConfigError
from gnomon.ir.show import log
from gnomon.runtime.comm.base import Backend, opened
from gnomon.runtime.comm.environment import (
    BACKEND,
    DECLARED,
    Environment,
    by_mpi,
    environment,
    meeting_place,
    variables,
    wanted_backend,
    was_launched,
)
from gnomon.runtime.comm.groups import membership
from gnomon.runtime.comm.mpi import MpiBackend
from gnomon.runtime.comm.node import NodeBackend
from gnomon.runtime.comm.tcp import Address, TcpBackend

__all__ = ["BACKENDS", "check", "connected", "place"]

LOCAL = ("localhost", "127.0.0.1", "::1")
"""Names of the machine that asks."""
REMEDY = "Start ranks by MPI: gnomon launch -n {size} ..., or mpiexec."
REMEDIES = {
    "torchrun": "Set MASTER_ADDR and MASTER_PORT, where the first rank is found. Or start ranks by "
    "MPI: gnomon launch -n {size} ...",
    "SLURM": "Use srun --mpi=pmi2 (MPICH) or pmix (Open MPI). Or set MASTER_ADDR to the first of "
    "`scontrol show hostnames`, and MASTER_PORT.",
    "Kubernetes": "Set MASTER_ADDR to the first pod's name in the job's service, and MASTER_PORT. "
    "Or start ranks by MPI, as an MPIJob does.",
}
"""The remedy by launcher, for ranks that were started and do not connect."""


class BackendKind(NamedTuple):
    """The properties of a backend: threads or processes, its launcher, and its transport."""

    processes: bool
    """Whether ranks are processes."""
    launched: bool
    """Whether `gnomon launch` starts them."""
    by_sockets: type[TcpBackend] | None = None
    """The backend, where ranks find each other by sockets."""


BACKENDS = {
    "mpi": BackendKind(processes=True, launched=True),
    "node": BackendKind(processes=True, launched=True, by_sockets=NodeBackend),
    "tcp": BackendKind(processes=True, launched=False, by_sockets=TcpBackend),
    "threads": BackendKind(processes=False, launched=True),
    "fake": BackendKind(processes=False, launched=False),
}
"""All that can be asked for by name."""


def check(caller: str, name: str, allowed: Sequence[str] = tuple(BACKENDS)) -> None:
    """Refuse the name of an unknown backend, or of one that is not allowed."""
    if name not in allowed:
        known = ", ".join(allowed)
        raise ConfigError(f"{caller}: expected one of {known}: got {name!r}.")


def place() -> Environment:
    """The place of this rank; MPI is asked if a launcher set its variables without a rank."""
    found = environment()
    if found.size > 1 or not was_launched():
        return found
    backend = MpiBackend()
    machine = backend.number_beside, backend.beside
    return Environment(backend.rank, backend.size, *machine, "MPI")


def connected(
    patience: float | None = None, wanted: str | None = None, where: tuple[str, int] | None = None
) -> Backend:
    """The backend of this process, made once; ranks that are threads have their own.

    where: the host and port at which ranks connect; None if the environment names them.
    """
    found, seat = environment(), membership().seat
    if seat is not None:
        return seat
    backend = opened[0] if opened else met(found, patience, wanted, where)
    if (backend.rank, backend.size) != (found.rank, found.size) and found.size > 1:
        raise ConfigError(
            f"launch: this is {found} ({variables()}), and MPI connects {backend.size}. "
            f"{REMEDIES.get(found.source, REMEDY).format(size=found.size)}"
        )
    log(1, lambda: f"launch: {found} ({variables()}); {backend.size} meet by {backend.name}")
    return backend


def met(
    found: Environment,
    patience: float | None,
    wanted: str | None,
    where: tuple[str, int] | None = None,
) -> Backend:
    """Connect with the other ranks: by MPI, or by sockets if MPI did not start them."""
    where, wanted = where or meeting_place(), wanted or wanted_backend()
    if wanted is None and found.size > 1 and where is not None and not by_mpi(found):
        # a program that says of itself which rank it is, and meets at its own machine, is on one
        alone = found.source == DECLARED and where[0] in LOCAL
        wanted = "node" if alone else "tcp"
    if wanted is None and found.source == DECLARED:
        wanted = "tcp"
    if wanted is not None:
        check(f"launch: {BACKEND}", wanted)
    by_sockets = None if wanted is None else BACKENDS[wanted].by_sockets
    if by_sockets is None:
        return MpiBackend(patience)
    if where is None:
        raise ConfigError(
            f"{wanted}: this is {found}, and nothing says where ranks find each other. "
            "Set MASTER_ADDR and MASTER_PORT."
        )
    return by_sockets(found.rank, found.size, Address(*where), patience)
