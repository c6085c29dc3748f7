"""The vector functions by name, and how precise each is.

Each is written once over an Algebra: `FUNCTIONS[name](algebra, *values)` writes LLVM text, or
computes the same bits in numpy. Arithmetic and comparisons are not here: an Algebra has them.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen import (
    math_errors,
    math_exponentials,
    math_logarithms,
    math_rounding,
    math_trigonometry,
)
from gnomon.codegen.algebra import Value

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "acos": math_trigonometry.acos,
    "acosh": math_logarithms.acosh,
    "asin": math_trigonometry.asin,
    "asinh": math_logarithms.asinh,
    "atan": math_trigonometry.atan,
    "atan2": math_trigonometry.atan2,
    "atanh": math_logarithms.atanh,
    "ceil": math_rounding.ceil,
    "cos": math_trigonometry.cos,
    "cosh": math_exponentials.cosh,
    "erf": math_errors.erf,
    "erfc": math_errors.erfc,
    "exp": math_exponentials.exp,
    "exp2": math_exponentials.exp2,
    "expm1": math_exponentials.expm1,
    "floor": math_rounding.floor,
    "floor_divide": math_rounding.floor_divide,
    "fmod": math_rounding.fmod,
    "log": math_logarithms.natural,
    "log10": math_logarithms.log10,
    "log1p": math_logarithms.log1p,
    "log2": math_logarithms.log2,
    "nextafter": math_rounding.nextafter,
    "pow": math_logarithms.power,
    "remainder": math_rounding.remainder,
    "round": math_rounding.nearest_even,
    "rsqrt": math_rounding.rsqrt,
    "sigmoid": math_exponentials.sigmoid,
    "sin": math_trigonometry.sin,
    "sinh": math_exponentials.sinh,
    "tan": math_trigonometry.tan,
    "tanh": math_exponentials.tanh,
    "trunc": math_rounding.trunc,
}

BOUNDS: dict[str, tuple[float, float]] = {
    "acos": (0.51, 1.5),
    "acosh": (0.51, 3.0),
    "asin": (0.51, 2.5),
    "asinh": (0.51, 2.5),
    "atan": (0.51, 2.5),
    "atan2": (0.51, 2.5),
    "atanh": (0.51, 2.5),
    "cos": (1.7, 1.7),
    "cosh": (0.51, 2.0),
    "erf": (1.2, 1.5),
    "erfc": (0.51, 3.5),
    "exp": (1.7, 1.7),
    "exp2": (1.0, 1.0),
    "expm1": (1.7, 2.0),
    "log": (1.1, 1.1),
    "log10": (0.51, 3.0),
    "log1p": (1.7, 1.7),
    "log2": (0.51, 2.0),
    "pow": (0.51, 1.0),
    "rsqrt": (1.5, 1.5),
    "sigmoid": (2.5, 2.5),
    "sin": (1.7, 1.7),
    "sinh": (0.51, 2.5),
    "tan": (0.51, 3.0),
    "tanh": (1.7, 3.0),
}
"""The largest error in units of the last place, in float and in double; the others are exact.

Circular functions keep theirs up to 2^45, and are NaN beyond.
"""
