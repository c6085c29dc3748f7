"""Run a function on every rank of a mesh, ranks being threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from gnomon.distributed.mesh import Mesh
from gnomon.runtime.comm.base import Communicator
from gnomon.runtime.comm.threads import PATIENCE, World

T = TypeVar("T")


def run_ranks(
    mesh: Mesh, function: Callable[[Communicator, int], T], patience: float = PATIENCE
) -> list[T]:
    """function(communicator, rank) on every rank; the first failure is raised and ends the others.

    >>> run_ranks(Mesh((("data", 2),)), lambda comm, rank: comm.place("data"))
    [0, 1]
    """
    world = World(dict(mesh.axes), patience)

    def one(rank: int) -> T:
        try:
            return function(world.communicator(rank), rank)
        except BaseException as cause:
            world.fail(rank, cause)
            raise

    with ThreadPoolExecutor(mesh.size, "rank") as pool:
        futures = [pool.submit(copy_context().run, one, rank) for rank in range(mesh.size)]
    if world.failure is not None:
        raise world.failure[1]
    return [future.result() for future in futures]
