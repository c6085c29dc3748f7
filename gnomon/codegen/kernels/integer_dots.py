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
PAIRS = BYTES // 2
SUMS, FEW, WIDE, SHORT = vector("i32"), vector("i32", 8), vector("i8", BYTES), vector("i16", PAIRS)
PART = 16
"""Bytes of a stretch of 4-bit numbers: low halves are 16 numbers, high halves the next 16."""
NIBBLES, LOW_BITS = 0x0F0F0F0F, 0x03030303


def dots(e: Emitter, machine: Machine, total: str, w: str, x: str) -> str:
    """Add products of four neighbouring bytes to each sum of i32: unsigned w, signed x."""
    if "vpdpwssd" in machine.instructions:
        return in_parts(e, machine, total, partial(fused, e), (w, "i8"), (x, "i8"))
    return weighed(e, machine, total, pairs(e, machine, w, x), splat(1, "i16", PAIRS))


def signed_dots(e: Emitter, machine: Machine, total: str, w: str, x: str) -> str:
    """Add products of four neighbouring bytes to each sum of i32, w and x both signed."""
    if "pmaddwd" not in machine.instructions:
        short = widened_pairs(e, w, x, "sext")
        return weighed(e, machine, total, short, splat(1, "i16", PAIRS))
    sign = e.value(f"ashr {WIDE} {w}, {splat(7, 'i8', BYTES)}")
    turned = e.value(f"sub {WIDE} {e.value(f'xor {WIDE} {x}, {sign}')}, {sign}")
    size = e.call(WIDE, f"llvm.abs.v{BYTES}i8", (WIDE, w), ("i1", "false"))
    return dots(e, machine, total, size, turned)


def pairs(e: Emitter, machine: Machine, w: str, x: str) -> str:
    """Sums of two neighbouring products of bytes as i16, within 2 · 128 · 127 = 32512."""
    if "pmaddwd" not in machine.instructions:
        return widened_pairs(e, w, x, "zext")
    return in_parts(e, machine, "", partial(short_pairs, e), (w, "i8"), (x, "i8"))


def weighed(e: Emitter, machine: Machine, total: str, short: str, scales: str) -> str:
    """Add pairs of neighbouring i16, each times an i16 scale, to the sums of i32."""
    if "pmaddwd" in machine.instructions:
        scaled = partial(scaled_pairs, e, "vpdpwssd" in machine.instructions)
        return in_parts(e, machine, total, scaled, (short, "i16"), (scales, "i16"))
    wide = vector("i32", PAIRS)
    a, b = (e.value(f"sext {SHORT} {v} to {wide}") for v in (short, scales))
    made = pairwise(e, e.value(f"mul {wide} {a}, {b}"), "i32", PAIRS)
    return added(e, total, made)


def added(e: Emitter, a: str, b: str) -> str:
    """The sum of integer vectors."""
    return e.value(f"add {SUMS} {a}, {b}")


def in_parts(
    e: Emitter, machine: Machine, total: str, dot: Callable[..., str], *operands: tuple[str, str]
) -> str:
    """Apply dot(lanes of sums, part of the total, parts of operands) to each register's part.

    total: "" where there is none, and the result is i16. operands: values of 64 bytes, and types.
    """
    lanes = machine.lanes("i32")
    if lanes == LANES:
        return dot(lanes, total, *(value for value, _ in operands))
    made, half = [], LANES // 2
    for low in (0, half):
        sums = total and e.shuffle(total, "poison", range(low, low + half), "i32")
        parts = []
        for value, kind in operands:
            unit = 32 // int(kind[1:])
            own = range(unit * low, unit * (low + half))
            parts.append(e.shuffle(value, "poison", own, kind, unit * LANES))
        made.append(dot(half, sums, *parts))
    if total:
        return e.shuffle(*made, range(LANES), "i32", half)
    return e.shuffle(*made, range(PAIRS), "i16", LANES)


def fused(e: Emitter, lanes: int, total: str, w: str, x: str) -> str:
    """Four products of bytes and a sum per lane, in one instruction (VNNI)."""
    sums, quads = vector("i32", lanes), vector("i8", 4 * lanes)
    name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    return e.call(sums, name, (sums, total), (quads, w), (quads, x))


