"""Products of blocks of quantized numbers with int8, as whole numbers: 64 at a time, of one row.

A unit is a block, or two neighbouring ones of 32 numbers. Its reader gives 16 sums of i32, whose
first eight and last eight belong together: to the first block and the second, to one block's whole
numbers and its minima, or to one block. Numbers stay bytes without a sign where instructions want
such: what that adds to a sum is the same for every row, and is subtracted by whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from gnomon.codegen.emitter import LANES, Emitter, splat, vector
from gnomon.codegen.machine import Machine
from gnomon.ops.blocks import FORMATS, GROUPS

__all__ = ["BYTES", "UNITS", "UnitFormat", "UnitReader"]

BYTES = 64
"""The numbers that are multiplied at once."""
SUMS, FEW, WIDE = vector("i32"), vector("i32", 8), vector("i8", BYTES)
PART = 16
"""Bytes of a stretch of 4-bit numbers: low halves are 16 numbers, high halves the next 16."""
NIBBLES, LOW_BITS = 0x0F0F0F0F, 0x03030303


def dots(e: Emitter, machine: Machine, total: str, w: str, x: str) -> str:
    """The sums plus those of products of four neighbouring bytes: w without a sign, x with one."""
    if "vpdpwssd" in machine.instructions:
        return in_parts(e, machine, total, w, x, partial(fused, e))
    if "pmaddwd" in machine.instructions:
        return in_parts(e, machine, total, w, x, partial(by_shorts, e))
    return added(e, total, widened(e, w, x, "zext"))


def signed_dots(e: Emitter, machine: Machine, total: str, w: str, x: str) -> str:
    """The same of bytes w that have a sign."""
    if "pmaddwd" not in machine.instructions:
        return added(e, total, widened(e, w, x, "sext"))
    sign = e.value(f"ashr {WIDE} {w}, {splat(7, 'i8', BYTES)}")
    turned = e.value(f"sub {WIDE} {e.value(f'xor {WIDE} {x}, {sign}')}, {sign}")
    size = e.call(WIDE, f"llvm.abs.v{BYTES}i8", (WIDE, w), ("i1", "false"))
    return dots(e, machine, total, size, turned)


def added(e: Emitter, a: str, b: str) -> str:
    """The sum of vectors of whole numbers."""
    return e.value(f"add {SUMS} {a}, {b}")


def in_parts(
    e: Emitter,
    machine: Machine,
    total: str,
    w: str,
    x: str,
    dot: Callable[[int, str, str, str], str],
) -> str:
    """Sums by parts as wide as registers are; dot(sums of a part, their total, w, x)."""
    lanes = machine.lanes("i32")
    if lanes == LANES:
        return dot(lanes, total, w, x)
    made = []
    for low in (0, LANES // 2):
        sums = e.shuffle(total, "poison", range(low, low + LANES // 2), "i32")
        own = range(4 * low, 4 * low + BYTES // 2)
        halves = (e.shuffle(v, "poison", own, "i8", BYTES) for v in (w, x))
        made.append(dot(LANES // 2, sums, *halves))
    return e.shuffle(*made, range(LANES), "i32", LANES // 2)


def fused(e: Emitter, lanes: int, total: str, w: str, x: str) -> str:
    """Four products and a sum in one instruction."""
    sums, quads = vector("i32", lanes), vector("i8", 4 * lanes)
    name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    return e.call(sums, name, (sums, total), (quads, w), (quads, x))


def by_shorts(e: Emitter, lanes: int, total: str, w: str, x: str) -> str:
    """Pairs of products as i16, which hold them: two of 128 times 127 are less than 32768."""
    sums, pairs, quads = (vector(f"i{8 << k}", lanes << 2 - k) for k in (2, 1, 0))
    many = lanes == LANES
    first = "llvm.x86.avx512.pmaddubs.w.512" if many else "llvm.x86.avx2.pmadd.ub.sw"
    second = "llvm.x86.avx512.pmaddw.d.512" if many else "llvm.x86.avx2.pmadd.wd"
    short = e.call(pairs, first, (quads, w), (quads, x))
    ones = splat(1, "i16", 2 * lanes)
    made = e.call(sums, second, (pairs, short), (pairs, ones))
    return e.value(f"add {sums} {total}, {made}")


def widened(e: Emitter, w: str, x: str, way: str) -> str:
    """Sums of four products in plain instructions; two of 128 times 127 fit into i16."""
    kind = vector("i16", BYTES)
    a, b = (e.value(f"{how} {WIDE} {v} to {kind}") for how, v in ((way, w), ("sext", x)))
    short = pairwise(e, e.value(f"mul {kind} {a}, {b}"), "i16", BYTES)
    wide = vector("i32", BYTES // 2)
    long = e.value(f"sext {vector('i16', BYTES // 2)} {short} to {wide}")
    return pairwise(e, long, "i32", BYTES // 2)


def pairwise(e: Emitter, x: str, scalar: str, lanes: int) -> str:
    """The sums of neighbours."""
    even, odd = (e.shuffle(x, "poison", range(k, lanes, 2), scalar, lanes) for k in (0, 1))
    return e.value(f"add {vector(scalar, lanes // 2)} {even}, {odd}")


class UnitReader:
    """Emits the products of one unit of a row.

    blocks: the addresses of its blocks, of which there are two or one; x: of the unit's int8;
    parts: of the sums of x in parts of 16 or 32, as its format wants them.
    """

    def __init__(
        self, e: Emitter, machine: Machine, blocks: Sequence[str], x: str, parts: str
    ) -> None:
        self.e, self.machine, self.blocks = e, machine, blocks
        self.x, self.parts = x, parts

    def bytes_at(self, block: str, place: int, count: int) -> str:
        """Load bytes of a block."""
        return self.e.load(self.e.offset(block, place), vector("i8", count), 1)

    def right(self, number: int) -> str:
        """Load 64 numbers of x."""
        return self.e.load(self.e.offset(self.x, BYTES * number), WIDE, 1)

    def joined(self, a: str, b: str, scalar: str, lanes: int) -> str:
        """Two vectors as one."""
        return self.e.shuffle(a, b, range(2 * lanes), scalar, lanes)

    def words(self, x: str) -> str:
        """Bytes as words."""
        return self.e.value(f"bitcast {WIDE} {x} to {SUMS}")

    def content(self, words: str) -> str:
        """Words as bytes."""
        return self.e.value(f"bitcast {SUMS} {words} to {WIDE}")

    def op(self, name: str, a: str, b: str | int | Sequence[int]) -> str:
        """Emit an operation on words; b may be a number for all, or one for each lane."""
        if isinstance(b, int):
            b = splat(b, "i32")
        elif not isinstance(b, str):
            b = f"<{', '.join(f'i32 {k}' for k in b)}>"
        return self.e.value(f"{name} {SUMS} {a}, {b}")

    def nibbles(self, first: str, second: str) -> str:
        """Two stretches of 16 bytes as 64 numbers of 4 bits, in words."""
        e = self.e
        both = self.joined(first, second, "i8", PART)
        order = [k for part in (0, PART) for _ in range(2) for k in range(part, part + PART)]
        twice = e.shuffle(both, "poison", order, "i8", 2 * PART)
        shifted = self.op("lshr", self.words(twice), [0, 0, 0, 0, 4, 4, 4, 4] * 2)
        return self.op("and", shifted, NIBBLES)

    def group(self, block: str, place: int) -> str:
        """32 bytes as 64 numbers in words: the low halves of all, then the high ones."""
        twice = self.twice(block, place)
        return self.op("and", self.op("lshr", twice, [0] * 8 + [4] * 8), NIBBLES)

    def twice(self, block: str, place: int) -> str:
        """32 bytes of a block, and the same again, as words."""
        own = self.bytes_at(block, place, 32)
        return self.words(self.e.shuffle(own, "poison", [*range(32)] * 2, "i8", 32))

    def times(self, total: str, words: str, number: int, scales: str | None = None) -> str:
        """Add the products of words of numbers with x, times scales for each lane."""
        w, x = self.content(words), self.right(number)
        if scales is None:
            return dots(self.e, self.machine, total, w, x)
        made = dots(self.e, self.machine, "zeroinitializer", w, x)
        return added(self.e, total, self.e.value(f"mul {SUMS} {made}, {scales}"))


def signed_bytes(r: UnitReader, head: int, count: int = 1) -> str:
    """Numbers of 8 bits: of two blocks, or of `count` times 64 of one."""
    total = "zeroinitializer"
    for k in range(count):
        if len(r.blocks) == 2:
            w = r.joined(*(r.bytes_at(block, head, 32) for block in r.blocks), "i8", 32)
        else:
            w = r.bytes_at(r.blocks[0], head + BYTES * k, BYTES)
        if moved_by(r.machine):
            w = r.e.value(f"xor {WIDE} {w}, {splat(-128, 'i8', BYTES)}")
            total = dots(r.e, r.machine, total, w, r.right(k))
        else:
            total = signed_dots(r.e, r.machine, total, w, r.right(k))
    return total


def moved_by(machine: Machine) -> int:
    """What is added to signed bytes, so that they have no sign."""
    return 128 if "vpdpwssd" in machine.instructions else 0


def four_bits(r: UnitReader, head: int, count: int = 1) -> str:
    """Numbers of 4 bits in stretches of 16 bytes: of two blocks, or `count` times two of one."""
    total = "zeroinitializer"
    for k in range(count):
        places = [(r.blocks[0], head + 2 * PART * k), (r.blocks[-1], head + 2 * PART * k)]
        if len(r.blocks) == 1:
            places[1] = (r.blocks[0], places[0][1] + PART)
        q = r.nibbles(*(r.bytes_at(*place, PART) for place in places))
        total = r.times(total, q, k)
    return total


def five_bits(r: UnitReader, head: int) -> str:
    """Numbers of 5 bits of two blocks: four bytes of fifth bits, 16 of the others."""
    e = r.e
    q = r.nibbles(*(r.bytes_at(block, head + 4, PART) for block in r.blocks))
    low, high = (e.load(e.offset(block, head), "i32", 1) for block in r.blocks)
    wide = [e.value(f"zext i32 {x} to i64") for x in (low, high)]
    bits = e.value(f"or i64 {wide[0]}, {e.value(f'shl i64 {wide[1]}, 32')}")
    on = e.value(f"bitcast i64 {bits} to {vector('i1', BYTES)}")
    fifth = e.value(
        f"select {vector('i1', BYTES)} {on}, {WIDE} {splat(16, 'i8', BYTES)}, "
        f"{WIDE} zeroinitializer"
    )
    return r.times("zeroinitializer", r.op("or", q, r.words(fifth)), 0)


def scales_of(r: UnitReader) -> tuple[str, str]:
    """The scales and the minima of eight parts, 6 bits each, as words."""
    e, block = r.e, r.blocks[0]
    first, second, last = (e.load(e.offset(block, 4 + 4 * k), "i32", 1) for k in range(3))

    def bits(word: str, shift: int, mask: int) -> str:
        moved = e.value(f"lshr i32 {word}, {shift}") if shift else word
        return e.value(f"and i32 {moved}, {mask}")

    def eight(own: str, shift: int) -> str:
        high = e.value(f"shl i32 {bits(own, 6, LOW_BITS)}, 4")
        upper = e.value(f"or i32 {bits(last, shift, NIBBLES)}, {high}")
        pair = [e.value(f"zext i32 {x} to i64") for x in (bits(own, 0, 0x3F3F3F3F), upper)]
        both = e.value(f"or i64 {pair[0]}, {e.value(f'shl i64 {pair[1]}, 32')}")
        content = e.value(f"bitcast i64 {both} to {vector('i8', 8)}")
        return e.value(f"zext {vector('i8', 8)} {content} to {FEW}")

    return eight(first, 0), eight(second, 4)


def in_groups(r: UnitReader, place: int, fifth: int | None = None) -> str:
    """Eight parts of 32 with scales and minima: four groups of 32 bytes from a place on.

    fifth: where 32 bytes of fifth bits are, of each part one bit.
    """
    e, total = r.e, "zeroinitializer"
    scales, minima = scales_of(r)
    own = None if fifth is None else r.twice(r.blocks[0], fifth)
    for k in range(4):
        q = r.group(r.blocks[0], place + 32 * k)
        if own is not None:
            bits = r.op("and", r.op("lshr", own, [2 * k] * 8 + [2 * k + 1] * 8), 0x01010101)
            q = r.op("or", q, r.op("shl", bits, 4))
        each = e.shuffle(scales, "poison", [2 * k] * 8 + [2 * k + 1] * 8, "i32", 8)
        total = r.times(total, q, k, each)
    low, high = (e.shuffle(total, "poison", range(k, k + 8), "i32") for k in (0, 8))
    sums = e.value(f"add {FEW} {low}, {high}")
    lowest = e.value(f"mul {FEW} {minima}, {e.load(r.parts, FEW, 4)}")
    return r.joined(sums, lowest, "i32", 8)


def six_bits(r: UnitReader) -> str:
    """Sixteen parts of 16 with signed scales: numbers of 6 bits, of which 32 is subtracted."""
    e, block = r.e, r.blocks[0]
    few = vector("i8")
    scales = e.value(f"sext {few} {e.load(e.offset(block, 192), few, 1)} to {SUMS}")
    total = e.value(f"mul {SUMS} {scales}, {e.load(r.parts, SUMS, 4)}")
    total = r.op("mul", total, -32)
    for half in (0, 1):
        low = r.words(r.bytes_at(block, BYTES * half, BYTES))
        high = r.twice(block, 128 + 32 * half)
        for part in (0, 1):
            own = r.op("and", r.op("lshr", low, 4) if part else low, NIBBLES)
            upper = r.op("lshr", high, [4 * part] * 8 + [4 * part + 2] * 8)
            upper = r.op("shl", r.op("and", upper, LOW_BITS), 4)
            k = 2 * half + part
            each = e.shuffle(scales, "poison", [4 * k + j // 4 for j in range(LANES)], "i32")
            total = r.times(total, r.op("or", own, upper), k, each)
    return total


class UnitFormat(NamedTuple):
    """A format of blocks as its products are computed."""

    read: Callable[[UnitReader], str]
    factors: tuple[int, ...] = (0,)
    """Where the factors of a block are: of its numbers, and of what is the second term."""
    sign: str = ""
    """The second factor is negated, or not."""
    offset: int = 0
    """What is to be subtracted from each number."""
    moved: bool = False
    """Whether instructions may want it to be more (`moved_by`)."""
    parts: int = 0
    """The numbers in parts whose sums of x the reader wants; 0: none."""
    minima: bool = False
    """Whether the last eight sums are the second term; a second term that isn't is the sum of x."""
    scalar: str = "half"
    """The type of factors."""

    def subtracted(self, machine: Machine) -> int:
        """What each number is too large by."""
        return moved_by(machine) if self.moved else self.offset


