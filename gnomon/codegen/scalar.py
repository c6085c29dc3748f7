"""The scalar functions as LLVM instructions on vectors, and how values sit in memory and registers.

bfloat16 and float16 are computed in float and rounded after every function, as if stored; truth
values are i1 in registers and bytes in memory. The transcendental functions are in math.py.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import LANES, Emitter, splat, vector
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from gnomon.codegen.math import FUNCTIONS
from gnomon.codegen.noise import emit_threefry
from gnomon.dtypes import DType, bfloat16, bool_, float16, float64
from gnomon.errors import CompileError

V1 = vector("i1")


def register(dtype: DType) -> str:
    """The LLVM scalar type of a value in a register."""
    if dtype is bool_:
        return "i1"
    if dtype.is_floating_point:
        return "double" if dtype is float64 else "float"
    return f"i{dtype.bits}"


def memory(dtype: DType) -> str:
    """The LLVM scalar type of an element in memory."""
    if dtype.is_storage_only:
        raise CompileError(f"codegen: {dtype.name} is not computed with on this backend. Cast it.")
    narrow = {bool_: "i8", bfloat16: "i16", float16: "half"}
    return narrow.get(dtype) or register(dtype)


def constant(value: object, dtype: DType) -> str:
    """A number in every lane."""
    if dtype is bool_:
        return splat(1 if value else 0, "i1")
    return splat(value, register(dtype))


def widen(e: Emitter, value: str, dtype: DType) -> str:
    """A vector as loaded -> as computed with."""
    if dtype is bool_:
        return e.value(f"icmp ne {vector('i8')} {value}, zeroinitializer")
    if dtype is float16:
        return e.value(f"fpext {vector('half')} {value} to {vector('float')}")
    if dtype is bfloat16:
        wide = e.value(f"zext {vector('i16')} {value} to {vector('i32')}")
        wide = e.value(f"shl {vector('i32')} {wide}, {splat(16, 'i32')}")
        return e.value(f"bitcast {vector('i32')} {wide} to {vector('float')}")
    return value


def narrow(e: Emitter, value: str, dtype: DType) -> str:
    """A vector as computed with -> as stored; a bfloat16 must have been rounded."""
    if dtype is bool_:
        return e.value(f"zext {V1} {value} to {vector('i8')}")
    if dtype is float16:
        return e.value(f"fptrunc {vector('float')} {value} to {vector('half')}")
    if dtype is bfloat16:
        bits = e.value(f"bitcast {vector('float')} {value} to {vector('i32')}")
        bits = e.value(f"lshr {vector('i32')} {bits}, {splat(16, 'i32')}")
        return e.value(f"trunc {vector('i32')} {bits} to {vector('i16')}")
    return value


def rounded(e: Emitter, value: str, dtype: DType) -> str:
    """A float rounded to a narrower dtype, still in a float: to nearest even, denormals kept."""
    if dtype is float16:
        half = e.value(f"fptrunc {vector('float')} {value} to {vector('half')}")
        return e.value(f"fpext {vector('half')} {half} to {vector('float')}")
    if dtype is not bfloat16:
        return value
    i32 = vector("i32")
    bits = e.value(f"bitcast {vector('float')} {value} to {i32}")
    high = e.value(f"lshr {i32} {bits}, {splat(16, 'i32')}")
    odd = e.value(f"and {i32} {high}, {splat(1, 'i32')}")
    half = e.value(f"add {i32} {bits}, {splat(0x7FFF, 'i32')}")
    kept = e.value(f"and {i32} {e.value(f'add {i32} {half}, {odd}')}, {splat(-65536, 'i32')}")
    isnan = e.value(f"fcmp uno {vector('float')} {value}, zeroinitializer")
    upper = e.value(f"and {i32} {bits}, {splat(-65536, 'i32')}")
    quiet = e.value(f"or {i32} {upper}, {splat(0x400000, 'i32')}")
    chosen = e.value(f"select {V1} {isnan}, {i32} {quiet}, {i32} {kept}")
    return e.value(f"bitcast {i32} {chosen} to {vector('float')}")


def apply(e: Emitter, f: str, operands: list[str], given: DType, result: DType) -> str:
    """map[f]: operands of dtype `given` to a value of dtype `result`."""
    if f in ("cast", "bitcast"):
        return CASTS[f](e, operands[0], given, result)
    family = "bool" if given is bool_ else "float" if given.is_floating_point else given.kind
    if f in TEMPLATES[family]:
        value = TEMPLATES[family][f](e, register(given), *operands)
    elif given.is_floating_point and f in FUNCTIONS:
        value = FUNCTIONS[f](LlvmAlgebra(e, register(given)), *operands)
    elif f == "threefry":
        value = emit_threefry(e, *operands)
    else:
        raise CompileError(
            f"codegen: no spelling for {f!r} on {given.name}. Add one in codegen/scalar.py."
        )
    return rounded(e, value, result) if result.is_floating_point else value


def cast(e: Emitter, value: str, given: DType, result: DType) -> str:
    """A value in another dtype; floats are cut to integers, anything is a truth value by != 0."""
    a, b = vector(register(given)), vector(register(result))
    if given is result:
        return value
    if result is bool_:
        compare = "fcmp une" if given.is_floating_point else "icmp ne"
        return e.value(f"{compare} {a} {value}, zeroinitializer")
    if given.is_floating_point and result.is_floating_point:
        if a != b:
            value = e.value(f"{'fpext' if b == vector('double') else 'fptrunc'} {a} {value} to {b}")
        return rounded(e, value, result)
    if given.is_floating_point:
        return to_integer(e, value, given, result)
    signed = given.kind == "int"
    if result.is_floating_point:
        return rounded(e, e.value(f"{'sitofp' if signed else 'uitofp'} {a} {value} to {b}"), result)
    if register(given) == register(result):
        return value
    wider = given is bool_ or result.bits > given.bits
    return e.value(f"{('sext' if signed else 'zext') if wider else 'trunc'} {a} {value} to {b}")


def to_integer(e: Emitter, value: str, given: DType, result: DType) -> str:
    """Truncation that saturates, and is 0 for NaN: one result on every CPU."""
    a, b, kind = vector(register(given)), vector(register(result)), result.kind[0].replace("i", "s")
    name = f"llvm.fpto{kind}i.sat.v{LANES}i{result.bits}.v{LANES}f{64 if given is float64 else 32}"
    return e.call(b, name, (a, value))


def bitcast(e: Emitter, value: str, given: DType, result: DType) -> str:
    """The same bits under another dtype."""
    return e.value(f"bitcast {vector(register(given))} {value} to {vector(register(result))}")


CASTS = {"cast": cast, "bitcast": bitcast}


def instruction(name: str) -> Callable:
    """A binary instruction, or a comparison."""
    return lambda e, kind, a, b: e.value(f"{name} {vector(kind)} {a}, {b}")


def intrinsic(name: str) -> Callable:
    """An LLVM intrinsic of any arity on one vector type."""

    def emit(e: Emitter, kind: str, *operands: str) -> str:
        short = {"float": "f32", "double": "f64"}.get(kind, kind)
        return e.call(
            vector(kind), f"{name}.v{LANES}{short}", *[(vector(kind), x) for x in operands]
        )

    return emit


def select(e: Emitter, condition: str, yes: str, no: str, dtype: DType) -> str:
    """where: the condition is a vector of i1."""
    kind = vector(register(dtype))
    return e.value(f"select {V1} {condition}, {kind} {yes}, {kind} {no}")


def one(kind: str) -> str:
    """1 in every lane."""
    return splat(1, kind)


def sqrt(e: Emitter, kind: str, a: str) -> str:
    """The square root, correctly rounded."""
    return intrinsic("llvm.sqrt")(e, kind, a)


def rsqrt(e: Emitter, kind: str, a: str) -> str:
    """1 / sqrt(a): two correctly rounded steps, no approximation instruction."""
    return e.value(f"fdiv {vector(kind)} {one(kind)}, {sqrt(e, kind, a)}")


def sign(e: Emitter, kind: str, a: str) -> str:
    """-1, 0 or 1; NaN stays, and so does the zero's own sign."""
    v = vector(kind)
    unit = intrinsic("llvm.copysign")(e, kind, one(kind), a)
    zero = e.value(f"fcmp one {v} {a}, zeroinitializer")
    return e.value(f"select {V1} {zero}, {v} {unit}, {v} {a}")


