"""What PTX instructions compute, by numpy: one rounding each, and the edge cases of PTX ISA 8.0."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor
from typing import Any

import numpy as np

from gnomon.runtime import cpu

TYPES: dict[str, Any] = {
    "pred": np.bool_,
    **{f"s{n}": np.dtype(f"i{n // 8}") for n in (8, 16, 32, 64)},
    **{f"{k}{n}": np.dtype(f"u{n // 8}") for k in ("u", "b") for n in (8, 16, 32, 64)},
    **{f"f{n}": np.dtype(f"f{n // 8}") for n in (16, 32, 64)},
}
"""Types of PTX, as numpy's."""
Function = Callable[..., np.ndarray]


def bits(value: np.ndarray) -> np.ndarray:
    """Numbers as bits without a meaning."""
    return value if value.dtype.kind in ("b", "u") else value.view(f"u{value.dtype.itemsize}")


def typed(value: np.ndarray, kind: str) -> np.ndarray:
    """Bits as numbers of a type: the low ones of a wider register, zeros above a narrower one."""
    wanted = np.dtype(TYPES[kind])
    if value.dtype == wanted:
        return value
    if value.dtype.itemsize != wanted.itemsize:
        value = value.astype(f"u{wanted.itemsize}")
    return value.view(wanted)


# floats


@cache
def native_fma(kind: str) -> Callable[..., None]:
    """The processor's multiply-add over arrays, rounded once."""
    size = 4 if kind == "float" else 8
    text = f"""
define void @fma_{kind}(ptr %a, ptr %b, ptr %c, ptr %d, i64 %n) {{
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %end
body:
  %pa = getelementptr {kind}, ptr %a, i64 %k
  %pb = getelementptr {kind}, ptr %b, i64 %k
  %pc = getelementptr {kind}, ptr %c, i64 %k
  %pd = getelementptr {kind}, ptr %d, i64 %k
  %x = load {kind}, ptr %pa, align {size}
  %y = load {kind}, ptr %pb, align {size}
  %z = load {kind}, ptr %pc, align {size}
  %r = call {kind} @llvm.fma.f{8 * size}({kind} %x, {kind} %y, {kind} %z)
  store {kind} %r, ptr %pd, align {size}
  %next = add i64 %k, 1
  br label %head
end:
  ret void
}}
declare {kind} @llvm.fma.f{8 * size}({kind}, {kind}, {kind})
"""
    name = f"fma_{kind}"
    held = cpu.load({name: text})
    words = [ctypes.c_void_p] * 4 + [ctypes.c_int64]
    function = ctypes.CFUNCTYPE(None, *words)(held[name])
    function.held = held  # type: ignore[attr-defined]
    return function


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c, rounded once."""
    a, b, c = (np.ascontiguousarray(x) for x in (a, b, c))
    made = np.empty_like(a)
    kind = "float" if a.dtype.itemsize == 4 else "double"
    places = (x.ctypes.data for x in (a, b, c, made))
    native_fma(kind)(*places, len(a))
    return made


def flushed(x: np.ndarray) -> np.ndarray:
    """Denormals as zeros of their sign."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def fma_ftz(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c with denormals as zeros, before and after."""
    return flushed(fma(flushed(a), flushed(b), flushed(c)))


def extreme(a: np.ndarray, b: np.ndarray, larger: bool, nans: bool) -> np.ndarray:
    """The larger or smaller of two; a NaN loses or wins, and -0 is below 0."""
    if a.dtype.kind != "f":
        return np.maximum(a, b) if larger else np.minimum(a, b)
    below = (a < b) | ((a == b) & np.signbit(a) & ~np.signbit(b))
    made = np.where(below == larger, b, a)
    made = np.where(np.isnan(a), b, np.where(np.isnan(b), a, made))
    either = np.isnan(a) | np.isnan(b)
    return np.where(either & nans, np.array(np.nan, a.dtype), made)


# integers


