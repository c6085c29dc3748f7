"""Rows for functions that work element by element, with broadcasting, and for `where`."""

from __future__ import annotations

from tests.parity.record import Table, between, booleans, distinct, exactly, integers, normal

TABLE = Table()
add, each = TABLE.add, TABLE.each

# one argument, smooth everywhere
each(
    "exp expm1 sin cos tanh sigmoid square erf atan sinh cosh asinh neg abs positive exp2",
    lambda f, x: f(x),
    normal(3, 5),
)
each(
    "log log2 log10 sqrt rsqrt reciprocal log1p lgamma",
    lambda f, x: f(x),
    between(0.2, 4.0, 3, 5),
)
# torch's slope has ten digits there
each("digamma", lambda f, x: f(x), between(0.2, 4.0, 3, 5), slack=100.0)
each("asin acos atanh erfinv logit", lambda f, x: f(x), between(0.1, 0.8, 7))
each("acosh", lambda f, x: f(x), between(1.2, 5.0, 7))
each("tan erfc", lambda f, x: f(x), between(-1.2, 1.2, 7))
each(
    "sign floor ceil trunc round frac",
    lambda f, x: f(x),
    exactly([-2.7, -1.5, -0.4, 0.3, 0.5, 2.5, 3.6]),
)
add("exp far out", lambda lib, x: lib.exp(x), exactly([-90.0, -40.0, 0.0, 40.0, 80.0]), slack=4.0)
add("tanh far out", lambda lib, x: lib.tanh(x), exactly([-30.0, -1e-6, 1e-6, 0.0, 30.0]))
add("sigmoid far out", lambda lib, x: lib.sigmoid(x), exactly([-60.0, -1e-3, 0.0, 20.0, 90.0]))
add("log near one", lambda lib, x: lib.log(x), exactly([0.999, 1.0, 1.001, 1e-30, 1e30]))
add("round to decimals", lambda lib, x: lib.round(x, decimals=2), normal(9), gradient=False)
add(
    "nan_to_num",
    lambda lib, x: lib.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0),
    exactly([float("nan"), float("inf"), -float("inf"), 0.5]),
)

# two arguments
each("add sub mul", lambda f, x, y: f(x, y), normal(3, 5), normal(3, 5))
each("div divide true_divide", lambda f, x, y: f(x, y), normal(3, 5), between(0.5, 2.0, 3, 5))
each("maximum minimum fmax fmin", lambda f, x, y: f(x, y), distinct(3, 5), normal(3, 5))
each("atan2 hypot logaddexp", lambda f, x, y: f(x, y), normal(3, 5), between(0.5, 2.0, 3, 5))
each(
    "remainder fmod floor_divide",
    lambda f, x, y: f(x, y),
    exactly([-7.3, -2.1, 3.4, 8.9]),
    exactly([2.0, 1.5, -1.25, 2.5]),
    gradient=False,
)
add(
    "fmod of integers",
    lambda lib, i, j: lib.fmod(i, j),
    integers(-99, 99, 3, 9),
    exactly([1, -2, 3, -4, 5, -7, 11, -50, 99], "int64"),
)
each("eq ne lt le gt ge", lambda f, i, j: f(i, j), integers(0, 3, 4, 5), integers(0, 3, 5))
each("logical_and logical_or logical_xor", lambda f, a, b: f(a, b), booleans(3, 4), booleans(4))
each("logical_not bitwise_not", lambda f, a: f(a), booleans(7))
each(
    "bitwise_and bitwise_or bitwise_xor",
    lambda f, i, j: f(i, j),
    integers(-99, 99, 9),
    integers(-99, 99, 9),
)
each(
    "bitwise_left_shift bitwise_right_shift",
    lambda f, i, j: f(i, j),
    integers(-99, 99, 9),
    integers(0, 5, 9),
)
each(
    "isnan isinf isfinite",
    lambda f, x: f(x),
    exactly([1.0, float("nan"), float("inf"), -float("inf")]),
    gradient=False,
)
each("xlogy copysign", lambda f, x, y: f(x, y), normal(7), between(0.5, 2.0, 7), gradient=False)
add("add with alpha", lambda lib, x, y: lib.add(x, y, alpha=0.3), normal(3), normal(3))
add("sub with alpha", lambda lib, x, y: x.sub(y, alpha=2), normal(3), normal(3))
add("div rounding down", lambda lib, i: lib.div(i, 3, rounding_mode="floor"), integers(-9, 9, 7))
add("div rounding to zero", lambda lib, i: lib.div(i, 3, rounding_mode="trunc"), integers(-9, 9, 7))
add("equal says one bool", lambda lib, i: i.equal(i), integers(0, 5, 4))
add("allclose says one bool", lambda lib, x: lib.allclose(x, x + 1e-9), normal(4), gradient=False)
add("isclose", lambda lib, x: lib.isclose(x, x + 1e-3), normal(4), gradient=False)
add("float remainder operator", lambda lib, x: x % 1.0, exactly([-2.75, -0.5, 0.25, 3.5]))
add(
    "float floor division operator",
    lambda lib, x: x // 0.5,
    exactly([-2.75, -0.6, 0.2, 3.6]),
    gradient=False,
)