def sign_integer(e: Emitter, kind: str, a: str) -> str:
    """-1, 0 or 1."""
    below = intrinsic("llvm.smin")(e, kind, a, one(kind))
    return intrinsic("llvm.smax")(e, kind, below, splat(-1, kind))


def sign_unsigned(e: Emitter, kind: str, a: str) -> str:
    """0 or 1."""
    return intrinsic("llvm.umin")(e, kind, a, one(kind))


def classify(test: str) -> Callable:
    """A test of |a| against infinity."""

    def emit(e: Emitter, kind: str, a: str) -> str:
        size = intrinsic("llvm.fabs")(e, kind, a)
        return e.value(f"fcmp {test} {vector(kind)} {size}, {splat(float('inf'), kind)}")

    return emit


def signbit(e: Emitter, kind: str, a: str) -> str:
    """Whether the sign bit is set."""
    whole = "i64" if kind == "double" else "i32"
    bits = e.value(f"bitcast {vector(kind)} {a} to {vector(whole)}")
    return e.value(f"icmp slt {vector(whole)} {bits}, zeroinitializer")


def guarded_division(name: str, signed: bool) -> Callable:
    """Integer division that gives 0 for a divisor of 0, floors, and wraps at the least integer."""

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
    """Exact integer powers by squaring; negative exponents give 0 unless the base is 1 or -1."""

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
    """The power where the exponent is not negative; else 1, -1 or 0."""
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
    """The upper half of a product."""
    extend = "sext" if signed else "zext"

    def emit(e: Emitter, kind: str, a: str, b: str) -> str:
        double = f"i{2 * int(kind[1:])}"
        v, wide = vector(kind), vector(double)
        left, right = (e.value(f"{extend} {v} {x} to {wide}") for x in (a, b))
        product = e.value(f"mul {wide} {left}, {right}")
        high = e.value(f"lshr {wide} {product}, {splat(int(kind[1:]), double)}")
        return e.value(f"trunc {wide} {high} to {v}")

    return emit


