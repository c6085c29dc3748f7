"""Ranks as processes that MPI connects: the backend of launched programs.

MPI is found and started by mpi4py; from then on its own functions are called from native code.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from time import monotonic, sleep
from typing import Any

import numpy as np

from gnomon.errors import CollectiveError
from gnomon.lazy import Lazy
from gnomon.runtime import cpu, device, linking, system
from gnomon.runtime.comm import mpi_native as native
from gnomon.runtime.comm import waiting, watch
from gnomon.runtime.comm.base import (
    FAILED,
    MOST_REQUESTS,
    START,
    WAIT,
    WORD,
    Backend,
    Link,
    Transfer,
    UnderWay,
    opened,
    requests_of,
)
from gnomon.runtime.comm.board import Board
from gnomon.settings import current

__all__ = ["MpiBackend", "MpiLink"]

MISSING = (
    "mpi: {}. Install `pip install mpi4py mpich`, or load your cluster's MPI and "
    "`pip install mpi4py`."
)
AWAKE, LONGEST_NAP = 0.001, 0.005
"""Seconds for which a rank looks without pause outside of programs, and the longest pause then."""
STATUS_BYTES = 64
"""Room for the status of a request, in any implementation."""


FORGET = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ASK = ctypes.CFUNCTYPE(ctypes.c_int, *3 * [ctypes.c_void_p])
"""MPI_Test: takes the places of a request, a flag and a status."""
MPI = Lazy("mpi4py.MPI")
"""mpi4py's module; it starts MPI as it loads."""


@cache
def functions() -> list[int]:
    """The addresses of MPI's functions, in the library that mpi4py uses."""
    library = ctypes.CDLL(MPI.__file__)
    return [
        ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in native.FUNCTIONS
    ]


@cache
def entries() -> linking.Library:
    """The native functions that start transfers, wait for them, and free what folds keep."""
    code = cpu.compile_kernels([native.text_for(device.host())], device.host())
    return linking.link(code, ["mpi_start", "mpi_wait", "mpi_forget"])


_left: list[UnderWay] = []
"""Transfers of closed groups that were not complete."""


class MpiBackend(Backend):
    """One process among those that MPI launched."""

    name = "mpi"
    native = (
        ("gather", "MPI_Iallgather"),
        ("exchange", "MPI_Ialltoall"),
        ("shift", "MPI_Isend and MPI_Irecv"),
        ("messages", "MPI_Isend and MPI_Irecv"),
        ("fold", "MPI_Isend, MPI_Irecv and a fold"),
    )

    def __init__(self, patience: float | None = None) -> None:
        try:
            self.world = MPI.COMM_WORLD
        except (ImportError, RuntimeError) as cause:
            raise CollectiveError(MISSING.format(cause)) from None
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.patience = current().patience if patience is None else patience
        shared = self.world.Split_type(MPI.COMM_TYPE_SHARED)
        self.beside, self.number_beside = shared.Get_size(), shared.Get_rank()
        """The number of ranks of this machine, and this one's number among them."""
        shared.Free()
        self._watch()
        opened.append(self)

    def _watch(self) -> None:
        """Connect with the launcher's server of rank states, or with one of the first rank."""
        known = watch.of_process()
        address = known.address if known else ""
        if self.rank == 0 and self.size > 1 and not known:
            address = Board(platform.node() if self.beside < self.size else "127.0.0.1").address
        address = self.world.bcast(address)
        if address:
            watch.begin(address, self.rank, self.size)

    def link(self, name: str, ranks: Sequence[int]) -> MpiLink:
        """Make this rank's end of a new group."""
        group = self.world.Get_group().Incl(list(ranks))
        comm = self.world.Create_group(group)
        group.Free()
        return MpiLink(self, name, ranks, comm)

    def abort(self, cause: BaseException) -> None:
        """End the whole job."""
        sys.stderr.flush()
        self.world.Abort(1)

    def close(self) -> None:
        """Wait for all ranks, and leave MPI."""
        if self not in opened or MPI.Is_finalized():
            return
        opened.remove(self)
        end = self.world.Ibarrier()
        while not end.Test():
            sleep(LONGEST_NAP)
        MPI.Finalize()

    def settle(self, request: Any, what: Callable[[], str], name: str) -> None:
        """Wait for a request by polling, later with pauses, and at most for the timeout."""
        began, nap = monotonic(), 0.0
        while not request.Test():
            passed = monotonic() - began
            if passed > self.patience:
                raise CollectiveError(self.nobody(name, what()))
            nap = min(LONGEST_NAP, passed / 8) if passed > AWAKE else 0.0
            sleep(nap)

    def nobody(self, name: str, what: str) -> str:
        """The error message of a timeout, with the states of all ranks."""
        return (
            f"rank {self.rank}: no answer along mesh axis {name!r} within {self.patience:g} s: "
            f"{what or WORD}.{watch.table()}\nLook for a rank that is somewhere else."
        )