# broadcasting
add("broadcast a row", lambda lib, x, y: x * y, normal(3, 5), normal(5))
add("broadcast a column", lambda lib, x, y: x - y, normal(3, 5), normal(3, 1))
add("broadcast both", lambda lib, x, y: x / (2 + y * y), normal(3, 1, 2), normal(5, 1))
add("broadcast no axes", lambda lib, x, y: x + y, normal(3, 5), normal())
add("an empty axis", lambda lib, x: lib.exp(x) * 2, normal(0, 3))

# powers and operators with numbers
add("power two", lambda lib, x: x**2, normal(5))
add("power three", lambda lib, x: x.pow(3), normal(5))
add("power half", lambda lib, x: x**0.5, between(0.5, 2.0, 5))
add("power minus two", lambda lib, x: lib.pow(x, -2), between(0.5, 2.0, 5))
# torch gives zeros where nothing flows, here there is no gradient
add("power zero", lambda lib, x: x**0, normal(5), gradient=False)
add("power of a number", lambda lib, x: 2.5**x, normal(5))
add("power of a tensor", lambda lib, x, y: x**y, between(0.5, 2.0, 5), normal(5))
add("numbers on the left", lambda lib, x: 1 - 2 / (3 + x), between(0.5, 2.0, 5))
add("minus and abs", lambda lib, x: -abs(x) + x, distinct(7))
add("operators on bools", lambda lib, a, b: (a & ~b) | (a ^ b), booleans(8), booleans(8))
add("shifts", lambda lib, i: (i << 3) + (i >> 1), integers(-50, 50, 8))
add("comparison with a number", lambda lib, x: (x > 0.5) | (x <= -1), distinct(9), gradient=False)
add("a chain of operators", lambda lib, x, y: ((x + 1) * y - x / 4) ** 2 + y, normal(4), normal(4))

# clamping and choosing
add("clamp", lambda lib, x: lib.clamp(x, -0.6, 0.9), distinct(11))
add("clamp from below", lambda lib, x: x.clamp(min=0.1), distinct(11))
add("clamp from above", lambda lib, x: lib.clamp(x, max=0.1), distinct(11))
add("clip", lambda lib, x: lib.clip(x, -1.1, 1.1), distinct(11))
add("clamp by tensors", lambda lib, x, y: lib.clamp(x, min=y), distinct(9), normal(9))
add("clamp_min", lambda lib, x: x.clamp_min(0.1), distinct(9))
add("where", lambda lib, m, x, y: lib.where(m, x, y), booleans(3, 5), normal(3, 5), normal(3, 5))
add("where with a number", lambda lib, m, x: lib.where(m, x, 0.0), booleans(3, 5), normal(3, 5))
add("where with numbers", lambda lib, m: lib.where(m, 1.0, -1.0), booleans(6))
add(
    "where broadcasts",
    lambda lib, m, x, y: lib.where(m, x, y),
    booleans(3, 1),
    normal(5),
    normal(3, 5),
)
add(
    "where hides a pole",
    lambda lib, x: lib.where(x > 0, lib.log(x.clamp(min=0.01)), x),
    distinct(9),
)
add("masked_fill", lambda lib, x, m: x.masked_fill(m, -1e9), normal(3, 5), booleans(3, 5))
add(
    "masked_fill broadcasts",
    lambda lib, x, m: x.masked_fill(m[:, None], 0),
    normal(3, 5),
    booleans(3),
)
add("lerp", lambda lib, x, y: lib.lerp(x, y, 0.3), normal(5), normal(5))
add(
    "addcmul", lambda lib, x, y, z: lib.addcmul(x, y, z, value=0.5), normal(5), normal(5), normal(5)
)
add(
    "addcdiv",
    lambda lib, x, y, z: lib.addcdiv(x, y, z, value=2),
    normal(5),
    normal(5),
    between(1.0, 2.0, 5),
)
add("detach stops the gradient", lambda lib, x: x * x.detach(), normal(5))
add(
    "heaviside",
    lambda lib, x: lib.heaviside(x, lib.tensor(0.5, dtype=x.dtype)),
    exactly([-1.0, 0.0, 2.0]),
    gradient=False,
)
