"""Functions of integers as LLVM instructions on vectors, and how an instruction is written.

Those of floats and truth values are in scalar.py.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import LANES, Emitter, splat, vector

V1 = vector("i1")


def instruction(name: str) -> Callable:
    """The emitter of a binary LLVM instruction, or of a comparison."""
    return lambda e, kind, a, b: e.value(f"{name} {vector(kind)} {a}, {b}")


def intrinsic(name: str) -> Callable:
    """The emitter of an LLVM intrinsic of any arity on one vector type."""

    def emit(e: Emitter, kind: str, *operands: str) -> str:
        short = {"float": "f32", "double": "f64"}.get(kind, kind)
        return e.call(
            vector(kind), f"{name}.v{LANES}{short}", *[(vector(kind), x) for x in operands]
        )

    return emit


def one(kind: str) -> str:
    """1 in every lane."""
    return splat(1, kind)


def sign_integer(e: Emitter, kind: str, a: str) -> str:
    """The sign of signed integers: -1, 0 or 1."""
    below = intrinsic("llvm.smin")(e, kind, a, one(kind))
    return intrinsic("llvm.smax")(e, kind, below, splat(-1, kind))


def sign_unsigned(e: Emitter, kind: str, a: str) -> str:
    """The sign of unsigned integers: 0 or 1."""
    return intrinsic("llvm.umin")(e, kind, a, one(kind))


def guarded_division(name: str, signed: bool) -> Callable:
    """The emitter of integer division: 0 for a divisor of 0, floors, wraps at the least integer."""

    def emit(e: Emitter, kind: str, a: str, b: str) -> str:
        v = vector(kind)
        zero = e.value(f"icmp eq {v} {b}, zeroinitializer")
        safe = e.value(f"select {V1} {zero}, {v} {one(kind)}, {v} {b}")
        if not signed:
            found = e.value(f"{'udiv' if name == 'floor_divide' else 'urem'} {v} {a}, {safe}")
        else:
            found = floored(e, kind, a, safe, name)
        return e.value(f"select {V1} {zero}, {v} zeroinitializer, {v} {found}")

    return emit


def floored(e: Emitter, kind: str, a: str, b: str, name: str) -> str:
    """Signed division towards minus infinity, or its remainder."""
    v = vector(kind)
    minus = e.value(f"icmp eq {v} {b}, {splat(-1, kind)}")
    divisor = e.value(f"select {V1} {minus}, {v} {one(kind)}, {v} {b}")
    quotient = e.value(f"sdiv {v} {a}, {divisor}")
    rest = e.value(f"sub {v} {a}, {e.value(f'mul {v} {quotient}, {divisor}')}")
    crossed = e.value(f"icmp slt {v} {e.value(f'xor {v} {rest}, {b}')}, zeroinitializer")
    wrong = e.value(f"and {V1} {crossed}, {e.value(f'icmp ne {v} {rest}, zeroinitializer')}")
    if name == "remainder":
        return e.value(f"select {V1} {wrong}, {v} {e.value(f'add {v} {rest}, {b}')}, {v} {rest}")
    lower = e.value(f"sub {v} {quotient}, {one(kind)}")
    quotient = e.value(f"select {V1} {wrong}, {v} {lower}, {v} {quotient}")
    negated = e.value(f"sub {v} zeroinitializer, {a}")
    return e.value(f"select {V1} {minus}, {v} {negated}, {v} {quotient}")


def power_integer(signed: bool) -> Callable:
    """The emitter of integer powers by squaring; negative exponents give 0 unless x is 1 or -1."""

    def emit(e: Emitter, kind: str, a: str, b: str) -> str:
        v, bits = vector(kind), int(kind[1:])
        power, square = one(kind), a
        for k in range(bits if not signed else bits - 1):
            taken = e.value(f"and {v} {e.value(f'lshr {v} {b}, {splat(k, kind)}')}, {one(kind)}")
            on = e.value(f"icmp ne {v} {taken}, zeroinitializer")
            power = e.value(
                f"select {V1} {on}, {v} {e.value(f'mul {v} {power}, {square}')}, {v} {power}"
            )
            square = e.value(f"mul {v} {square}, {square}")
        return negative_power(e, kind, a, b, power) if signed else power

    return emit


def negative_power(e: Emitter, kind: str, a: str, b: str, power: str) -> str:
    """Select the power if the exponent is not negative, else 1, -1 or 0."""
    v = vector(kind)
    odd = e.value(f"icmp ne {v} {e.value(f'and {v} {b}, {one(kind)}')}, zeroinitializer")
    flips = e.value(f"select {V1} {odd}, {v} {splat(-1, kind)}, {v} {one(kind)}")
    minus = e.value(f"icmp eq {v} {a}, {splat(-1, kind)}")
    other = e.value(f"select {V1} {minus}, {v} {flips}, {v} zeroinitializer")
    unit = e.value(f"icmp eq {v} {a}, {one(kind)}")
    below = e.value(f"select {V1} {unit}, {v} {one(kind)}, {v} {other}")
    return e.value(
        f"select {V1} {e.value(f'icmp slt {v} {b}, zeroinitializer')}, {v} {below}, {v} {power}"
    )


def mul_high(signed: bool) -> Callable:
    """The emitter of the upper half of a product."""
    extend = "sext" if signed else "zext"

    def emit(e: Emitter, kind: str, a: str, b: str) -> str:
        double = f"i{2 * int(kind[1:])}"
        v, wide = vector(kind), vector(double)
        left, right = (e.value(f"{extend} {v} {x} to {wide}") for x in (a, b))
        product = e.value(f"mul {wide} {left}, {right}")
        high = e.value(f"lshr {wide} {product}, {splat(int(kind[1:]), double)}")
        return e.value(f"trunc {wide} {high} to {v}")

    return emit


def integers(signed: bool) -> dict[str, Callable]:
    """The table of emitters on integers, signed or unsigned."""
    s = "s" if signed else "u"
    return {
        "add": instruction("add"),
        "sub": instruction("sub"),
        "mul": instruction("mul"),
        "neg": lambda e, kind, a: e.value(f"sub {vector(kind)} zeroinitializer, {a}"),
        "abs": absolute if signed else lambda e, kind, a: a,
        "sign": sign_integer if signed else sign_unsigned,
        "minimum": intrinsic(f"llvm.{s}min"),
        "maximum": intrinsic(f"llvm.{s}max"),
        "floor_divide": guarded_division("floor_divide", signed),
        "remainder": guarded_division("remainder", signed),
        "pow": power_integer(signed),
        "and": instruction("and"),
        "or": instruction("or"),
        "xor": instruction("xor"),
        "not": lambda e, kind, a: e.value(f"xor {vector(kind)} {a}, {splat(-1, kind)}"),
        "shift_left": shift("shl", False),
        "shift_right": shift("ashr" if signed else "lshr", signed),
        "mul_high": mul_high(signed),
        "eq": instruction("icmp eq"),
        "ne": instruction("icmp ne"),
        "lt": instruction(f"icmp {s}lt"),
        "le": instruction(f"icmp {s}le"),
        "gt": instruction(f"icmp {s}gt"),
        "ge": instruction(f"icmp {s}ge"),
    }


def absolute(e: Emitter, kind: str, a: str) -> str:
    """|a|, which wraps at the least integer."""
    v = vector(kind)
    negated = e.value(f"sub {v} zeroinitializer, {a}")
    return e.value(
        f"select {V1} {e.value(f'icmp slt {v} {a}, zeroinitializer')}, {v} {negated}, {v} {a}"
    )


def shift(name: str, arithmetic: bool) -> Callable:
    """The emitter of a shift; amounts of the width and more shift everything out."""

    def emit(e: Emitter, kind: str, a: str, b: str) -> str:
        v, bits = vector(kind), int(kind[1:])
        fits = e.value(f"icmp ult {v} {b}, {splat(bits, kind)}")
        if arithmetic:
            amount = e.value(f"select {V1} {fits}, {v} {b}, {v} {splat(bits - 1, kind)}")
            return e.value(f"{name} {v} {a}, {amount}")
        amount = e.value(f"select {V1} {fits}, {v} {b}, {v} zeroinitializer")
        moved = e.value(f"{name} {v} {a}, {amount}")
        return e.value(f"select {V1} {fits}, {v} {moved}, {v} zeroinitializer")

    return emit