def short_pairs(e: Emitter, lanes: int, _: str, w: str, x: str) -> str:
    """Sums of two neighbouring products of bytes as i16, in one instruction."""
    short, quads = vector("i16", 2 * lanes), vector("i8", 4 * lanes)
    wide = "llvm.x86.avx512.pmaddubs.w.512"
    name = wide if lanes == LANES else "llvm.x86.avx2.pmadd.ub.sw"
    return e.call(short, name, (quads, w), (quads, x))


def scaled_pairs(e: Emitter, fuses: bool, lanes: int, total: str, a: str, b: str) -> str:
    """Two products of i16 and a sum per lane of i32."""
    sums, short = vector("i32", lanes), vector("i16", 2 * lanes)
    if fuses:
        name = f"llvm.x86.avx512.vpdpwssd.{32 * lanes}"
        return e.call(sums, name, (sums, total), (short, a), (short, b))
    name = "llvm.x86.avx512.pmaddw.d.512" if lanes == LANES else "llvm.x86.avx2.pmadd.wd"
    made = e.call(sums, name, (short, a), (short, b))
    return e.value(f"add {sums} {total}, {made}")


def widened_pairs(e: Emitter, w: str, x: str, way: str) -> str:
    """Sums of two products of bytes, in instructions that every processor has."""
    kind = vector("i16", BYTES)
    a, b = (e.value(f"{how} {WIDE} {v} to {kind}") for how, v in ((way, w), ("sext", x)))
    return pairwise(e, e.value(f"mul {kind} {a}, {b}"), "i16", BYTES)


def pairwise(e: Emitter, x: str, scalar: str, lanes: int) -> str:
    """The sums of neighbouring lanes."""
    even, odd = (e.shuffle(x, "poison", range(k, lanes, 2), scalar, lanes) for k in (0, 1))
    return e.value(f"add {vector(scalar, lanes // 2)} {even}, {odd}")


def in_words(e: Emitter, name: str, a: str, b: str | int | Sequence[int]) -> str:
    """Emit an integer operation on words; b may be one constant, or one for each lane."""
    if isinstance(b, int):
        b = splat(b, "i32")
    elif not isinstance(b, str):
        b = f"<{', '.join(f'i32 {k}' for k in b)}>"
    return e.value(f"{name} {SUMS} {a}, {b}")


class UnitReader:
    """Emitter of the integer products of one unit of a quantized row.

    blocks: the addresses of its one or two blocks; x: of the unit's int8; parts: of the sums of x
    in parts of 16 or 32, if its format needs them; head: of eight scales and eight minima in bytes,
    if its format has them.
    """

    def __init__(
        self, e: Emitter, machine: Machine, blocks: Sequence[str], x: str, parts: str, head: str
    ) -> None:
        self.e, self.machine, self.blocks = e, machine, blocks
        self.x, self.parts, self.head = x, parts, head

    def bytes_at(self, block: str, place: int, count: int) -> str:
        """Load bytes of a block."""
        return self.e.load(self.e.offset(block, place), vector("i8", count), 1)

    def right(self, number: int) -> str:
        """Load 64 int8 of x."""
        return self.e.load(self.e.offset(self.x, BYTES * number), WIDE, 1)

    def joined(self, a: str, b: str, scalar: str, lanes: int) -> str:
        """The concatenation of two vectors."""
        return self.e.shuffle(a, b, range(2 * lanes), scalar, lanes)

    def words(self, x: str) -> str:
        """A vector of bytes, reinterpreted as words."""
        return self.e.value(f"bitcast {WIDE} {x} to {SUMS}")

    def content(self, words: str) -> str:
        """A vector of words, reinterpreted as bytes."""
        return self.e.value(f"bitcast {SUMS} {words} to {WIDE}")

    def op(self, name: str, a: str, b: str | int | Sequence[int]) -> str:
        """Emit an operation on words."""
        return in_words(self.e, name, a, b)

    def nibbles(self, first: str, second: str) -> str:
        """Two stretches of 16 bytes, unpacked to 64 numbers of 4 bits in words."""
        e = self.e
        both = self.joined(first, second, "i8", PART)
        order = [k for part in (0, PART) for _ in range(2) for k in range(part, part + PART)]
        twice = e.shuffle(both, "poison", order, "i8", 2 * PART)
        shifted = self.op("lshr", self.words(twice), [0, 0, 0, 0, 4, 4, 4, 4] * 2)
        return self.op("and", shifted, NIBBLES)

    def group(self, block: str, place: int) -> str:
        """32 bytes, unpacked to 64 numbers in words: all low halves, then all high ones."""
        twice = self.twice(block, place)
        return self.op("and", self.op("lshr", twice, [0] * 8 + [4] * 8), NIBBLES)

    def twice(self, block: str, place: int) -> str:
        """32 bytes of a block, twice in one vector of words."""
        own = self.bytes_at(block, place, 32)
        return self.words(self.e.shuffle(own, "poison", [*range(32)] * 2, "i8", 32))

    def sums(self, count: int) -> str:
        """Load the sums of parts of x."""
        short = vector("i16", count)
        return self.e.value(
            f"sext {short} {self.e.load(self.parts, short, 2)} to {vector('i32', count)}"
        )

    def times(
        self, total: str, words: str, number: int, scales: str = "", dot: Callable[..., str] = dots
    ) -> str:
        """Add the products of numbers, in words, with x, times scales for each pair of them."""
        w, x = self.content(words), self.right(number)
        if not scales:
            return dot(self.e, self.machine, total, w, x)
        return weighed(self.e, self.machine, total, pairs(self.e, self.machine, w, x), scales)

    def scales(self, number: int) -> str:
        """The scales of two neighbouring parts of 32, spread over their pairs of numbers."""
        e = self.e
        head = e.load(self.head, vector("i8", 16), 16)
        order = [k for part in (0, 1) for k in (2 * number + part, 16) * 16]
        both = e.shuffle(head, "zeroinitializer", order, "i8", 16)
        return e.value(f"bitcast {WIDE} {both} to {SHORT}")


