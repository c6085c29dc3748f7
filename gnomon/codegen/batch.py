"""One call over the buffers of many: its members, cut into pieces that threads share.

What a batch is given in its slots is a table: how many members there are and their bytes in all;
then for each member what stands in Entry; then the slots of the members. A thread takes the pieces
that begin in its part of the bytes. Members are independent of each other, and a kernel's result
does not depend on how it is cut, so neither does a batch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from gnomon.codegen.emitter import KERNEL, Emitter, LLVMModule
from gnomon.codegen.loops import Code
from gnomon.ir.memo import memo

PIECE = 1 << 18
"""Bytes of a piece: little beside a thread's part of a large batch, much beside a call."""
SYMBOL = "batch"
HEAD, ENTRY = 2, 5
"""Words of the table before its entries, and of an entry."""


@dataclass(frozen=True)
class Member:
    """A member of a batch: its function, the bytes that it reads and writes, its number of slots.

    A function is an address, or a name that is replaced by the address once it is compiled.
    """

    function: int | str
    nbytes: int
    slots: int


def table(members: Sequence[Member]) -> list[int | str]:
    """The header of a batch's slots, five words for each member.

    They are its function, the bytes of all members before it, its bytes, its pieces, its first
    slot.

    >>> table([Member(1000, 300_000, 3), Member(1000, 8, 3)])
    [2, 300008, 1000, 0, 300000, 2, 96, 1000, 300000, 8, 1, 120]
    """
    before, place = 0, 8 * (HEAD + ENTRY * len(members))
    words: list[int | str] = []
    for member in members:
        nbytes = max(member.nbytes, 1)
        words += [member.function, before, nbytes, -(-nbytes // PIECE), place]
        before += nbytes
        place += 8 * member.slots
    return [len(members), before, *words]


@memo
@cache
def batch_code() -> Code:
    """The code that runs any batch: it shares the members' pieces among threads."""
    module = LLVMModule()
    e = module.function(SYMBOL, KERNEL)
    count, total = (e.load(e.offset("%buffers", 8 * k), "i64", 8) for k in range(HEAD))
    low, high = (
        e.value(f"udiv i64 {e.mul(thread, total)}, %threads")
        for thread in ("%thread", e.add("%thread", 1))
    )
    e.loop(0, count, 1, lambda k: write_member(e, k, low, high))
    e.ret()
    return Code(SYMBOL, module.text(), 0)


def write_member(e: Emitter, k: str, low: str, high: str) -> None:
    """Emit the run of the pieces of member k that begin in low..high."""
    entry = e.offset("%buffers", e.add(e.mul(k, 8 * ENTRY), 8 * HEAD))
    words = [e.load(e.offset(entry, 8 * word), "i64", 8) for word in range(1, ENTRY)]
    function, (before, nbytes, pieces, place) = e.load(entry, "ptr", 8), words
    slots = e.offset("%buffers", place)

    def first_from(byte: str) -> str:
        """The first piece that begins at a byte or later."""
        inside = e.call("i64", "llvm.smax.i64", ("i64", e.sub(byte, before)), ("i64", "0"))
        scaled = e.mul(e.least(inside, nbytes), pieces)
        return e.value(f"udiv i64 {e.add(scaled, e.sub(nbytes, 1))}, {nbytes}")

    def run(piece: str) -> None:
        e.do(
            f"call void {function}(ptr {slots}, i64 {piece}, i64 {pieces}, ptr %scratch)",
        )

    e.loop(first_from(low), first_from(high), 1, run)
