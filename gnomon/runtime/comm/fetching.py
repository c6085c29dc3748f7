"""Large messages of ranks of a node, which are read from where they lie, as IR text.

A sender that gives a message up takes its place out of its own words; who has read it looks there
once more, for what was read may have been something else by then.
"""

from __future__ import annotations

import errno

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.comm.streams import (
    ADDRESS,
    ANSWER,
    FETCHED,
    KIND,
    MESSAGE_BYTES,
    MOVED,
    NBYTES,
    NUMBER,
    PEER_PROCESS,
    SENDS,
    SOURCE,
    UNREADABLE,
    append,
    fill,
    is_null,
    is_zero,
    leave,
    put,
    return_zero_if,
    unlink,
)
from gnomon.runtime.native import private, word

__all__ = ["WITHDRAWN", "answer", "read", "refuse", "still_valid", "write_fetch", "write_read"]

FETCH = 1 << 20
"""Bytes that are fetched at a time."""
PASSING = errno.ESRCH, errno.EINTR, errno.EAGAIN
"""Errors of a read that are no answer: of a process that has ended its connection tells."""
WITHDRAWN = errno.ECANCELED
"""The error of a message that its sender gave up, whose memory may hold anything by now."""


def write_read(module: LLVMModule) -> None:
    """Define `read_peer`, which reads a peer's memory: gives the bytes read, or -1."""
    given = ("ptr", "peer"), ("i64", "to"), ("i64", "source"), ("i64", "nbytes")
    e = private(module, "read_peer", *given, returns="i64")
    here, there = (e.value("alloca [2 x i64], align 8") for _ in range(2))
    for place, start in ((here, "%to"), (there, "%source")):
        put(e, start, place, 0)
        put(e, "%nbytes", place, 1)
    process = e.value(f"trunc i64 {word(e, '%peer', PEER_PROCESS)} to i32")
    spans = ("ptr", here), ("i64", "1"), ("ptr", there), ("i64", "1"), ("i64", "0")
    e.ret(f"i64 {e.call('i64', 'process_vm_readv', ('i32', process), *spans)}")


def read(e: Emitter, to: str, source: str, nbytes: str | int) -> str:
    """Emit a call of `read_peer`; gives the number of bytes read, or -1."""
    given = ("ptr", "%peer"), ("i64", to), ("i64", source), ("i64", str(nbytes))
    return e.call("i64", "read_peer", *given)


def write_fetch(module: LLVMModule) -> None:
    """Define `fetch`, which reads one round of a message from its sender; returns if it did."""
    e = private(module, "fetch", ("ptr", "peer"), returns="i64")
    still = e.value("alloca i64, align 8")
    fetched = e.offset("%peer", 8 * FETCHED)
    message = e.load(fetched, "ptr", 8)
    return_zero_if(e, is_null(e, message))
    moved, source, address = (word(e, message, k) for k in (MOVED, SOURCE, ADDRESS))
    nbytes = e.least(e.sub(word(e, message, NBYTES), moved), FETCH)
    # what was given up here has no place
    gone = e.value(f"or i1 {is_zero(e, address)}, {is_zero(e, source)}")
    before = e.block
    e.do(f"br i1 {gone}, label %on, label %read")
    e.label("read")
    came = read(e, e.add(address, moved), e.add(source, moved), nbytes)
    number = e.load(e.call("ptr", "__errno_location"), "i32", 4)
    some = e.value(f"icmp sgt i64 {came}, 0")
    number = e.value(f"select i1 {some}, i32 {errno.EAGAIN}, i32 {number}")
    was_read, valid = still_valid(e, still, message, source)
    number = e.value(f"select i1 {valid}, i32 {number}, i32 {WITHDRAWN}")
    some = e.value(f"and i1 {some}, {was_read}")
    e.do(f"br i1 {e.value(f'and i1 {some}, {valid}')}, label %on, label %refused")
    e.label("refused")
    refuse(e, fetched, message, number)
    e.ret("i64 0")
    e.label("on")
    found = e.value(f"phi i64 [{nbytes}, %{before}], [{came}, %read]")
    now = e.add(moved, found)
    put(e, now, message, MOVED)

    def end() -> None:
        unlink(e, fetched, message)
        answer(e, "%peer", message)

    e.when(e.value(f"icmp eq i64 {now}, {word(e, message, NBYTES)}"), end)
    e.ret("i64 1")


def still_valid(e: Emitter, place: str, message: str, source: str) -> tuple[str, str]:
    """Emit whether a sender's word was read, and whether its message is still valid.

    The word holds the message's address; a sender that cancels the message clears it.
    """
    e.store(source, place, "i64", 8)
    # the word is read after the message, on processors that would do either first
    e.settle()
    at = e.add(word(e, message, NUMBER), 8 * SOURCE)
    nbytes = read(e, e.value(f"ptrtoint ptr {place} to i64"), at, 8)
    valid = e.value(f"icmp eq i64 {e.load(place, 'i64', 8)}, {source}")
    return e.value(f"icmp eq i64 {nbytes}, 8"), valid


def answer(e: Emitter, peer: str, message: str) -> None:
    """Emit the answer to a peer that its message has been read."""
    made = e.call("ptr", "malloc", ("i64", str(MESSAGE_BYTES)))
    fill(e, made, "null", "0", "-2", "0")
    put(e, ANSWER, made, KIND)
    put(e, word(e, message, NUMBER), made, NUMBER)
    append(e, e.offset(peer, 8 * SENDS), made)


def refuse(e: Emitter, listed: str, message: str, number: str) -> None:
    """Emit the end of a message that cannot be read, unless the system's error is temporary."""
    passes = "false"
    for each in PASSING:
        passes = e.value(f"or i1 {passes}, {e.value(f'icmp eq i32 {number}, {each}')}")

    def give_up() -> None:
        leave(e, listed, message)
        put(e, UNREADABLE, message, KIND)
        put(e, e.sub(-2, e.value(f"zext i32 {number} to i64")), message, MOVED)

    e.when(e.value(f"xor i1 {passes}, true"), give_up)
