"""Threefry as LLVM text: the noise of a key and a counter, each two 32-bit words in an i64."""

from __future__ import annotations

from gnomon.codegen.emitter import LANES, Emitter, splat, vector
from gnomon.ops.threefry import Word, WordArithmetic, mixed

WORD, PAIR = vector("i32"), vector("i64")


class LlvmWords(WordArithmetic):
    """Threefry's words as vectors of i32."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter

    def const(self, number: int) -> Word:
        """A number in every lane."""
        return splat(number, "i32")

    def add(self, a: Word, b: Word) -> Word:
        """a + b."""
        return self.emitter.value(f"add {WORD} {a}, {b}")

    def xor(self, a: Word, b: Word) -> Word:
        """The bits in which a and b differ."""
        return self.emitter.value(f"xor {WORD} {a}, {b}")

    def turned(self, a: Word, by: int) -> Word:
        """The bits of a, rotated left."""
        name, amount = f"llvm.fshl.v{LANES}i32", splat(by, "i32")
        return self.emitter.call(WORD, name, (WORD, a), (WORD, a), (WORD, amount))


def emit_threefry(e: Emitter, first: str, second: str, counter: str) -> str:
    """Emit Threefry's random bits of a key and a counter."""
    upper = e.value(f"lshr {PAIR} {counter}, {splat(32, 'i64')}")
    low, high = (
        e.value(f"zext {WORD} {x} to {PAIR}")
        for x in mixed(LlvmWords(e), (first, second), (lower(e, counter), lower(e, upper)))
    )
    high = e.value(f"shl {PAIR} {high}, {splat(32, 'i64')}")
    return e.value(f"or {PAIR} {low}, {high}")


def lower(e: Emitter, pair: str) -> str:
    """The lower word of an i64."""
    return e.value(f"trunc {PAIR} {pair} to {WORD}")
