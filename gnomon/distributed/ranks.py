"""The ranks of a mesh: threads of this process, or the process itself among those of a launch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.errors import LayoutError
from gnomon.runtime.comm import groups, here
from gnomon.runtime.comm.base import Backend, Link
from gnomon.runtime.comm.threads import World
from gnomon.tensor.random import own_stream

__all__ = ["connect", "run_ranks"]

T = TypeVar("T")


def connect(mesh: DeviceMesh, backend: Backend) -> dict[str, Link]:
    """The groups of this rank: by mesh axis, the ranks that differ from it along that axis."""
    if mesh.size() != backend.size:
        sizes = " x ".join(f"{name} {count}" for name, count in mesh.axes) or "one rank"
        raise LayoutError(
            f"mesh: {sizes} is {mesh.size()} ranks, and {backend.size} run. "
            f"Launch as many: gnomon launch -n {mesh.size()} ..."
        )
    return {name: backend.link(name, mesh.beside(backend.rank, name)) for name in mesh.names}


def run_ranks(
    mesh: DeviceMesh,
    function: Callable[[int], T],
    patience: float | None = None,
    world: World | None = None,
) -> list[T]:
    """Run function(rank) on ranks as threads.

    Returns the results in rank order; the first failure ends the other ranks, and is raised.

    >>> run_ranks(DeviceMesh.of({"data": 2}), lambda rank: here.link_along("data").place)
    [0, 1]
    """
    world = world or World(mesh.size(), patience)

    def one(rank: int) -> T:
        backend = world.backend(rank)
        try:
            with here.along(connect(mesh, backend)), groups.of_rank(backend), own_stream():
                return function(rank)
        except BaseException as cause:
            backend.abort(cause)
            raise

    with ThreadPoolExecutor(mesh.size(), "rank") as pool:
        futures = [pool.submit(copy_context().run, one, rank) for rank in range(mesh.size())]
    if world.failure is not None:
        raise world.failure[1]
    return [future.result() for future in futures]