def signed_bytes(r: UnitReader, head: int, count: int = 1) -> str:
    """Emit products of 8-bit numbers: of two blocks, or of `count` times 64 of one."""
    total = "zeroinitializer"
    for k in range(count):
        if len(r.blocks) == 2:
            w = r.joined(*(r.bytes_at(block, head, 32) for block in r.blocks), "i8", 32)
        else:
            w = r.bytes_at(r.blocks[0], head + BYTES * k, BYTES)
        if moved_by(r.machine):
            w = r.e.value(f"xor {WIDE} {w}, {splat(-128, 'i8', BYTES)}")
        total = r.times(total, r.words(w), k, dot=dots_of(r.machine, True))
    return total


def moved_by(machine: Machine) -> int:
    """The number that is added to signed bytes to make them unsigned on this machine."""
    return 128 if "vpdpwssd" in machine.instructions else 0


def dots_of(machine: Machine, signed: bool) -> Callable[..., str]:
    """The product function of a format's numbers. signed: whether the numbers are."""
    return signed_dots if signed and not moved_by(machine) else dots


def four_bits(r: UnitReader, head: int, count: int = 1) -> str:
    """Emit products of 4-bit numbers in runs of 16 bytes: two blocks, or `count` pairs of one."""
    total = "zeroinitializer"
    for k in range(count):
        places = [(r.blocks[0], head + 2 * PART * k), (r.blocks[-1], head + 2 * PART * k)]
        if len(r.blocks) == 1:
            places[1] = (r.blocks[0], places[0][1] + PART)
        q = r.nibbles(*(r.bytes_at(*place, PART) for place in places))
        total = r.times(total, q, k)
    return total


def five_bits(r: UnitReader, head: int) -> str:
    """Emit products of 5-bit numbers of two blocks: four bytes of fifth bits, 16 of low bits."""
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


def scales_and_minima(e: Emitter, blocks: Sequence[str]) -> str:
    """The 6-bit scales and minima of four blocks, unpacked: eight bytes and eight bytes each.

    The blocks' headers are the quarters of a vector: words of d and m, then the first, the second
    and the last four of twelve bytes.
    """
    heads = [e.load(block, vector("i32", 4), 1) for block in blocks]
    halves = [e.shuffle(*heads[k : k + 2], range(8), "i32", 4) for k in (0, 2)]
    words = e.shuffle(*halves, range(LANES), "i32", 8)

    def parts(order: Sequence[int], shifts: Sequence[int], masks: Sequence[int]) -> str:
        own = e.shuffle(words, "poison", [k + q for q in range(0, LANES, 4) for k in order], "i32")
        return in_words(e, "and", in_words(e, "lshr", own, [*shifts] * 4), [*masks] * 4)

    six, two = 0x3F3F3F3F, 0x30303030
    low = parts([1, 1, 2, 2], [0, 2, 0, 2], [six, two, six, two])
    high = parts([3, 3, 3, 3], [0, 0, 0, 4], [0, NIBBLES, 0, NIBBLES])
    return in_words(e, "or", low, high)


