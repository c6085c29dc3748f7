"""Words and locks of the groups of a node's ranks, as IR text: what transfers and folds share."""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import Emitter
from gnomon.runtime.comm import waiting
from gnomon.runtime.comm.streams import LOCK, MESSAGE_BYTES, is_zero
from gnomon.runtime.native import wait_until, word

__all__ = ["CAME", "GROUP_KEY", "PEERS", "PROCESS", "WANTED", "WORDS"]

# the words of a group's block: the process, its own number, two numbers of an error, and where the
# places of its peers stand
PROCESS, GROUP_KEY, CAME, WANTED, PEERS, WORDS = range(waiting.OWN, waiting.OWN + 6)


def peer_at(e: Emitter, group: str, place: str) -> str:
    """The address of the block of the peer at a place of a group."""
    return e.load(e.offset(word(e, group, PEERS, "ptr"), e.mul(place, 8)), "ptr", 8)


def messages_of(e: Emitter, listed: str) -> Callable[[str], str]:
    """The function that gives the address of a transfer's k-th message."""
    return lambda k: e.offset(listed, e.add(e.mul(k, MESSAGE_BYTES), 8))


def lock(e: Emitter, process: str, brief: str) -> None:
    """Emit a wait for the process's lock: one thread at a time moves messages."""
    at = e.offset(process, 8 * LOCK)
    take = f"atomicrmw xchg ptr {at}, i64 1 acquire, align 8"
    wait_until(e, brief, lambda: is_zero(e, e.value(take)))


def unlock(e: Emitter, process: str) -> None:
    """Release a process's lock."""
    e.do(f"store atomic i64 0, ptr {e.offset(process, 8 * LOCK)} release, align 8")
