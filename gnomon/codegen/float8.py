"""Numbers of 8 bits, float8_e4m3fn and float8_e5m2, which are computed with in float32.

What is too large becomes NaN in e4m3fn, which has no infinity, and infinity in e5m2, as in PyTorch.
"""

from __future__ import annotations

import math

from gnomon.codegen.emitter import Emitter, splat, vector
from gnomon.dtypes import DType, float8_e4m3fn, float8_e5m2

__all__ = ["FLOATS8", "narrowed", "rounded", "widened"]

FLOATS8 = (float8_e4m3fn, float8_e5m2)
BYTES, SHORTS, WORDS = vector("i8"), vector("i16"), vector("i32")
HALVES, FLOATS, MASK = vector("half"), vector("float"), vector("i1")
UNKNOWN = 0x7F
"""The byte of a NaN of e4m3fn."""
SHIFT = 2.0**120
"""The factor of the bits of e4m3fn under the exponent of float32."""
MANTISSA = {float8_e4m3fn: 3, float8_e5m2: 2}
LEAST = {float8_e4m3fn: 2.0**-6, float8_e5m2: 2.0**-14}
"""The least normal numbers."""
LARGEST = {float8_e4m3fn: 448.0, float8_e5m2: 57344.0}


def on_words(e: Emitter, name: str, a: str, b: str | int) -> str:
    """Emit an integer operation on vectors of 32-bit words."""
    return e.value(f"{name} {WORDS} {a}, {splat(b, 'i32') if isinstance(b, int) else b}")


def on_floats(e: Emitter, name: str, a: str, b: float) -> str:
    """Emit a float operation on a vector and a constant."""
    return e.value(f"{name} {FLOATS} {a}, {splat(b)}")


def cast(e: Emitter, name: str, value: str, kinds: tuple[str, str]) -> str:
    """Emit a conversion between vector types."""
    return e.value(f"{name} {kinds[0]} {value} to {kinds[1]}")


def chosen(e: Emitter, condition: str, kind: str, yes: str, no: str) -> str:
    """Select `yes` or `no` per lane."""
    return e.value(f"select {MASK} {condition}, {kind} {yes}, {kind} {no}")


def widened(e: Emitter, value: str, dtype: DType) -> str:
    """Emit the conversion of 8-bit floats, as bytes, to float32."""
    if dtype is float8_e5m2:  # the upper half of a half
        wide = cast(e, "zext", value, (BYTES, SHORTS))
        bits = e.value(f"shl {SHORTS} {wide}, {splat(8, 'i16')}")
        return cast(e, "fpext", cast(e, "bitcast", bits, (SHORTS, HALVES)), (HALVES, FLOATS))
    word = cast(e, "zext", value, (BYTES, WORDS))
    size = on_words(e, "and", word, 127)
    sign = on_words(e, "shl", on_words(e, "and", word, 128), 24)
    bits = on_words(e, "or", on_words(e, "shl", size, 20), sign)
    found = on_floats(e, "fmul", cast(e, "bitcast", bits, (WORDS, FLOATS)), SHIFT)
    return chosen(e, on_words(e, "icmp eq", size, UNKNOWN), FLOATS, splat(math.nan), found)


def narrowed(e: Emitter, value: str, dtype: DType) -> str:
    """Emit the conversion of float32 that are already rounded to 8-bit floats, as bytes."""
    if dtype is float8_e5m2:
        bits = cast(e, "bitcast", cast(e, "fptrunc", value, (FLOATS, HALVES)), (HALVES, SHORTS))
        high = e.value(f"lshr {SHORTS} {bits}, {splat(8, 'i16')}")
        return cast(e, "trunc", high, (SHORTS, BYTES))
    word = cast(e, "bitcast", on_floats(e, "fmul", value, 1 / SHIFT), (FLOATS, WORDS))
    sign = on_words(e, "and", on_words(e, "lshr", word, 24), 128)
    size = on_words(e, "and", on_words(e, "lshr", word, 20), 127)
    size = chosen(e, is_unknown(e, value), WORDS, splat(UNKNOWN, "i32"), size)
    return cast(e, "trunc", on_words(e, "or", sign, size), (WORDS, BYTES))


def is_unknown(e: Emitter, value: str) -> str:
    """Emit the mask of NaN."""
    return e.value(f"fcmp uno {FLOATS} {value}, zeroinitializer")


def rounded(e: Emitter, value: str, dtype: DType) -> str:
    """Round a float32 to an 8-bit float, still in float32: to nearest even, denormals kept."""
    cut = 23 - MANTISSA[dtype]
    bits = cast(e, "bitcast", value, (FLOATS, WORDS))
    sign, size = on_words(e, "and", bits, -(1 << 31)), on_words(e, "and", bits, (1 << 31) - 1)
    odd = on_words(e, "and", on_words(e, "lshr", size, cut), 1)
    half = on_words(e, "add", size, (1 << (cut - 1)) - 1)
    kept = on_words(e, "and", on_words(e, "add", half, odd), -(1 << cut))
    normal = cast(e, "bitcast", kept, (WORDS, FLOATS))
    # adding a number whose steps are those of denormals rounds to them
    magnitude, steps = cast(e, "bitcast", size, (WORDS, FLOATS)), LEAST[dtype] * 2.0**cut
    denormal = on_floats(e, "fsub", on_floats(e, "fadd", magnitude, steps), steps)
    found = chosen(e, on_floats(e, "fcmp olt", magnitude, LEAST[dtype]), FLOATS, denormal, normal)
    over = on_floats(e, "fcmp ogt", normal, LARGEST[dtype])
    if dtype is float8_e5m2:
        found = chosen(e, over, FLOATS, splat(math.inf), found)
    signed = on_words(e, "or", cast(e, "bitcast", found, (FLOATS, WORDS)), sign)
    found = cast(e, "bitcast", signed, (WORDS, FLOATS))
    # a NaN has one sign, as if it had been stored
    if dtype is float8_e4m3fn:
        found = chosen(e, over, FLOATS, splat(math.nan), found)
    return chosen(e, is_unknown(e, value), FLOATS, splat(math.nan), found)
