"""Threads whose transfers take wall time and no processor: to see what overlaps with computing.

A group has one wire, and transfers follow each other on it. A wait sleeps until its transfer could
have come.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from time import monotonic, sleep

from gnomon.runtime.comm.base import Transfer, pieces_of
from gnomon.runtime.comm.threads import ThreadBackend, ThreadLink, World

__all__ = ["SlowWorld", "Wire"]


@dataclass(frozen=True)
class Wire:
    """A simulated network: bytes per second, and latency in seconds."""

    bandwidth: float = 1e9
    latency: float = 2e-5

    def seconds(self, nbytes: int) -> float:
        """The time of a transfer.

        >>> Wire(1e6, 0.5).seconds(500_000)
        1.0
        """
        return self.latency + nbytes / self.bandwidth


class SlowWorld(World):
    """Ranks as threads, on a simulated network."""

    def __init__(self, size: int, wire: Wire, patience: float | None = None) -> None:
        super().__init__(size, patience)
        self.wire = wire

    def backend(self, rank: int) -> SlowBackend:
        """One rank's backend."""
        return SlowBackend(self, rank)


class SlowBackend(ThreadBackend):
    """One thread's end of a simulated world."""

    name = "slow"
    world: SlowWorld

    def group(self, name: str, members: tuple[int, ...], key: Hashable) -> SlowLink:
        """A group whose transfers take simulated time."""
        return SlowLink(self, name, members, key)


class SlowLink(ThreadLink):
    """One thread's end of a group with a simulated network."""

    backend: SlowBackend

    def __init__(
        self, backend: SlowBackend, name: str, ranks: tuple[int, ...], key: Hashable
    ) -> None:
        super().__init__(backend, name, ranks, key)
        self._free = 0.0
        self._arrives: dict[int, float] = {}

    def start(self, transfer: Transfer) -> None:
        """Send, and compute when the data would arrive over the simulated network."""
        super().start(transfer)
        sends = pieces_of(transfer, self.place, self.count).sends
        nbytes = sum(piece.nbytes for piece in sends if piece.peer != self.place)
        self._free = max(self._free, monotonic()) + self.backend.world.wire.seconds(nbytes)
        self._arrives[transfer.first] = self._free

    def is_done(self, transfer: Transfer) -> bool:
        """Whether all messages are here and their simulated arrival has passed."""
        return monotonic() >= self._arrives.get(transfer.first, 0.0) and super().is_done(transfer)

    def wait(self, transfer: Transfer) -> None:
        """Wait for a transfer, and sleep until its simulated arrival."""
        sleep(max(0.0, self._arrives.pop(transfer.first) - monotonic()))
        super().wait(transfer)
