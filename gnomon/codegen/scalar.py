"""The scalar functions as LLVM instructions on vectors, and how values sit in memory and registers.

bfloat16 and float16 are computed in float and rounded after every function, as if stored; truth
values are i1 in registers and bytes in memory. The transcendental functions are in math.py.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen import float8
from gnomon.codegen.emitter import LANES, Emitter, splat, vector
from gnomon.codegen.float8 import FLOATS8
from gnomon.codegen.integers import V1, instruction, integers, intrinsic, one
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from gnomon.codegen.math import FUNCTIONS
from gnomon.codegen.noise import emit_threefry
from gnomon.dtypes import DType, bfloat16, bool_, float16, float64, int32, int64
from gnomon.errors import CompileError


def register(dtype: DType) -> str:
    """The LLVM scalar type of a value in a register."""
    if dtype is bool_:
        return "i1"
    if dtype.is_floating_point:
        return "double" if dtype is float64 else "float"
    return f"i{dtype.bits}"


def memory(dtype: DType) -> str:
    """The LLVM scalar type of an element in memory."""
    narrow = {bool_: "i8", bfloat16: "i16", float16: "half", **dict.fromkeys(FLOATS8, "i8")}
    return narrow.get(dtype) or register(dtype)


def constant(value: object, dtype: DType) -> str:
    """A number in every lane."""
    if dtype is bool_:
        return splat(1 if value else 0, "i1")
    return splat(value, register(dtype))


def widen(e: Emitter, value: str, dtype: DType) -> str:
    """Convert a vector as loaded to the type that is computed with."""
    if dtype is bool_:
        return e.value(f"icmp ne {vector('i8')} {value}, zeroinitializer")
    if dtype is float16:
        return e.value(f"fpext {vector('half')} {value} to {vector('float')}")
    if dtype is bfloat16:
        wide = e.value(f"zext {vector('i16')} {value} to {vector('i32')}")
        wide = e.value(f"shl {vector('i32')} {wide}, {splat(16, 'i32')}")
        return e.value(f"bitcast {vector('i32')} {wide} to {vector('float')}")
    return float8.widened(e, value, dtype) if dtype in FLOATS8 else value


def narrow(e: Emitter, value: str, dtype: DType) -> str:
    """Convert a vector to its type in memory; a bfloat16 must have been rounded."""
    if dtype is bool_:
        return e.value(f"zext {V1} {value} to {vector('i8')}")
    if dtype is float16:
        return e.value(f"fptrunc {vector('float')} {value} to {vector('half')}")
    if dtype is bfloat16:
        bits = e.value(f"bitcast {vector('float')} {value} to {vector('i32')}")
        bits = e.value(f"lshr {vector('i32')} {bits}, {splat(16, 'i32')}")
        return e.value(f"trunc {vector('i32')} {bits} to {vector('i16')}")
    return float8.narrowed(e, value, dtype) if dtype in FLOATS8 else value


def rounded(e: Emitter, value: str, dtype: DType) -> str:
    """A float rounded to a narrower dtype, still in a float: to nearest even, denormals kept."""
    if dtype is float16:
        half = e.value(f"fptrunc {vector('float')} {value} to {vector('half')}")
        return e.value(f"fpext {vector('half')} {half} to {vector('float')}")
    if dtype in FLOATS8:
        return float8.rounded(e, value, dtype)
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
    """Convert a value to another dtype; floats are truncated, != 0 is a truth value."""
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
    """Emit truncation to an integer, 0 for NaN: one result on every CPU.

    int32 and int64 saturate. The others keep the low bits of a wider signed integer, as PyTorch's
    do on x86, and are 0 beyond that.
    """
    kind = register(given)
    if result in (int32, int64):
        name = f"llvm.fptosi.sat.v{LANES}i{result.bits}.v{LANES}f{64 if kind == 'double' else 32}"
        return e.call(vector(register(result)), name, (vector(kind), value))
    bits = 32 if result.bits <= 16 else 64
    size = intrinsic("llvm.fabs")(e, kind, value)
    within = e.value(f"fcmp olt {vector(kind)} {size}, {splat(2.0 ** (bits - 1), kind)}")
    whole = cut(e, "fptosi", value, within, (kind, f"i{bits}"))
    if result.bits < bits:
        return e.value(f"trunc {vector(f'i{bits}')} {whole} to {vector(register(result))}")
    over = e.value(f"fcmp oge {vector(kind)} {value}, {splat(2.0**63, kind)}")
    under = e.value(f"fcmp olt {vector(kind)} {value}, {splat(2.0**64, kind)}")
    upper = cut(e, "fptoui", value, e.both(over, under), (kind, "i64"))
    return e.value(f"or {vector('i64')} {whole}, {upper}")


def cut(e: Emitter, name: str, value: str, within: str, kinds: tuple[str, str]) -> str:
    """Convert values within the target's range; others give 0."""
    a, b = map(vector, kinds)
    safe = e.value(f"select {V1} {within}, {a} {value}, {a} zeroinitializer")
    return e.value(f"{name} {a} {safe} to {b}")


def bitcast(e: Emitter, value: str, given: DType, result: DType) -> str:
    """Reinterpret the bits as another dtype with elements of equal width."""
    stored, kinds = narrow(e, value, given), [vector(memory(x)) for x in (given, result)]
    return widen(e, e.value(f"bitcast {kinds[0]} {stored} to {kinds[1]}"), result)


CASTS = {"cast": cast, "bitcast": bitcast}


def select(e: Emitter, condition: str, yes: str, no: str, dtype: DType) -> str:
    """where: the condition is a vector of i1."""
    kind = vector(register(dtype))
    return e.value(f"select {V1} {condition}, {kind} {yes}, {kind} {no}")


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


def classify(test: str) -> Callable:
    """The emitter of a test of |a| against infinity."""

    def emit(e: Emitter, kind: str, a: str) -> str:
        size = intrinsic("llvm.fabs")(e, kind, a)
        return e.value(f"fcmp {test} {vector(kind)} {size}, {splat(float('inf'), kind)}")

    return emit


def signbit(e: Emitter, kind: str, a: str) -> str:
    """Whether the sign bit is set."""
    whole = "i64" if kind == "double" else "i32"
    bits = e.value(f"bitcast {vector(kind)} {a} to {vector(whole)}")
    return e.value(f"icmp slt {vector(whole)} {bits}, zeroinitializer")


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