def of_group(n: int, read: Callable[..., str]) -> Callable[[UnitReader], str]:
    """The reader of groups of n numbers behind four bytes."""
    return partial(read, head=4, count=max(1, n // BYTES))


UNITS: Mapping[str, UnitFormat] = MappingProxyType(
    {
        "Q4_0": UnitFormat(partial(four_bits, head=2), offset=8),
        "Q4_1": UnitFormat(partial(four_bits, head=4), (0, 2)),
        "Q5_0": UnitFormat(partial(five_bits, head=2), offset=16),
        "Q5_1": UnitFormat(partial(five_bits, head=4), (0, 2)),
        "Q8_0": UnitFormat(partial(signed_bytes, head=2), moved=True),
        "Q4_K": UnitFormat(partial(in_groups, place=16), (0, 2), "-", parts=32, minima=True),
        "Q5_K": UnitFormat(
            partial(in_groups, place=48, fifth=16), (0, 2), "-", parts=32, minima=True
        ),
        "Q6_K": UnitFormat(six_bits, (208,), parts=16),
        **{
            f"INT8_{n}": UnitFormat(of_group(n, signed_bytes), moved=True, scalar="float")
            for n in GROUPS
        },
        **{f"INT4_{n}": UnitFormat(of_group(n, four_bits), (0, 2)) for n in GROUPS},
    }
)
"""The formats by name."""


def unit_blocks(kind: str) -> int:
    """The number of blocks of a unit."""
    return 2 if FORMATS[kind].elements < BYTES else 1