FLOAT = {
    "add": instruction("fadd"),
    "sub": instruction("fsub"),
    "mul": instruction("fmul"),
    "div": instruction("fdiv"),
    "neg": lambda e, kind, a: e.value(f"fneg {vector(kind)} {a}"),
    "abs": intrinsic("llvm.fabs"),
    "sign": sign,
    "minimum": intrinsic("llvm.minimum"),
    "maximum": intrinsic("llvm.maximum"),
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "round": intrinsic("llvm.roundeven"),
    **{f: intrinsic(f"llvm.{f}") for f in ("floor", "ceil", "trunc", "copysign", "fma")},
    "eq": instruction("fcmp oeq"),
    "ne": instruction("fcmp une"),
    "lt": instruction("fcmp olt"),
    "le": instruction("fcmp ole"),
    "gt": instruction("fcmp ogt"),
    "ge": instruction("fcmp oge"),
    "isnan": lambda e, kind, a: e.value(f"fcmp uno {vector(kind)} {a}, zeroinitializer"),
    "isinf": classify("oeq"),
    "isfinite": classify("olt"),
    "signbit": signbit,
}


def integers(signed: bool) -> dict[str, Callable]:
    """The functions on integers of one signedness."""
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
    """A shift; amounts of the width and more push everything out."""

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


TRUTH = {
    "and": instruction("and"),
    "or": instruction("or"),
    "xor": instruction("xor"),
    "ne": instruction("xor"),
    "not": lambda e, kind, a: e.value(f"xor {V1} {a}, {splat(1, 'i1')}"),
    "eq": lambda e, kind, a, b: e.value(f"icmp eq {V1} {a}, {b}"),
    "lt": lambda e, kind, a, b: e.value(f"icmp ult {V1} {a}, {b}"),
    "le": lambda e, kind, a, b: e.value(f"icmp ule {V1} {a}, {b}"),
    "gt": lambda e, kind, a, b: e.value(f"icmp ugt {V1} {a}, {b}"),
    "ge": lambda e, kind, a, b: e.value(f"icmp uge {V1} {a}, {b}"),
    "maximum": instruction("or"),
    "minimum": instruction("and"),
    "mul": instruction("and"),
    "add": instruction("or"),
}
TEMPLATES = {"float": FLOAT, "int": integers(True), "uint": integers(False), "bool": TRUTH}