def in_groups(r: UnitReader, place: int, fifth: int | None = None) -> str:
    """Emit products of eight parts of 32 with scales and minima: four groups of 32 bytes.

    fifth: the address of 32 bytes of fifth bits, one bit of each part.
    """
    e, total = r.e, "zeroinitializer"
    own = None if fifth is None else r.twice(r.blocks[0], fifth)
    for k in range(4):
        q = r.group(r.blocks[0], place + 32 * k)
        if own is not None:
            bits = r.op("and", r.op("lshr", own, [2 * k] * 8 + [2 * k + 1] * 8), 0x01010101)
            q = r.op("or", q, r.op("shl", bits, 4))
        total = r.times(total, q, k, r.scales(k))
    low, high = (e.shuffle(total, "poison", range(k, k + 8), "i32") for k in (0, 8))
    sums = e.value(f"add {FEW} {low}, {high}")
    eight = vector("i8", 8)
    wide = e.value(f"zext {eight} {e.load(e.offset(r.head, 8), eight, 8)} to {FEW}")
    lowest = e.value(f"mul {FEW} {wide}, {r.sums(8)}")
    return r.joined(sums, lowest, "i32", 8)


def six_bits(r: UnitReader) -> str:
    """Emit products of 6-bit numbers, less 32, in sixteen parts of 16 with signed scales."""
    e, few, short = r.e, vector("i8"), vector("i16")
    content = e.load(r.head, few, 1)
    scales = e.value(f"sext {few} {content} to {short}")
    wide = e.value(f"sext {few} {content} to {SUMS}")
    total = r.op("mul", e.value(f"mul {SUMS} {wide}, {r.sums(16)}"), -32)
    for half in (0, 1):
        low = r.words(r.bytes_at(r.blocks[0], BYTES * half, BYTES))
        high = r.twice(r.blocks[0], 128 + 32 * half)
        for part in (0, 1):
            own = r.op("and", r.op("lshr", low, 4) if part else low, NIBBLES)
            upper = r.op("lshr", high, [4 * part] * 8 + [4 * part + 2] * 8)
            upper = r.op("shl", r.op("and", upper, LOW_BITS), 4)
            k = 2 * half + part
            each = e.shuffle(scales, "poison", [4 * k + j // 8 for j in range(PAIRS)], "i16")
            total = r.times(total, r.op("or", own, upper), k, each)
    return total


class UnitFormat(NamedTuple):
    """A block format, with the emitters of its integer products."""

    read: Callable[[UnitReader], str]
    factors: tuple[int, ...] = (0,)
    """The offsets of a block's scales: of its numbers, and of its second term."""
    sign: str = ""
    """The second factor is negated, or not."""
    offset: int = 0
    """A number that is to be subtracted from each one."""
    moved: bool = False
    """Whether instructions may want it to be more (`moved_by`)."""
    parts: int = 0
    """The numbers in parts whose sums of x the reader wants; 0: none."""
    minima: bool = False
    """Whether the last eight sums are the second term; a second term that isn't is the sum of x."""
    scalar: str = "half"
    """The type of factors."""

    def heads(self, e: Emitter, units: Sequence[Sequence[str]], spare: str) -> list[str]:
        """The addresses of four units' headers; those of Q4_K are unpacked to 64 bytes each."""
        if self.minima:
            made = scales_and_minima(e, [blocks[0] for blocks in units])
            e.store(made, spare, SUMS, BYTES)
            return [e.offset(spare, 16 * k) for k in range(len(units))]
        return [e.offset(blocks[0], 192) if self.parts else "" for blocks in units]

    def subtracted(self, machine: Machine) -> int:
        """The excess of each stored number over its value."""
        return moved_by(machine) if self.moved else self.offset


def of_group(n: int, read: Callable[..., str]) -> Callable[[UnitReader], str]:
    """The emitter of products of groups of n numbers behind a scale of four bytes."""
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
        "Q6_K": UnitFormat(six_bits, (208,), offset=32, parts=16),
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
