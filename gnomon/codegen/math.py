"""The vector functions by name; docs/accuracy.md says how precise each is.

Each is written once over an Algebra: `FUNCTIONS[name](algebra, *values)` writes LLVM text, or
computes the same bits in numpy. Arithmetic and comparisons are not here: an Algebra has them.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen import (
    math_activations,
    math_errors,
    math_exponentials,
    math_gamma,
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
    "digamma": math_gamma.digamma,
    "erf": math_errors.erf,
    "erfc": math_errors.erfc,
    "exp": math_exponentials.exp,
    "exp2": math_exponentials.exp2,
    "expm1": math_exponentials.expm1,
    "floor": math_rounding.floor,
    "floor_divide": math_rounding.floor_divide,
    "fmod": math_rounding.fmod,
    "gelu": math_activations.gelu,
    "gelu_tanh": math_activations.gelu_tanh,
    "lgamma": math_gamma.lgamma,
    "log": math_logarithms.natural,
    "log10": math_logarithms.log10,
    "log1p": math_logarithms.log1p,
    "log2": math_logarithms.log2,
    "mish": math_activations.mish,
    "nextafter": math_rounding.nextafter,
    "pow": math_logarithms.power,
    "remainder": math_rounding.remainder,
    "round": math_rounding.nearest_even,
    "rsqrt": math_rounding.rsqrt,
    "sigmoid": math_exponentials.sigmoid,
    "silu": math_activations.silu,
    "sin": math_trigonometry.sin,
    "sinh": math_exponentials.sinh,
    "tan": math_trigonometry.tan,
    "tanh": math_exponentials.tanh,
    "trunc": math_rounding.trunc,
}
