"""Words that the blocks of native groups share, and the loop of a wait, as IR text.

What runs waits by asking again and again, giving the core away in between, so that a failure
elsewhere and the end of patience are seen.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import Emitter
from gnomon.runtime.comm import base
from gnomon.runtime.comm.base import Link
from gnomon.runtime.native import BRIEF, word

__all__ = [
    "LATE",
    "REFUSED",
    "group_of",
    "request_of",
    "store_number",
    "wait_until",
    "write_waiting",
]

# the words of a group's block, after those of every backend; a backend's own follow
REQUESTS, PATIENCE, YIELD_AFTER, PLACE, COUNT, OWN = range(base.OWN, base.OWN + 6)

LATE, REFUSED = 2, 16
"""Codes of failures: a timeout; from 16 on, MPI's own code plus 16."""
LOOKS = 255
"""After so many looks in vain, and one, the clock is read."""


def write_waiting(link: Link, patience: float, crowded: bool) -> None:
    """Write a group's index, size, timeout and way of waiting into its block."""
    block = link.block
    block[PATIENCE] = round(1e9 * patience)
    block[YIELD_AFTER] = 0 if crowded else BRIEF
    block[PLACE], block[COUNT] = link.place, link.count


def group_of(e: Emitter) -> str:
    """Emit a load of a call's group; the call returns at once if the group has failed."""
    group = word(e, "%slots", base.GROUP, "ptr")
    failed = e.value(f"icmp ne i64 {word(e, group, base.FAILED)}, 0")
    e.do(f"br i1 {failed}, label %end, label %begin")
    e.label("end")
    e.ret()
    e.label("begin")
    return group


def store_number(e: Emitter, group: str, at: int) -> None:
    """Emit a store of the transfer's number, plus 1, into a word of the group for messages."""
    e.store(e.add(word(e, "%slots", base.FIRST), 1), e.offset(group, 8 * at), "i64", 8)


def request_of(e: Emitter, group: str) -> str:
    """The address of the first request of a call's transfer."""
    first = e.mul(word(e, "%slots", base.FIRST), 8)
    return e.offset(word(e, group, REQUESTS, "ptr"), first)


def wait_until(e: Emitter, group: str, done: Callable[[], str], name: str) -> None:
    """Emit a loop until `done`; the function returns if the group fails or the timeout passes."""
    brief = word(e, group, YIELD_AFTER)
    end = e.add(e.call("i64", "now"), word(e, group, PATIENCE))
    before = e.block
    e.do(f"br label %{name}_look")
    e.label(f"{name}_look")
    tries = e.value(f"phi i64 [0, %{before}], [%{name}_more, %{name}_again]")
    e.do(f"br i1 {done()}, label %{name}_done, label %{name}_retry")
    e.label(f"{name}_retry")
    e.call("void", "relax", ("i64", tries), ("i64", brief))
    failed = e.value(f"icmp ne i64 {word(e, group, base.FAILED)}, 0")
    e.do(f"br i1 {failed}, label %{name}_leave, label %{name}_still")
    e.label(f"{name}_still")
    low = e.value(f"and i64 {tries}, {LOOKS}")
    asks = e.value(f"icmp eq i64 {low}, {LOOKS}")
    e.do(f"br i1 {asks}, label %{name}_clock, label %{name}_again")
    e.label(f"{name}_clock")
    late = e.value(f"icmp sgt i64 {e.call('i64', 'now')}, {end}")
    e.do(f"br i1 {late}, label %{name}_late, label %{name}_again")
    e.label(f"{name}_late")
    e.store(str(LATE), e.offset(group, 8 * base.FAILED), "i64", 8)
    e.do(f"br label %{name}_leave")
    e.label(f"{name}_leave")
    e.ret()
    e.label(f"{name}_again")
    e.do(f"%{name}_more = add i64 {tries}, 1")
    e.do(f"br label %{name}_look")
    e.label(f"{name}_done")