class MpiLink(Link):
    """One process's end of a communicator."""

    words = native.WORDS

    def __init__(self, backend: MpiBackend, name: str, ranks: Sequence[int], comm: Any) -> None:
        super().__init__(name, ranks, comm.Get_rank())
        self.backend, self.comm = backend, comm
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self._own: Any = None
        self._requests = (ctypes.c_int64 * MOST_REQUESTS)()
        self._status = (ctypes.c_char * (STATUS_BYTES + 8))()
        block, place = self.block, ctypes.addressof
        found = entries().addresses
        block[START], block[WAIT] = found["mpi_start"], found["mpi_wait"]
        block[native.COMM] = MPI._handleof(comm)
        block[native.BYTE] = MPI._handleof(MPI.BYTE)
        block[waiting.REQUESTS], block[native.STATUS] = place(self._requests), place(self._status)
        block[native.FLAG] = place(self._status) + STATUS_BYTES
        waiting.write_waiting(self, backend.patience, backend.beside > system.usable_cores())
        for k, address in enumerate(functions()):
            block[native.CALLED + k] = address

    @property
    def numbers_at(self) -> int:
        """The address of the group's first request."""
        return ctypes.addressof(self._requests)

    def is_done(self, transfer: Transfer) -> bool:
        """Whether all of a transfer's MPI requests are complete."""
        flag, first = ctypes.c_int(), self.numbers_at + 8 * transfer.first
        test = ASK(functions()[native.FUNCTIONS.index("MPI_Test")])
        for k in range(requests_of(transfer, self.count)):
            test(first + 8 * k, ctypes.addressof(flag), ctypes.addressof(self._status))
            if not flag.value:
                return False
        return True

    def tell(self, message: bytes) -> list[bytes]:
        """Exchange bytes in a separate communicator, apart from programs' transfers."""
        about = partial(self.waiting, True)
        if self._own is None:
            self._own, made = self.comm.Idup()
            self.backend.settle(made, about, self.name)
        sizes = np.zeros(self.count, np.int64)
        given = np.array([len(message)], np.int64)
        self.backend.settle(self._own.Iallgather(given, sizes), about, self.name)
        found = np.empty(int(sizes.sum()), np.uint8)
        starts = np.cumsum(sizes) - sizes
        whole = [found, sizes, starts, MPI.BYTE]
        sent = np.frombuffer(message, np.uint8)
        self.backend.settle(self._own.Iallgatherv(sent, whole), about, self.name)
        return [found[k : k + n].tobytes() for k, n in zip(starts, sizes, strict=True)]

    def failure(self) -> CollectiveError | None:
        """The error of a timeout, or of a call that MPI refused; None if there is none."""
        if self.block[FAILED] < waiting.REFUSED:
            return CollectiveError(self.backend.nobody(self.name, self.waiting(precise=True)))
        why = MPI.Get_error_string(self.block[FAILED] - waiting.REFUSED)
        return CollectiveError(
            f"rank {self.backend.rank}: along mesh axis {self.name!r} MPI refused "
            f"{self.waiting(precise=True) or self.latest(precise=True)}: {why}.{watch.table()}"
        )

    def close(self) -> None:
        """Free the communicator, but not memory that MPI may still write to."""
        if not MPI.Is_finalized():
            _left.extend(each for each in self.under_way if not each.is_done())
            self.comm.Free()
            if self._own is not None:
                self._own.Free()
        if not self.block[FAILED]:  # else a message may yet come into what is kept
            FORGET(entries().addresses["mpi_forget"])(self.address)
        self.block[FAILED] = 1
