"""Decodes blocks of quantized numbers, of 16 rows at once: each row has a lane.

Stretches of 16 bytes are transposed by words of four, so that a vector holds one word of every row;
what follows is the same arithmetic on every lane. Numbers stay where they stand in their words: a
mask gives q * 2^n of the q at bit n, and a factor of 2^-n corrects it. The formats, and how their
numbers are rounded, are those of gnomon/ops/blocks.py: products of scales and of small whole
numbers are exact in float32, so that a fused multiply-add rounds where its two steps would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from gnomon.codegen.emitter import LANES, Emitter, LLVMModule, splat, vector
from gnomon.ops.blocks import FORMATS, GROUPS

__all__ = ["Decoding", "LINE", "TABLES", "emit_decode"]

WORDS, FLOATS = vector("i32"), vector("float")
LINE = 4 * LANES
"""Bytes of one number of every row."""
TABLES = 16 * LINE
"""Bytes of memory for the scales and minima of a block."""
WORD = 4
"""Bytes of a word; words of a stretch."""
NIBBLES, BIT = 0x0F0F0F0F, 0x01010101
EmitDecoder = Callable[["Decoding"], None]


def emit_decode(
    module: LLVMModule, name: str, kind: str, decoding: Callable[..., Decoding] | None = None
) -> None:
    """Define name(rows, place, target, tables), which decodes a block of 16 rows.

    rows: the addresses of 16 rows; place: where the block begins in each; target: the goal, [number
    in the block][row]; tables: memory for scales. decoding: what is made of numbers; none: floats.
    """
    parameters = [
        ("ptr noalias readonly", "rows"),
        ("i64", "place"),
        ("ptr noalias", "target"),
        ("ptr noalias", "tables"),
    ]
    e = module.function(name, parameters, linkage="internal", attributes="noinline nounwind")
    DECODERS[kind]((decoding or Decoding)(e, FORMATS[kind].nbytes))
    e.ret()


class Decoding:
    """Emitter of decoders of quantized blocks, from words to numbers."""

    def __init__(self, e: Emitter, nbytes: int) -> None:
        self.e, self.nbytes = e, nbytes
        places = [e.offset("%rows", 8 * lane) for lane in range(LANES)]
        self.blocks = [e.offset(e.load(place, "ptr", 8), "%place") for place in places]

    def stretch(self, place: int | str) -> list[str]:
        """Load 16 bytes of each row's block, from an offset on, as four vectors of words."""
        e, narrow = self.e, vector("i32", WORD)
        rows = [e.load(e.offset(block, place), narrow, 1) for block in self.blocks]
        quarters = [self.joined(rows[k::WORD]) for k in range(WORD)]
        low, high = (
            [self.zipped(quarters[k], quarters[k + 1], 1, x) for k in (0, 2)] for x in (0, 1)
        )
        return [self.zipped(*pair, 2, x) for pair in (low, high) for x in (0, 1)]

    def joined(self, four: Sequence[str]) -> str:
        """Four vectors of 4 words as one of 16."""
        e = self.e
        pairs = [e.shuffle(*four[k : k + 2], range(2 * WORD), "i32", WORD) for k in (0, 2)]
        return e.shuffle(*pairs, range(LANES), "i32", LANES // 2)

    def zipped(self, a: str, b: str, unit: int, high: int) -> str:
        """Units of two vectors, interleaved inside each four: of its first half, or its second."""
        begin = [first + 2 * high + k for first in (0, LANES) for k in range(2)]
        if unit == 1:
            begin = [begin[0], begin[2], begin[1], begin[3]]
        return self.e.shuffle(
            a, b, [k + four for four in range(0, LANES, WORD) for k in begin], "i32"
        )

    def whole(self, name: str, a: str, b: str | int) -> str:
        """Emit an integer operation on vectors of words; b may be a number."""
        return self.e.value(f"{name} {WORDS} {a}, {splat(b, 'i32') if isinstance(b, int) else b}")

    def field(self, word: str, shift: int, mask: int) -> str:
        """Extract some bits of each byte, shifted right, or left by a negative number."""
        name = "lshr" if shift > 0 else "shl"
        shifted = self.whole(name, word, abs(shift)) if shift else word
        return self.whole("and", shifted, mask)

    def number(self, word: str) -> str:
        """Convert words to floats."""
        return self.e.value(f"sitofp {WORDS} {word} to {FLOATS}")

    def times(self, a: str, b: str | float) -> str:
        """The product of floats."""
        return self.e.value(f"fmul {FLOATS} {a}, {splat(b) if isinstance(b, float) else b}")

    def negative(self, a: str) -> str:
        """A float with the other sign."""
        return self.e.value(f"fneg {FLOATS} {a}")

    def half(self, word: str, number: int) -> str:
        """The first or the second half of each word, a float of 16 bits, as a float."""
        e, wide, kind = self.e, vector("i16"), vector("half")
        shifted = self.whole("lshr", word, 16) if number else word
        bits = e.value(f"trunc {WORDS} {shifted} to {wide}")
        return e.value(f"fpext {kind} {e.value(f'bitcast {wide} {bits} to {kind}')} to {FLOATS}")

    def scaled(self, factor: str) -> list[str]:
        """factor times 2^-8k for each byte k of a word: factors for bytes that are not shifted."""
        return [factor, *(self.times(factor, 2.0 ** (-8 * k)) for k in (1, 2, 3))]

    def place(self, word: str, number: int, width: int) -> str:
        """Byte `number` of each word, unshifted and `width` bits wide, as a float."""
        mask = ((1 << width) - 1) << 8 * number
        return self.number(self.whole("and", word, mask))

    def signed(self, word: str, number: int) -> str:
        """Byte `number` of each word as a signed number times 2^24, as a float."""
        shifted = self.whole("shl", word, 24 - 8 * number) if number < 3 else word
        return self.number(self.whole("and", shifted, -(1 << 24)))

    def keep(self, number: int, value: str) -> None:
        """Store a vector in entry `number` of the decoder's scratch tables."""
        self.e.store(value, self.e.offset("%tables", LINE * number), FLOATS, LINE)

    def find(self, number: str | int) -> str:
        """Load entry `number` of the decoder's scratch tables."""
        return self.e.load(self.e.offset("%tables", self.e.mul(number, LINE)), FLOATS, LINE)

    def factor(self, number: int, value: str) -> str:
        """The first or the second scale of a block, in the form in which the decoder uses it."""
        return value

    def keep_parts(self, words: Sequence[str], factors: Sequence[str]) -> None:
        """Store a scale per part of a block, bytes times factors, in the scratch tables.

        The bytes are signed if there is one factor; of two, each is for half of the words.
        """
        for k, word in enumerate(words):
            own = self.scaled(factors[k * len(factors) // len(words)])
            for byte in range(WORD):
                if len(factors) == 1:
                    value = self.times(self.signed(word, byte), 2.0 ** (8 * byte - 24))
                else:
                    value = self.place(word, byte, 6)
                self.keep(WORD * k + byte, self.times(own[byte], value))

    def centered(self, factor: str, q: Iterable[str], middle: int, width: int) -> Iterable[str]:
        """Decode words of bytes q to factor * (q - middle)."""
        factors = self.scaled(factor)
        for word in q:
            for k in range(WORD):
                centre = splat(-float(middle << 8 * k))
                centred = self.e.value(f"fadd {FLOATS} {self.place(word, k, width)}, {centre}")
                yield self.times(factors[k], centred)

    def affine(self, factor: str, q: Iterable[str], offset: str) -> Iterable[str]:
        """Decode words of bytes q, none negative, to factor * q + offset."""
        own, e = self.scaled(factor), self.e
        return (e.fma(own[k], self.place(x, k, 6), offset) for x in q for k in range(WORD))

    def bytes(self, factor: str, words: Iterable[str]) -> Iterable[str]:
        """Decode words of signed bytes q to factor * q."""
        shifted = (self.whole("shl", x, 24 - 8 * k) for x in words for k in range(WORD))
        return (self.times(factor, self.number(self.whole("ashr", x, 24))) for x in shifted)

    def put(self, first: str | int, values: Iterable[str]) -> None:
        """Store decoded numbers of all rows in the target, from element `first` on.

        Each is stored as soon as it is computed, since registers are few.
        """
        e = self.e
        goal = e.offset("%target", e.mul(first, LINE))
        for k, value in enumerate(values):
            e.store(value, e.offset(goal, LINE * k), FLOATS, 4)


def low_and_high(d: Decoding, content: Sequence[str]) -> list[str]:
    """The low 4 bits of 16 bytes as words of bytes, then the high 4 bits."""
    return [d.field(word, shift, NIBBLES) for shift in (0, 4) for word in content]


def with_fifth(d: Decoding, q: Sequence[str], bits: str) -> list[str]:
    """Words q with a fifth bit for each byte, out of a word with one bit for each number."""
    found = []
    for k, word in enumerate(q):
        for number in range(WORD):
            place, bit = 8 * number + 4, WORD * k + number
            own = d.field(bits, bit - place, 1 << place)
            word = d.whole("or", word, own)
        found.append(word)
    return found


def q4_0(d: Decoding) -> None:
    """Decode Q4_0: scale d, 16 bytes of 4-bit numbers; d · (q − 8)."""
    head, content = d.stretch(0), d.stretch(2)
    factor = d.factor(0, d.half(head[0], 0))
    d.put(0, d.centered(factor, low_and_high(d, content), 8, 4))


def q4_1(d: Decoding) -> None:
    """Decode Q4_1: scale d, minimum m, 16 bytes of 4-bit numbers; d · q + m."""
    head, content = d.stretch(0), d.stretch(4)
    factor, offset = (d.factor(k, d.half(head[0], k)) for k in (0, 1))
    d.put(0, d.affine(factor, low_and_high(d, content), offset))


def q5_0(d: Decoding) -> None:
    """Decode Q5_0: scale d, the fifth bits of all numbers, 16 bytes of their low 4 bits."""
    head, own, content = d.stretch(0), d.stretch(2), d.stretch(6)
    q = with_fifth(d, low_and_high(d, content), own[0])
    d.put(0, d.centered(d.factor(0, d.half(head[0], 0)), q, 16, 5))


def q5_1(d: Decoding) -> None:
    """Decode Q5_1: scale d, minimum m, the fifth bits, 16 bytes of low 4 bits; d · q + m."""
    head, content = d.stretch(0), d.stretch(8)
    q = with_fifth(d, low_and_high(d, content), head[1])
    factor, offset = (d.factor(k, d.half(head[0], k)) for k in (0, 1))
    d.put(0, d.affine(factor, q, offset))


def q8_0(d: Decoding) -> None:
    """Decode Q8_0: scale d, 32 signed bytes."""
    factor = d.factor(0, d.half(d.stretch(0)[0], 0))
    d.put(0, d.bytes(factor, (x for place in (2, 18) for x in d.stretch(place))))


def keep_scales(d: Decoding) -> None:
    """Store eight 6-bit scales and minima, times d and -m, in the scratch tables."""
    head, first, second, last = d.stretch(0)
    six, high = 0x3F3F3F3F, 0x30303030
    words = (
        d.whole("and", first, six),
        d.whole("or", d.field(last, 0, NIBBLES), d.field(first, 2, high)),
        d.whole("and", second, six),
        d.whole("or", d.field(last, 4, NIBBLES), d.field(second, 2, high)),
    )
    factors = d.half(head, 0), d.negative(d.half(head, 1))
    d.keep_parts(words, [d.factor(k, x) for k, x in enumerate(factors)])


def in_groups(d: Decoding, place: int, high: Callable[[int, str], list[str]] | None = None) -> None:
    """Decode four groups of 32 bytes, whose low and high halves are two parts with minima.

    high: given which half of the group's bytes it is and the number of a part, words of the part's
    fifth bits.
    """
    e = d.e

    def group(number: str) -> None:
        low = e.mul(number, 2)
        parts = [low, e.add(low, 1)]
        factors = [(d.find(part), d.find(e.add(part, 8))) for part in parts]
        begin, first = e.add(e.mul(number, 32), place), e.mul(number, 64)
        for half in (0, 1):
            q = low_and_high(d, d.stretch(e.add(begin, 16 * half)))
            for k, part in enumerate(parts):
                own = q[WORD * k : WORD * (k + 1)]
                if high is not None:
                    pairs = zip(own, high(half, part), strict=True)
                    own = [d.whole("or", a, b) for a, b in pairs]
                factor, offset = factors[k]
                d.put(e.add(first, 32 * k + 16 * half), d.affine(factor, own, offset))

    e.loop(0, 4, 1, group)


def q4_k(d: Decoding) -> None:
    """Decode Q4_K: d and m, the parts' scales and minima as multiples of these, four groups."""
    keep_scales(d)
    in_groups(d, 16)


def q5_k(d: Decoding) -> None:
    """Decode Q5_K: Q4_K with a fifth bit of each number in 32 further bytes."""
    keep_scales(d)
    e, own = d.e, [d.stretch(16), d.stretch(32)]

    def high(half: int, part: str) -> list[str]:
        shift = e.broadcast(e.value(f"trunc i64 {part} to i32"), "i32")
        bits = (d.whole("and", d.whole("lshr", word, shift), BIT) for word in own[half])
        return [d.whole("shl", x, 4) for x in bits]

    in_groups(d, 48, high)


def q6_k(d: Decoding) -> None:
    """Decode Q6_K: two halves of 64 bytes of low bits and 32 of high bits; signed scales; d."""
    e, scales = d.e, d.stretch(192)
    d.keep_parts(scales, [d.factor(0, d.half(d.stretch(d.nbytes - LANES)[-1], 1))])

    def quarter(number: str) -> None:
        half, rest = e.value(f"lshr i64 {number}, 1"), e.value(f"and i64 {number}, 1")
        step = e.mul(rest, 16)
        low = e.add(e.mul(half, 64), step)
        nibbles = [low_and_high(d, d.stretch(e.add(low, 32 * k))) for k in (0, 1)]
        high = d.stretch(e.add(e.add(e.mul(half, 32), step), 128))
        first, table = e.add(e.mul(half, 128), step), e.add(e.mul(half, 8), rest)
        for k in range(4):
            own = nibbles[k % 2][WORD * (k // 2) : WORD * (k // 2 + 1)]
            upper = [d.field(x, 2 * k - 4, 0x30303030) for x in high]
            q = [d.whole("or", a, b) for a, b in zip(own, upper, strict=True)]
            d.put(e.add(first, 32 * k), d.centered(d.find(e.add(table, 2 * k)), q, 32, 6))

    e.loop(0, 4, 1, quarter)


def head_of(d: Decoding) -> str:
    """The float32 at the beginning of the block of each row."""
    return d.e.value(f"bitcast {WORDS} {d.stretch(0)[0]} to {FLOATS}")


def in_stretches(d: Decoding, count: int, decode: Callable[[list[str], str], None]) -> None:
    """Emit decode(words, number) for each of `count` stretches of 16 bytes of a block."""
    e = d.e
    e.loop(0, count, 1, lambda k: decode(d.stretch(e.add(e.mul(k, LANES), WORD)), k))


def int8_group(d: Decoding, size: int) -> None:
    """Decode a group of int8: factor f, signed bytes."""
    factor = d.factor(0, head_of(d))

    def one(words: list[str], number: str) -> None:
        d.put(d.e.mul(number, LANES), d.bytes(factor, words))

    in_stretches(d, size // LANES, one)


def int4_group(d: Decoding, size: int) -> None:
    """Decode a group of int4: scale d, minimum m, stretches of 16 bytes."""
    head = d.stretch(0)[0]
    factor, offset = (d.factor(k, d.half(head, k)) for k in (0, 1))

    def one(words: list[str], number: str) -> None:
        d.put(d.e.mul(number, 2 * LANES), d.affine(factor, low_and_high(d, words), offset))

    in_stretches(d, size // (2 * LANES), one)


def float8_group(d: Decoding, size: int) -> None:
    """Decode a group of float8: factor f, bytes of float8_e4m3fn."""
    e, factor = d.e, head_of(d)

    def value(word: str, k: int) -> str:
        byte = d.whole("lshr", word, 8 * k) if k else word
        magnitude = d.whole("and", byte, 127)
        sign = d.whole("shl", d.whole("and", byte, 128), 24)
        bits = d.whole("or", d.whole("shl", magnitude, 20), sign)
        found = d.times(e.value(f"bitcast {WORDS} {bits} to {FLOATS}"), 2.0**120)
        unknown = e.value(f"icmp eq {WORDS} {magnitude}, {splat(127, 'i32')}")
        nan = f"<{', '.join(['float 0x7FF8000000000000'] * LANES)}>"
        return e.value(f"select {vector('i1')} {unknown}, {FLOATS} {nan}, {FLOATS} {found}")

    def one(words: list[str], number: str) -> None:
        values = (d.times(factor, value(x, k)) for x in words for k in range(WORD))
        d.put(e.mul(number, LANES), values)

    in_stretches(d, size // LANES, one)


def grouped(name: str, decode: Callable[[Decoding, int], None]) -> dict[str, EmitDecoder]:
    """A decoder for each size of groups, by the format's name."""
    return {f"{name}_{n}": partial(decode, size=n) for n in GROUPS}


DECODERS: Mapping[str, EmitDecoder] = MappingProxyType(
    {
        **{"Q4_0": q4_0, "Q4_1": q4_1, "Q5_0": q5_0, "Q5_1": q5_1, "Q8_0": q8_0},
        **{"Q4_K": q4_k, "Q5_K": q5_k, "Q6_K": q6_k},
        **grouped("INT8", int8_group),
        **grouped("INT4", int4_group),
        **grouped("FLOAT8", float8_group),
    }
)
"""The decoders by the names of formats."""
