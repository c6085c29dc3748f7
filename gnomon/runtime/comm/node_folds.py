"""Folds of what the ranks of a node send each other, as IR text.

A large message is read out of its sender's memory, a piece of every rank at a time, and folded
while it is in the caches; smaller ones have come through the windows.
"""

from __future__ import annotations

import errno
from collections.abc import Callable

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.comm import base
from gnomon.runtime.comm.fetching import WITHDRAWN, answer, read, refuse, still_valid
from gnomon.runtime.comm.node_words import PROCESS, lock, messages_of, peer_at, unlock
from gnomon.runtime.comm.streams import (
    DIRECT,
    HELD,
    KIND,
    LEAST_FOLDED,
    MESSAGE_BYTES,
    MOVED,
    NBYTES,
    PEER_PROCESS,
    SOURCE,
    leave,
    put,
    put_pointer,
)
from gnomon.runtime.comm.waiting import COUNT, PLACE, YIELD_AFTER
from gnomon.runtime.native import private, word

__all__ = ["rows_of", "scratch_for", "write_arrived", "write_fold"]

PIECE = 64 << 10
"""Bytes of each rank that are folded at a time."""


def scratch_for(e: Emitter, group: str, nbytes: str) -> str:
    """The scratch size of a fold: its rows' addresses, and a row for each rank."""
    count = word(e, group, COUNT)
    return e.mul(count, e.add(row_of(e, group, nbytes), 8))


def row_of(e: Emitter, group: str, nbytes: str) -> str:
    """The bytes of a row: a piece if senders' memory can be read, else the whole message."""
    beside = e.value(f"urem i64 {e.add(word(e, group, PLACE), 1)}, {word(e, group, COUNT)}")
    readable = e.value(f"icmp ne i64 {word(e, peer_at(e, group, beside), PEER_PROCESS)}, 0")
    large = e.value(f"icmp sge i64 {nbytes}, {LEAST_FOLDED}")
    direct = e.value(f"and i1 {large}, {readable}")
    return e.value(f"select i1 {direct}, i64 {e.least(nbytes, PIECE)}, i64 {nbytes}")


def rows_of(e: Emitter, group: str, listed: str, nbytes: str) -> tuple[str, str]:
    """The size of a row, and the address of the first; the addresses of all stand before it."""
    before = e.add(e.mul(word(e, listed, 0), MESSAGE_BYTES), 8)
    first = e.add(before, e.mul(word(e, group, COUNT), 8))
    return row_of(e, group, nbytes), e.offset(listed, first)


def is_direct(e: Emitter, message: str) -> str:
    """Whether a message is read directly from its sender's memory."""
    shown = e.value(f"icmp eq i64 {word(e, message, MOVED)}, 0")
    direct = e.value(f"icmp eq i64 {word(e, message, KIND)}, {DIRECT}")
    return e.value(f"and i1 {shown}, {direct}")


def write_arrived(module: LLVMModule) -> None:
    """Define `arrived`: whether all messages that a transfer folds are here or readable."""
    e = private(module, "arrived", ("ptr", "group"), ("ptr", "listed"), returns="i1")
    # `finished` reports messages of other sizes, and those that were given up
    e.call("i1", "finished", ("ptr", "%group"), ("ptr", "%listed"))

    def one(k: str, left: str) -> list[str]:
        message = messages_of(e, "%listed")(k)
        moved, nbytes = (word(e, message, index) for index in (MOVED, NBYTES))
        came = e.value(f"icmp eq i64 {moved}, {nbytes}")
        there = e.value(f"or i1 {came}, {is_direct(e, message)}")
        return [e.value(f"and i1 {left}, {there}")]

    # what is received stands before what is sent
    (there,) = e.loop(0, word(e, "%listed", 0), 2, one, [("i1", "true")])
    e.ret(f"i1 {there}")


