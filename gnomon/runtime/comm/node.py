"""Ranks as processes of one node, which move bytes through memory that they share.

They meet by sockets, as tcp.py does, and say there what is not a program's: where they are, that
they end. Windows between each pair are one piece of memory without a name, which the first rank
makes and the others find in its process: nothing is left of it, whoever is killed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import secrets
import struct
from collections.abc import Hashable, Sequence
from functools import cache
from hashlib import sha256
from time import monotonic, sleep

from gnomon.errors import CollectiveError
from gnomon.runtime import cpu, device, linking, system
from gnomon.runtime.comm import node_native as native
from gnomon.runtime.comm import node_words, streams, waiting, watch
from gnomon.runtime.comm.base import (
    AWAITED,
    FAILED,
    KINDS,
    MOST_REQUESTS,
    START,
    WAIT,
    WORD,
    Link,
    Transfer,
    links_of_process,
    opened,
)
from gnomon.runtime.comm.fetching import WITHDRAWN
from gnomon.runtime.comm.tcp import LEFT, LOOK, Address, Connection, TcpBackend, TcpWorld
from gnomon.runtime.comm.threads import ThreadLink

__all__ = ["NodeBackend", "NodeLink"]

GONE = 1
"""The number of a failure: a rank has ended badly."""
TOKEN = 16
"""Bytes at the start of the memory that tell it from any other."""
PLACE = "=qq"
"""A process and an address, in bytes."""
NAP = 0.001
WINDOW = streams.RING + streams.RING_BYTES
TEST = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
FORGET = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
OWED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
SENDING = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


@cache
def entries() -> linking.Library:
    """The native functions that start transfers and wait for them."""
    code = cpu.compile_kernels([native.text_for(device.host())], device.host())
    return linking.link(code, native.ENTRIES)


class MemorySpan(ctypes.Structure):
    """The address and length of some bytes, as the system call takes them."""

    _fields_ = (("start", ctypes.c_void_p), ("nbytes", ctypes.c_size_t))


def read_memory(process: int, address: int, nbytes: int) -> bytes:
    """Read another process's memory; b"" where the system does not allow it."""
    found = ctypes.create_string_buffer(nbytes)
    read = getattr(ctypes.CDLL(None), "process_vm_readv", None)
    here, there = MemorySpan(ctypes.addressof(found), nbytes), MemorySpan(address, nbytes)
    if read is None or read(process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != nbytes:
        return b""
    return found.raw


class NodeWorld(TcpWorld):
    """One process's connections with the others of the node, and their failures."""

    leaving = False

    def _read(self, rank: int, peer: Connection) -> None:
        """Receive from a rank until it leaves; then fail transfers that still wait for it."""
        super()._read(rank, peer)
        while not self.leaving and not self.failure:
            if any(link.owed(rank) for link in links_of_process() if isinstance(link, NodeLink)):
                self.fail(rank, EOFError(LEFT))
            sleep(LOOK)

    def leave(self, patience: float | None = None) -> None:
        """Stop listening, and disconnect together with the other ranks."""
        self.leaving = True
        super().leave(patience)

    def fail(self, rank: int, cause: BaseException) -> None:
        """Record a failure, and wake threads that wait in native code as well."""
        super().fail(rank, cause)
        for link in links_of_process():
            link.block[FAILED] = link.block[FAILED] or GONE


class NodeBackend(TcpBackend):
    """One process among those of a node."""

    name = "node"
    native = tuple((kind, "windows in shared memory") for kind in KINDS)
    world: NodeWorld
    world_of = NodeWorld

    def __init__(self, rank: int, size: int, first: Address, patience: float | None = None) -> None:
        self.process = (ctypes.c_int64 * (streams.FIRST_PEER + streams.PEER_WORDS * size))()
        super().__init__(rank, size, first, patience)
        control = ThreadLink(self, self.name, tuple(range(size)), (tuple(range(size)), 0))
        self._shared = self._mapped(control)
        readable = self._readable(control)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._shared)) + mmap.PAGESIZE
        self.process[streams.PEER_COUNT] = size
        for peer in range(size):
            words = streams.FIRST_PEER + streams.PEER_WORDS * peer
            self.process[words + streams.OUT] = base + WINDOW * (rank * size + peer)
            self.process[words + streams.IN] = base + WINDOW * (peer * size + rank)
            self.process[words + streams.PEER_PROCESS] = readable[peer]

    def _readable(self, control: ThreadLink) -> list[int]:
        """The process ids of all ranks; zeros unless each may read every other's memory."""
        mark = ctypes.create_string_buffer(secrets.token_bytes(TOKEN), TOKEN)
        words = os.getpid(), ctypes.addressof(mark)
        places = [struct.unpack(PLACE, x) for x in control.tell(struct.pack(PLACE, *words))]
        marks = control.tell(mark.raw)
        pairs = zip(places, marks, strict=True)
        may = all(read_memory(*place, TOKEN) == found for place, found in pairs)
        if not all(answer == b"yes" for answer in control.tell(b"yes" if may else b"no")):
            return [0] * self.size
        return [0 if k == self.rank else process for k, (process, _) in enumerate(places)]

    def _mapped(self, control: ThreadLink) -> mmap.mmap:
        """The memory that all ranks share."""
        nbytes = mmap.PAGESIZE + WINDOW * self.size**2
        made, own = (-1, b"") if self.rank else self._memory(nbytes)
        path, token = control.tell(own)[0].rsplit(b"\0", 1)
        try:
            found = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                shared = mmap.mmap(found, nbytes)
            finally:
                os.close(found)
            if shared[:TOKEN] != token:
                raise OSError("other memory is at this path")
        except (OSError, ValueError) as cause:
            raise CollectiveError(
                f"node: rank {self.rank} does not reach rank 0's memory: {cause}. Start all ranks "
                'on one machine, as one user, or use "mpi" or "tcp".'
            ) from None
        control.tell(b"")
        if made >= 0:
            os.close(made)
        return shared

    def _memory(self, nbytes: int) -> tuple[int, bytes]:
        """Create the shared memory: its descriptor, and its path and token for the other ranks."""
        if not hasattr(os, "memfd_create"):
            raise CollectiveError('node: this system has no memfd_create. Use "mpi" or "tcp".')
        made, token = os.memfd_create("gnomon"), secrets.token_hex(TOKEN // 2).encode()
        os.truncate(made, nbytes)
        os.pwrite(made, token, 0)
        return made, f"/proc/{os.getpid()}/fd/{made}\0".encode() + token

    def group(self, name: str, members: tuple[int, ...], key: Hashable) -> NodeLink:
        """The end of a group with this key."""
        return NodeLink(self, name, members, key)

    def close(self, patience: float | None = None) -> None:
        """Send pending messages, and leave with the others."""
        if self in opened:
            self._flush(self.world.patience if patience is None else patience)
        super().close(patience)

    def _flush(self, patience: float) -> None:
        """Send until no message is left that another rank may still receive."""
        sending = SENDING(entries().addresses["node_sending"])
        process, end = ctypes.addressof(self.process), monotonic() + patience
        while monotonic() < end and not self.world.failure:
            there = [k for k in range(self.size) if k not in self.world.left]
            if not any([sending(process, k) for k in there]):
                return
            sleep(NAP)


class NodeLink(Link):
    """One process's end of a group."""

    words = node_words.WORDS

    def __init__(
        self, backend: NodeBackend, name: str, ranks: Sequence[int], key: Hashable
    ) -> None:
        super().__init__(name, ranks, list(ranks).index(backend.rank))
        self.backend = backend
        self._talk = ThreadLink(backend, name, tuple(ranks), key)
        self._requests = (ctypes.c_int64 * MOST_REQUESTS)()
        block, found = self.block, entries().addresses
        block[START], block[WAIT] = found["node_start"], found["node_wait"]
        block[waiting.REQUESTS] = ctypes.addressof(self._requests)
        waiting.write_waiting(self, backend.world.patience, backend.size > system.usable_cores())
        process = block[node_words.PROCESS] = ctypes.addressof(backend.process)
        # no key is negative: that of no message is
        block[node_words.GROUP_KEY] = (
            int.from_bytes(sha256(repr(key).encode()).digest()[:8], "big") >> 1
        )
        places = [process + 8 * (streams.FIRST_PEER + streams.PEER_WORDS * k) for k in self.ranks]
        self._peers = (ctypes.c_int64 * self.count)(*places)
        block[node_words.PEERS] = ctypes.addressof(self._peers)
        if backend.world.failure:
            block[FAILED] = GONE

    @property
    def numbers_at(self) -> int:
        """The address of the first request."""
        return ctypes.addressof(self._requests)

    def tell(self, message: bytes) -> list[bytes]:
        """Exchange bytes by sockets, apart from programs' transfers."""
        self._talk.talk = self.talk
        try:
            return self._talk.tell(message)
        finally:
            self._talk.talk = None

    def is_done(self, transfer: Transfer) -> bool:
        """Whether all messages of a transfer are complete."""
        test = TEST(entries().addresses["node_test"])
        return bool(test(self.address, self.numbers_at + 8 * transfer.first))

    def failure(self) -> CollectiveError | None:
        """The error of a timeout, of a rank that ended, or of ranks that differ; None if none."""
        self._forget()
        world, here = self.backend.world, f"rank {self.backend.rank}: "
        along = f"along mesh axis {self.name!r}"
        if self.block[FAILED] == native.MISMATCH:
            came, wanted = self.block[node_words.CAME], self.block[node_words.WANTED]
            return CollectiveError(
                f"{here}{along} another rank sends {came} bytes where {wanted} are received. "
                "Look for a rank that runs another program."
            )
        if self.block[FAILED] == native.REFUSED and self.block[node_words.CAME] == WITHDRAWN:
            return CollectiveError(
                f"{here}{along} another rank gave up what is received here. Look at what it raised."
            )
        if self.block[FAILED] == native.REFUSED:
            return CollectiveError(
                f"{here}{along} memory of another rank can't be read: "
                f"{os.strerror(self.block[node_words.CAME])}. Use "
                '"mpi" or "tcp".'
            )
        if self.block[FAILED] == GONE and world.failure:
            rank, cause = world.failure
            return CollectiveError(
                f"{here}gave up {along} because rank {rank} failed: {type(cause).__name__}: {cause}"
            )
        what = self.waiting(precise=True) or WORD
        return CollectiveError(
            f"{here}no answer {along} within {world.patience:g} s: {what}.{watch.table()}\n"
            "Look for a rank that is somewhere else."
        )

    def close(self) -> None:
        """Close the group; the memory of its messages is not accessed any more."""
        self._forget()
        self._talk.close()
        self.block[FAILED] = GONE

    def owed(self, rank: int) -> bool:
        """Whether the transfer that is waited for may include a message with this rank."""
        if rank not in self.ranks or not self.block[AWAITED]:
            return False
        owed = OWED(entries().addresses["node_owed"])
        return bool(owed(self.block[node_words.PROCESS], rank, self.block[node_words.GROUP_KEY]))

    def _forget(self) -> None:
        """Cancel all transfers of the group."""
        forget = FORGET(entries().addresses["node_forget"])
        forget(self.block[node_words.PROCESS], self.block[node_words.GROUP_KEY])
