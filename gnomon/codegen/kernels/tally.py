"""Blocks of K, and the order of summing their chunks (order.py), computed when the code runs.

Chunks are counted through all letters. A letter's sizes and leaves may be any i64 operands; that a
number of leaves is a power of two makes both answers a few instructions a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen.emitter import Emitter
from gnomon.codegen.kernels.blocking import BlockingNumbers
from gnomon.codegen.kernels.order import Letter


@dataclass(frozen=True)
class KBlock:
    """A block of K: its first unit, units, and the microkernel's further arguments; SSA names."""

    start: str
    units: str
    last: str
    parameters: tuple[tuple[str, str], ...]


def find_block(
    e: Emitter, cut: BlockingNumbers, letters: Sequence[Letter], number: str, pops: str
) -> KBlock:
    """The block of K with this number; `pops` is filled with the number of additions per chunk."""
    first = e.mul(e.value(f"udiv i64 {number}, {cut.pieces}"), cut.chunks)
    piece = e.value(f"urem i64 {number}, {cut.pieces}")
    inside = e.mul(piece, cut.piece)
    start = e.add(e.mul(first, cut.chunk), inside)
    length = e.least(e.sub(str(cut.chunk), inside), cut.piece)
    chunks = e.least(e.sub(str(cut.total), first), cut.chunks)
    ends = e.value(f"icmp eq i64 {piece}, {cut.pieces - 1}")
    last = e.value(f"icmp eq i64 {number}, {cut.count - 1}")

    def chunk(index: str) -> None:
        owed = additions(e, letters, e.add(first, index))
        # nothing is owed while a chunk goes on
        owed = e.value(f"select i1 {ends}, i64 {owed}, i64 0")
        e.store(e.value(f"trunc i64 {owed} to i8"), e.offset(pops, index), "i8", 1)

    e.loop(0, chunks, 1, chunk)
    whole, carried = sums_on_stack(e, letters, first), is_nonzero(e, piece)
    following = sums_on_stack(e, letters, e.add(first, chunks))
    # a chunk that goes on leaves its chain, and the last block leaves nothing for a next one
    left = e.value(f"select i1 {ends}, i64 {following}, i64 {e.add(whole, 1)}")
    left = e.value(f"select i1 {last}, i64 0, i64 {left}")
    before = e.add(whole, carried)
    numbers = (chunks, length, carried, before, e.most(before, left))
    parameters = (("ptr", pops), *(("i64", n) for n in numbers))
    return KBlock(start, e.mul(chunks, length), last, parameters)


def additions(e: Emitter, letters: Sequence[Letter], chunk: str) -> str:
    """The number of pairwise additions on the stack of sums after a chunk is pushed."""
    *outer, (_, leaves) = letters or [(1, 1)]
    leaf, rest = remainder_and_quotient(e, chunk, leaves)
    total = trailing_ones(e, leaf)
    ended = e.value(f"icmp eq i64 {leaf}, {e.sub(str(leaves), 1)}")
    for size, leaves in reversed(outer):
        index, rest = remainder_and_quotient(e, rest, size)
        owed = additions_after(e, index, size // leaves)
        total = e.add(total, e.value(f"select i1 {ended}, i64 {owed}, i64 0"))
        last = e.value(f"icmp eq i64 {index}, {e.sub(str(size), 1)}")
        ended = e.value(f"and i1 {ended}, {last}")
    return total


def sums_on_stack(e: Emitter, letters: Sequence[Letter], chunk: str) -> str:
    """The number of partial sums on the stack before a chunk."""
    *outer, (_, leaves) = letters or [(1, 1)]
    leaf, rest = remainder_and_quotient(e, chunk, leaves)
    total = bits_set(e, leaf)
    for size, leaves in reversed(outer):
        index, rest = remainder_and_quotient(e, rest, size)
        done, inside = remainder_and_quotient(e, index, size // leaves)[::-1]
        total = e.add(total, e.add(bits_set(e, done), is_nonzero(e, inside)))
    return total


def additions_after(e: Emitter, index: str, chain: int) -> str:
    """The number of additions after an index of an outer letter: to its chain, then in the tree."""
    leaf, inside = remainder_and_quotient(e, index, chain)[::-1]
    done = e.value(f"icmp eq i64 {inside}, {e.sub(str(chain), 1)}")
    tree = e.value(f"select i1 {done}, i64 {trailing_ones(e, leaf)}, i64 0")
    return e.add(is_nonzero(e, inside), tree)


def remainder_and_quotient(e: Emitter, index: str, size: int) -> tuple[str, str]:
    """The remainder and the quotient of an index, in this order."""
    return e.value(f"urem i64 {index}, {size}"), e.value(f"udiv i64 {index}, {size}")


def is_nonzero(e: Emitter, number: str) -> str:
    """1 if a number is not 0, else 0."""
    return e.value(f"zext i1 {e.value(f'icmp ne i64 {number}, 0')} to i64")


def bits_set(e: Emitter, number: str) -> str:
    """The number of bits that are set."""
    return e.call("i64", "llvm.ctpop.i64", ("i64", number))


def trailing_ones(e: Emitter, number: str) -> str:
    """The number of trailing one bits."""
    other = e.value(f"xor i64 {number}, -1")
    return e.call("i64", "llvm.cttz.i64", ("i64", other), ("i1", "true"))
