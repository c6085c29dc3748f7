"""Decodes blocks of quantized numbers, of 16 rows at once: each row has a lane.

The bytes of a stretch of 16 are turned in registers, so that a vector holds one byte of every row;
what follows is the same arithmetic on every lane. The formats, and the roundings of their numbers,
are those of gnomon/ops/blocks.py: the products of scales and of small whole numbers are exact in
float32, so that a fused multiply-add rounds where its two steps would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from gnomon.codegen.emitter import LANES, Emitter, LLVMModule, splat, vector
from gnomon.ops.blocks import FORMATS

__all__ = ["TABLES", "emit_decode"]

BYTES, WORDS, FLOATS = vector("i8"), vector("i32"), vector("float")
LINE = 4 * LANES
"""Bytes of one number of every row."""
TABLES = 16 * LINE
"""Bytes of memory for the scales and minima of a block."""
Decoder = Callable[["Decoding"], None]


def emit_decode(module: LLVMModule, name: str, kind: str) -> None:
    """Define name(rows, place, target, step, tables), which decodes a block of 16 rows.

    rows: the addresses of 16 rows; place: where the block begins in each; target: the goal of the
    first number of all rows, `step` bytes before that of the next; tables: memory for scales.
    """
    parameters = [
        ("ptr noalias readonly", "rows"),
        ("i64", "place"),
        ("ptr noalias", "target"),
        ("i64", "step"),
        ("ptr noalias", "tables"),
    ]
    e = module.function(name, parameters, linkage="internal", attributes="noinline nounwind")
    DECODERS[kind](Decoding(e, FORMATS[kind].nbytes))
    e.ret()


class Decoding:
    """Writes what decoders are made of: bytes of a block in, numbers in their places out."""

    def __init__(self, e: Emitter, nbytes: int) -> None:
        self.e, self.nbytes = e, nbytes
        places = [e.offset("%rows", 8 * lane) for lane in range(LANES)]
        self.blocks = [e.offset(e.load(place, "ptr", 8), "%place") for place in places]

    def stretch(self, place: int | str) -> list[str]:
        """Sixteen bytes of the block from a place on, each of all rows."""
        e = self.e
        values = [e.load(e.offset(block, place), BYTES, 1) for block in self.blocks]
        for _ in range(4):
            pairs = zip(values[: LANES // 2], values[LANES // 2 :], strict=True)
            values = [e.shuffle(*pair, order, "i8") for pair in pairs for order in INTERLEAVED]
        return values

    def word(self, byte: str) -> str:
        """A byte as an i32, which is not negative."""
        return self.e.value(f"zext {BYTES} {byte} to {WORDS}")

    def signed(self, byte: str) -> str:
        """A byte as an i32 with its sign."""
        return self.e.value(f"sext {BYTES} {byte} to {WORDS}")

    def whole(self, name: str, a: str, b: str | int) -> str:
        """An operation on i32."""
        return self.e.value(f"{name} {WORDS} {a}, {splat(b, 'i32') if isinstance(b, int) else b}")

    def field(self, word: str, shift: int, mask: int) -> str:
        """Some bits of a byte."""
        moved = self.whole("lshr", word, shift) if shift else word
        return moved if mask == 255 >> shift else self.whole("and", moved, mask)

    def number(self, word: str) -> str:
        """An i32 as a float."""
        return self.e.value(f"sitofp {WORDS} {word} to {FLOATS}")

    def times(self, a: str, b: str) -> str:
        """The product of floats."""
        return self.e.value(f"fmul {FLOATS} {a}, {b}")

    def negative(self, a: str) -> str:
        """A float with the other sign."""
        return self.e.value(f"fneg {FLOATS} {a}")

    def half(self, low: str, high: str) -> str:
        """The half that two bytes hold, as a float."""
        e, wide, kind = self.e, vector("i16"), vector("half")
        first, second = (e.value(f"zext {BYTES} {x} to {wide}") for x in (low, high))
        moved = e.value(f"shl {wide} {second}, {splat(8, 'i16')}")
        both = e.value(f"or {wide} {first}, {moved}")
        return e.value(f"fpext {kind} {e.value(f'bitcast {wide} {both} to {kind}')} to {FLOATS}")

    def keep(self, number: int, value: str) -> None:
        """Put a vector into the tables."""
        self.e.store(value, self.e.offset("%tables", LINE * number), FLOATS, LINE)

    def find(self, number: str | int) -> str:
        """Take a vector from the tables."""
        return self.e.load(self.e.offset("%tables", self.e.mul(number, LINE)), FLOATS, LINE)

    def put(self, first: str | int, values: Sequence[str]) -> None:
        """Write numbers where they belong, from a place on."""
        e = self.e
        goal = e.offset("%target", e.mul(first, "%step"))
        for value in values:
            e.store(value, goal, FLOATS, 4)
            goal = e.offset(goal, "%step")


INTERLEAVED = tuple(
    [lane + other for lane in range(low, low + 8) for other in (0, 16)] for low in (0, 8)
)
"""The lanes of two vectors interleaved: of their first halves, and of their second ones."""


def quarter_bytes(d: Decoding, content: Sequence[str]) -> list[str]:
    """The low 4 bits of bytes, then the high ones, as i32."""
    words = [d.word(x) for x in content]
    return [*(d.field(x, 0, 15) for x in words), *(d.field(x, 4, 15) for x in words)]


def with_fifth(d: Decoding, q: Sequence[str], four: Sequence[str]) -> list[str]:
    """Numbers of 4 bits with a fifth one from four bytes."""
    words = [d.word(x) for x in four]
    high = [d.whole("shl", d.field(words[k // 8], k % 8, 1), 4) for k in range(2 * LANES)]
    return [d.whole("or", a, b) for a, b in zip(q, high, strict=True)]


def symmetric(d: Decoding, factor: str, q: Sequence[str], middle: int) -> list[str]:
    """The numbers factor * (q - middle)."""
    centred = (d.whole("sub", x, middle) if middle else x for x in q)
    return [d.times(factor, d.number(x)) for x in centred]


def moved(d: Decoding, factor: str, q: Sequence[str], offset: str) -> list[str]:
    """The numbers factor * q + offset."""
    return [d.e.fma(factor, d.number(x), offset) for x in q]


def q4_0(d: Decoding) -> None:
    """d, 16 bytes."""
    head, content = d.stretch(0), d.stretch(2)
    d.put(0, symmetric(d, d.half(*head[:2]), quarter_bytes(d, content), 8))


def q4_1(d: Decoding) -> None:
    """d, m, 16 bytes."""
    head, content = d.stretch(0), d.stretch(4)
    d.put(0, moved(d, d.half(*head[:2]), quarter_bytes(d, content), d.half(*head[2:4])))


def q5_0(d: Decoding) -> None:
    """d, the fifth bits, 16 bytes."""
    head, content = d.stretch(0), d.stretch(6)
    q = with_fifth(d, quarter_bytes(d, content), head[2:6])
    d.put(0, symmetric(d, d.half(*head[:2]), q, 16))


def q5_1(d: Decoding) -> None:
    """d, m, the fifth bits, 16 bytes."""
    head, content = d.stretch(0), d.stretch(8)
    q = with_fifth(d, quarter_bytes(d, content), head[4:8])
    d.put(0, moved(d, d.half(*head[:2]), q, d.half(*head[2:4])))


def q8_0(d: Decoding) -> None:
    """d, 32 signed bytes."""
    head, content = d.stretch(0), [*d.stretch(2), *d.stretch(18)]
    d.put(0, symmetric(d, d.half(*head[:2]), [d.signed(x) for x in content], 0))


def keep_scales(d: Decoding) -> None:
    """Put eight scales and minima of 6 bits, times d and −m, into the tables."""
    head = d.stretch(0)
    scale, least = d.half(*head[:2]), d.negative(d.half(*head[2:4]))
    words = [d.word(x) for x in head[4:]]
    for k in range(4):
        first, second, last = words[k], words[4 + k], words[8 + k]
        rows = ((first, 0, scale, 0), (second, 4, least, 8))
        for own, shift, factor, place in rows:
            high = d.whole("shl", d.field(own, 6, 3), 4)
            upper = d.whole("or", d.field(last, shift, 15), high)
            d.keep(place + k, d.times(factor, d.number(d.field(own, 0, 63))))
            d.keep(place + 4 + k, d.times(factor, d.number(upper)))


def in_groups(d: Decoding, place: int, high: Callable[[int, str], list[str]] | None = None) -> None:
    """Four groups of 32 bytes, whose low and high halves are two parts with minima.

    high: given which half of the group's bytes it is and the shift of a part's bit in a byte, the
    bits of a part as 16 or 0.
    """
    e = d.e

    def group(number: str) -> None:
        low = e.mul(number, 2)
        parts = [low, e.add(low, 1)]
        factors = [d.find(part) for part in parts]
        offsets = [d.find(e.add(part, 8)) for part in parts]
        begin, first = e.add(e.mul(number, 32), place), e.mul(number, 64)
        for half in (0, 1):
            q = quarter_bytes(d, d.stretch(e.add(begin, 16 * half)))
            for k, part in enumerate(parts):
                own = q[LANES * k : LANES * (k + 1)]
                if high is not None:
                    pairs = zip(own, high(half, part), strict=True)
                    own = [d.whole("or", a, b) for a, b in pairs]
                values = moved(d, factors[k], own, offsets[k])
                d.put(e.add(first, 32 * k + 16 * half), values)

    e.loop(0, 4, 1, group)


def q4_k(d: Decoding) -> None:
    """d, m, scales and minima, four groups."""
    keep_scales(d)
    in_groups(d, 16)


def q5_k(d: Decoding) -> None:
    """d, m, scales and minima, the fifth bits of each part as a bit of 32 bytes, four groups."""
    keep_scales(d)
    e, bytes_ = d.e, [d.stretch(16), d.stretch(32)]

    def high(half: int, part: str) -> list[str]:
        shift = e.broadcast(e.value(f"trunc i64 {part} to i32"), "i32")
        found = (d.whole("lshr", d.word(x), shift) for x in bytes_[half])
        return [d.whole("shl", d.whole("and", x, 1), 4) for x in found]

    in_groups(d, 48, high)


def q6_k(d: Decoding) -> None:
    """Two halves, each of 64 bytes of low bits and 32 of high ones; signed scales; d."""
    e, scales = d.e, d.stretch(192)
    factor = d.half(*d.stretch(d.nbytes - LANES)[-2:])
    for k, byte in enumerate(scales):
        d.keep(k, d.times(factor, d.number(d.signed(byte))))

    def quarter(number: str) -> None:
        half, rest = e.value(f"lshr i64 {number}, 1"), e.value(f"and i64 {number}, 1")
        step = e.mul(rest, 16)
        low = e.add(e.mul(half, 64), step)
        nibbles = [quarter_bytes(d, d.stretch(e.add(low, 32 * k))) for k in (0, 1)]
        high = [d.word(x) for x in d.stretch(e.add(e.add(e.mul(half, 32), step), 128))]
        first, table = e.add(e.mul(half, 128), step), e.add(e.mul(half, 8), rest)
        for k in range(4):
            own = nibbles[k % 2][LANES * (k // 2) : LANES * (k // 2 + 1)]
            upper = [d.whole("shl", d.field(x, 2 * k, 3), 4) for x in high]
            q = [d.whole("or", a, b) for a, b in zip(own, upper, strict=True)]
            values = symmetric(d, d.find(e.add(table, 2 * k)), q, 32)
            d.put(e.add(first, 32 * k), values)

    e.loop(0, 4, 1, quarter)


DECODERS: Mapping[str, Decoder] = MappingProxyType(
    {
        **{"Q4_0": q4_0, "Q4_1": q4_1, "Q5_0": q5_0, "Q5_1": q5_1, "Q8_0": q8_0},
        **{"Q4_K": q4_k, "Q5_K": q5_k, "Q6_K": q6_k},
    }
)
"""The decoders by GGUF's names."""
