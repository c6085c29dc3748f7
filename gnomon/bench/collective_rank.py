"""One rank of the measurement of collectives: ours inside compiled programs, peers beside them.

All ranks run this under one launch; contenders take turns, each round from another one on, since
who comes first finds other caches; every sample is taken between barriers.
What is sent is written anew before each, so that nobody reads it from where an earlier one left it.
The first rank writes the medians as JSON.
"""

from __future__ import annotations

import runpy
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from gnomon.compiler.build import build
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.processes import free_port
from gnomon.distributed.ranks import connect
from gnomon.dtypes import bfloat16, dtype_of
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.collectives import all_gather, all_reduce, all_to_all, reduce_scatter
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.comm import here
from gnomon.runtime.comm.mpi import MPI, MpiBackend
from gnomon.runtime.comm.node import NodeBackend
from gnomon.runtime.comm.tcp import Address

__all__ = ["main"]

CollectiveCall = Callable[[], object]
Case = tuple[np.ndarray, dict[str, CollectiveCall]]
"""What is sent, and the calls of all contenders."""
Peer = dict[str, Any]
"""A peer's functions by name."""
AXIS, NODE = "ranks", "node"
"""The same ranks along two mesh axes: one by MPI, one by shared memory."""
LARGE = (1 << 20, 4 << 20, 16 << 20)
"""Bytes that each rank gives."""
TINY = (4, 256, 4096)
MANY = 100
"""Collectives of one program whose time is divided by their number."""
PEERS = {"gloo": "benchmarks.peers.torch_gloo"}


def ours(do: Callable[[Node], Node], array: np.ndarray) -> CollectiveCall:
    """A compiled program that does this to a buffer."""
    x = Arena().input(array.shape, dtype_of(array.dtype), "x")
    program, given = build(Graph([x], [do(x)])), DeviceBuffer.of(array)
    return lambda: program.run([given])


def aligned(count: int, dtype: Any = np.float32) -> np.ndarray:
    """An array of ones, aligned to a cache line as buffers of programs are.

    Copies between differently aligned addresses take up to a third longer.
    """
    array = DeviceBuffer(count * np.dtype(dtype).itemsize).numpy(dtype, (count,))
    array[...] = 1
    return array


def raw(comm: object, array: np.ndarray, ranks: int) -> dict[str, CollectiveCall]:
    """mpi4py's collectives on preallocated buffers."""
    given = array.view(np.float32)
    gathered, same, part = map(aligned, (array.size * ranks, array.size, array.size // ranks))
    return {
        "all_gather": partial(comm.Allgather, given, gathered),
        "all_to_all": partial(comm.Alltoall, given, same),
        "all_reduce": partial(comm.Allreduce, given, same),
        "reduce_scatter": partial(comm.Reduce_scatter_block, given, part),
    }


def programs(axis: str, ranks: int) -> dict[str, Callable[[Node], Node]]:
    """Our collectives along an axis, by name."""
    return {
        "all_gather": lambda x: all_gather(x, 0, axis, ranks),
        "all_to_all": lambda x: all_to_all(x, 0, 0, axis, ranks),
        "all_reduce": lambda x: all_reduce(x, axis, ranks),
        "reduce_scatter": lambda x: reduce_scatter(x, 0, axis, ranks),
    }


def in_a_row(do: Callable[[Node], Node], times: int, x: Node) -> Node:
    """Chain `times` collectives, each on the result of the one before."""
    for _ in range(times):
        x = do(x)
    return x


def repeated(do: CollectiveCall) -> None:
    """Call a peer's collective MANY times."""
    for _ in range(MANY):
        do()


def cases(backend: MpiBackend, others: dict[str, Peer]) -> dict[tuple[str, int], Case]:
    """The calls of every contender, by operation and bytes."""
    ranks = backend.size
    made, near = (programs(axis, ranks) for axis in (AXIS, NODE))

    def both(name: str, array: np.ndarray, times: int = 1) -> dict[str, CollectiveCall]:
        """A collective of ours by either backend."""
        pair = (("gnomon", made), ("node", near))
        return {key: ours(partial(in_a_row, each[name], times), array) for key, each in pair}

    found: dict[tuple[str, int], Case] = {}
    for nbytes in LARGE:
        array = aligned(nbytes // 4)
        for name, do in raw(backend.world, array, ranks).items():
            calls = both(name, array) | {"mpi4py": do}
            for peer, module in others.items():
                calls |= {peer: module["calls"](array, ranks).get(name)}
            found[name, nbytes] = array, calls
        narrow = aligned(nbytes // 2, bfloat16.numpy)
        found["all_reduce bfloat16", nbytes] = narrow, both("all_reduce", narrow)
    for nbytes in TINY:
        array = aligned(nbytes // 4)
        do = raw(backend.world, array, ranks)["all_reduce"] if nbytes // 4 >= ranks else None
        one = raw(backend.world, np.ones(ranks, np.float32), ranks)["all_reduce"]
        rows = both("all_reduce", array, MANY)
        calls = rows | {"mpi4py": partial(repeated, do or one)}
        found[f"{MANY} all_reduce", nbytes] = array, calls
    return {key: (x, {k: v for k, v in row.items() if v}) for key, (x, row) in found.items()}


def rotated(
    calls: list[tuple[str, CollectiveCall]], first: int
) -> list[tuple[str, CollectiveCall]]:
    """The calls from another one on.

    >>> [name for name, _ in rotated([("a", print), ("b", print), ("c", print)], 4)]
    ['b', 'c', 'a']
    """
    return [calls[(first + k) % len(calls)] for k in range(len(calls))]


def sample(backend: MpiBackend, array: np.ndarray, do: CollectiveCall) -> float:
    """The seconds of a call between two barriers, after what it sends was written."""
    array[...] = 1
    backend.world.Barrier()
    began = perf_counter()
    do()
    backend.world.Barrier()
    return perf_counter() - began


def beside(backend: MpiBackend) -> NodeBackend:
    """Connect the ranks a second time, through shared memory."""
    port = free_port() if backend.rank == 0 else None
    return NodeBackend(backend.rank, backend.size, Address("127.0.0.1", backend.world.bcast(port)))


def main(out: Path, peers: list[str], rounds: int) -> None:
    """Measure everything; the first rank writes it down."""
    backend = MpiBackend()
    here.settle(connect(DeviceMesh.of({AXIS: backend.size}), backend))
    here.settle(connect(DeviceMesh.of({NODE: backend.size}), beside(backend)))
    others = {name: runpy.run_module(PEERS[name]) for name in peers if name in PEERS}
    for peer in others.values():
        peer["join"](backend.rank, backend.size, backend.world)
    rows = []
    for (name, nbytes), (array, contenders) in cases(backend, others).items():
        times: dict[str, list[float]] = {key: [] for key in contenders}
        for k in range(rounds + 2):
            for key, do in rotated(list(contenders.items()), k):
                seconds = sample(backend, array, do)
                times[key] += [seconds] if k > 1 else []
        medians = {key: statistics.median(found) for key, found in times.items()}
        rows.append({"name": name, "nbytes": nbytes, "ranks": backend.size, "seconds": medians})
    if backend.rank == 0:
        about = MPI.Get_library_version().splitlines()[0]
        out.write_bytes(msgspec.json.encode({"rows": rows, "mpi": about}))
    backend.world.Barrier()


if __name__ == "__main__":
    main(Path(sys.argv[1]), list(filter(None, sys.argv[2].split(","))), int(sys.argv[3]))