def shifted(a: np.ndarray, by: np.ndarray, left: bool) -> np.ndarray:
    """A shift; by the width or more it leaves nothing, or signs."""
    width = 8 * a.dtype.itemsize
    far, by = by >= width, np.minimum(by, width - 1).astype(a.dtype)
    if left:
        return np.where(far, a.dtype.type(0), a << by)
    return np.where(far, a >> a.dtype.type(width - 1) if a.dtype.kind == "i" else 0, a >> by)


def high(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper half of a product."""
    width = 8 * a.dtype.itemsize
    rows = [(int(x) * int(y)) >> width for x, y in zip(a, b, strict=True)]
    return np.array([x & ((1 << width) - 1) for x in rows], f"u{a.dtype.itemsize}").view(a.dtype)


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A quotient, cut to a whole number towards zero."""
    safe = np.where(b == 0, a.dtype.type(1), b)
    made = a // safe
    if a.dtype.kind == "i":
        made = made + ((a % safe != 0) & ((a < 0) != (safe < 0)))
    return made


def field_of(a: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """bfe: some bits of a number."""
    width = 8 * a.dtype.itemsize
    length = np.minimum(length & 255, width)
    mask = np.array([(1 << int(n)) - 1 for n in length], a.dtype)
    return shifted(a, start & 255, False) & mask


def funnel(left: bool) -> Function:
    """shf: a word out of two, shifted by less than a word."""

    def function(a: np.ndarray, b: np.ndarray, by: np.ndarray) -> np.ndarray:
        whole = (b.astype(np.uint64) << np.uint64(32)) | a
        by = (by & 31).astype(np.uint64)
        made = (whole << by) >> np.uint64(32) if left else whole >> by
        return made.astype(np.uint32)

    return function


def with_field(a: np.ndarray, b: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """bfi: the second operand with some bits of the first."""
    mask = np.array([(1 << int(n)) - 1 for n in length & 255], a.dtype)
    return (b & ~shifted(mask, start & 255, True)) | shifted(a & mask, start & 255, True)


def permuted(a: np.ndarray, b: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """prmt: bytes of two words, or their signs."""
    words = np.ascontiguousarray(np.stack([a, b], 1))
    whole = words.view(np.uint8).reshape(-1, 8)
    made = np.empty((len(a), 4), np.uint8)
    for k in range(4):
        nibble = (chosen >> np.uint32(4 * k)) & np.uint32(15)
        byte = np.take_along_axis(whole, (nibble & 7).astype(int)[:, None], 1)[:, 0]
        made[:, k] = np.where(nibble & 8, np.where(byte & 128, 255, 0), byte)
    return made.view(np.uint32)[:, 0]


def counted(a: np.ndarray) -> np.ndarray:
    """popc: how many bits are set."""
    return np.array([int(x).bit_count() for x in a], np.uint32)


def leading(a: np.ndarray) -> np.ndarray:
    """clz: how many zeros stand before the first set bit."""
    width = 8 * a.dtype.itemsize
    return np.array([width - int(x).bit_length() for x in a], np.uint32)


def copysign(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The second operand with the sign of the first."""
    return np.copysign(b, a)


ARITHMETIC: dict[str, Function] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": lambda a, b: a / b if a.dtype.kind == "f" else divided(a, b),
    "rem": lambda a, b: a - divided(a, b) * b,
    "mad": lambda a, b, c: a * b + c,
    "and": and_,
    "or": or_,
    "xor": xor,
    "not": lambda a: ~a,
    "neg": lambda a: -a,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rcp": lambda a: a.dtype.type(1) / a,
    "copysign": copysign,
    "bfe": field_of,
    "bfi": with_field,
    "prmt": permuted,
    "popc": counted,
    "clz": leading,
    "fma": fma,
}
"""Operations whose operands and result have the type at the end of their names."""
OPERANDS = {"mad": 3, "fma": 3, "prmt": 3, "bfe": 3, "bfi": 4} | dict.fromkeys(
    ("not", "neg", "abs", "sqrt", "rcp", "popc", "clz"), 1
)
"""How many operands there are, where they are not two."""
PASSED_OVER = frozenset({"rn", "lo", "wide", "ftz", "NaN", "hi"})
"""Words of an instruction that the functions take into account, or that say what is always so."""


def function_of(op: str, more: tuple[str, ...]) -> tuple[Function, Sequence[str], str]:
    """The function of an instruction, the types of its operands, and that of its result.

    Raises AssertionError for what no kernel uses.
    """
    kind = more[-1]
    if op == "setp":
        return compared(more[0]), (kind, kind), "pred"
    if op == "selp":
        return (lambda a, b, p: np.where(p, a, b)), (kind, kind, "pred"), kind
    if op == "cvt":
        return converted(more)
    if op in ("shl", "shr"):
        return (lambda a, by: shifted(a, by, op == "shl")), (kind, "u32"), kind
    if op == "shf":
        assert more[1] == "wrap", f"ptx: shf.{'.'.join(more)} is not known"
        return funnel(more[0] == "l"), (kind, kind, "u32"), kind
    if op in ("min", "max"):
        larger, nans = op == "max", "NaN" in more
        return (lambda a, b: extreme(a, b, larger, nans)), (kind, kind), kind
    assert op in ARITHMETIC, f"ptx: {op}.{'.'.join(more)} is not known"
    assert PASSED_OVER.issuperset(more[:-1]), f"ptx: {op}.{'.'.join(more)} is not known"
    function, count = ARITHMETIC[op], OPERANDS.get(op, 2)
    if op == "fma" and "ftz" in more:
        function = fma_ftz
    elif "hi" in more:
        function = high
    elif "wide" in more:
        wide = f"{kind[0]}{2 * int(kind[1:])}"
        return (lambda a, b: a.astype(TYPES[wide]) * b.astype(TYPES[wide])), (kind, kind), wide
    kinds = (*(kind,) * (count - 2), "u32", "u32") if op in ("bfe", "bfi") else (kind,) * count
    return function, kinds, "u32" if op in ("popc", "clz") else kind


COMPARISONS: dict[str, Function] = {
    **{"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge},
    **{"lo": lt, "ls": le, "hi": gt, "hs": ge},
}


def compared(name: str) -> Function:
    """A comparison; of floats one with a NaN is false, or true where its name ends in u."""

    def function(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind != "f":
            return COMPARISONS[name](a, b)
        unordered = np.isnan(a) | np.isnan(b)
        if name in ("nan", "num"):
            return unordered if name == "nan" else ~unordered
        if len(name) == 3:
            return COMPARISONS[name[:2]](a, b) | unordered
        return COMPARISONS[name](a, b) & ~unordered

    return function


ROUNDINGS: dict[str, Function] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def converted(more: Sequence[str]) -> tuple[Function, Sequence[str], str]:
    """cvt: to another type; whole numbers that do not fit become the nearest that does."""
    *words, goal, source = more
    assert set(words) <= {"rn", "sat", *ROUNDINGS}, f"ptx: cvt.{'.'.join(more)} is not known"
    if goal == "f16x2":
        return paired, (source, source), "u32"
    rounding = next((ROUNDINGS[word] for word in words if word in ROUNDINGS), None)
    made = np.dtype(TYPES[goal])

    def function(a: np.ndarray) -> np.ndarray:
        a = a if rounding is None else rounding(a)
        if a.dtype.kind != "f" or made.kind == "f":
            return a.astype(made)
        limits = np.iinfo(made)
        inside = (a >= float(limits.min)) & (a < float(limits.max) + 1)
        whole = np.where(inside, a, 0).astype(made)
        return np.where(inside | np.isnan(a), whole, np.where(a < 0, limits.min, limits.max))

    if made.itemsize == 1:  # registers are wider, and take its sign
        wide = f"{goal[0]}32"
        return (lambda a: function(a).astype(TYPES[wide])), (source,), wide
    return function, (source,), goal


def paired(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Two halves in one word, the first above the second."""
    upper, lower = (x.astype(np.float16).view(np.uint16).astype(np.uint32) for x in (a, b))
    return (upper << np.uint32(16)) | lower