def write_bring(module: LLVMModule) -> None:
    """Define `bring`, which reads a piece of a message from its sender; returns if it is here."""
    given = ("ptr", "group"), ("ptr", "peer"), ("ptr", "message"), ("ptr", "row")
    e = private(module, "bring", *given, ("i64", "start"), ("i64", "nbytes"), returns="i1")
    e.do(f"br i1 {is_direct(e, '%message')}, label %read, label %here")
    e.label("here")
    came = e.value(f"icmp eq i64 {word(e, '%message', MOVED)}, {word(e, '%message', NBYTES)}")
    e.ret(f"i1 {came}")
    e.label("read")
    to = e.value("ptrtoint ptr %row to i64")
    found = read(e, to, e.add(word(e, "%message", SOURCE), "%start"), "%nbytes")
    whole = e.value(f"icmp eq i64 {found}, %nbytes")
    e.do(f"br i1 {whole}, label %done, label %failed")
    e.label("failed")
    number = e.load(e.call("ptr", "__errno_location"), "i32", 4)
    cut = e.value(f"icmp sge i64 {found}, 0")
    number = e.value(f"select i1 {cut}, i32 {errno.EFAULT}, i32 {number}")
    process = word(e, "%group", PROCESS, "ptr")
    lock(e, process, word(e, "%group", YIELD_AFTER))
    refuse(e, e.offset("%peer", 8 * HELD), "%message", number)
    unlock(e, process)
    e.ret("i1 false")
    e.label("done")
    e.ret("i1 true")


def write_end(module: LLVMModule) -> None:
    """Define `end_fold`, which tells a peer that its message was folded, unless it was canceled."""
    e = private(module, "end_fold", ("ptr", "peer"), ("ptr", "message"))
    still = e.value("alloca i64, align 8")
    held = e.offset("%peer", 8 * HELD)

    def end() -> None:
        was_read, valid = still_valid(e, still, "%message", word(e, "%message", SOURCE))
        e.when(e.value(f"and i1 {was_read}, {valid}"), thank)
        e.when(e.value(f"xor i1 {valid}, true"), withdrawn)

    def thank() -> None:
        put(e, word(e, "%message", NBYTES), "%message", MOVED)
        leave(e, held, "%message")
        answer(e, "%peer", "%message")

    def withdrawn() -> None:
        refuse(e, held, "%message", str(WITHDRAWN))

    e.when(is_direct(e, "%message"), end)
    e.ret()


def write_fold(module: LLVMModule) -> None:
    """Define `fold_here`, which folds all ranks' rows, piece by piece, and tells their senders."""
    write_bring(module)
    write_end(module)
    e = private(module, "fold_here", ("ptr", "group"), ("ptr", "slots"), ("ptr", "listed"))
    place, count = word(e, "%group", PLACE), word(e, "%group", COUNT)
    nbytes, fold = word(e, "%slots", base.NBYTES), word(e, "%slots", base.WORDS, "ptr")
    receive, send = (word(e, "%slots", k, "ptr") for k in (base.RECEIVE, base.SEND))
    row, rows = rows_of(e, "%group", "%listed", nbytes)
    places = e.offset(rows, e.mul(count, -8))
    own = e.offset(send, e.mul(place, nbytes))
    process = word(e, "%group", PROCESS, "ptr")

    def other(d: str) -> tuple[str, str, str]:
        source = e.value(f"urem i64 {e.add(place, e.sub(count, d))}, {count}")
        message = messages_of(e, "%listed")(e.mul(e.sub(d, 1), 2))
        return source, peer_at(e, "%group", source), message

    def piece(start: str, readable: str) -> list[str]:
        size = e.least(row, e.sub(nbytes, start))

        def bring(d: str, there: str) -> list[str]:
            source, peer, message = other(d)
            at = e.offset(rows, e.mul(source, row))
            put_pointer(e, at, e.offset(places, e.mul(source, 8)))
            ends = ("ptr", "%group"), ("ptr", peer), ("ptr", message), ("ptr", at)
            came = e.call("i1", "bring", *ends, ("i64", start), ("i64", size))
            return [e.value(f"and i1 {there}, {came}")]

        # a piece that could not be read is reported: nothing is read after it
        last = e.value(f"select i1 {readable}, i64 {count}, i64 1")
        (there,) = e.loop(1, last, 1, bring, [("i1", readable)])
        put_pointer(e, e.offset(own, start), e.offset(places, e.mul(place, 8)))
        given = f"ptr {e.offset(receive, start)}, ptr {places}, i64 {size}"
        e.when(there, lambda: e.do(f"call void {fold}({given})"))
        move(lambda: None)
        return [there]

    def move(before: Callable[[], object]) -> None:
        lock(e, process, word(e, "%group", YIELD_AFTER))
        before()
        e.call("i64", "progress", ("ptr", process))
        unlock(e, process)

    def end(d: str) -> None:
        _, peer, message = other(d)
        e.call("void", "end_fold", ("ptr", peer), ("ptr", message))

    e.loop(0, nbytes, row, piece, [("i1", "true")])
    # answers go out at once: nobody else may send them
    move(lambda: e.loop(1, count, 1, end))
    e.ret()
