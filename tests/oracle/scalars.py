"""The scalar functions in numpy, bit for bit what generated code computes; part of the bit oracle.

Narrow floats are computed in float32 and rounded after every function. Integers and truth values
follow the scalar table itself, whose values are exact. Transcendental functions are those of
math.py over the exact algebra: the only thing that generated code and oracle have in common.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnomon.codegen.math import FUNCTIONS
from gnomon.dtypes import DType, accumulator, bool_
from gnomon.ir.node import Node
from gnomon.ops.scalars import SCALARS
from tests.oracle.algebra import (
    ExactAlgebra,
    fma_double,
    fma_float,
    larger,
    quiet,
    smaller,
)


def sign(x: np.ndarray) -> np.ndarray:
    """-1 or 1; zeros and NaN stay as they are."""
    return np.where((x == 0) | np.isnan(x), x, np.copysign(np.ones_like(x), x))


def rsqrt(x: np.ndarray) -> np.ndarray:
    """1 / sqrt(x) in two roundings."""
    return np.ones_like(x) / np.sqrt(x)


def fused(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x * y + z with one rounding."""
    return (fma_double if x.dtype == np.float64 else fma_float)(x, y, z)


FLOATS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "fma": fused,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "sign": sign,
    "minimum": smaller,
    "maximum": larger,
    "sqrt": np.sqrt,
    "rsqrt": rsqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "copysign": np.copysign,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
}
"""What IEEE 754 fixes to the bit, on float32 and float64."""


@quiet
def scalar_value(node: Node, *operands: np.ndarray) -> np.ndarray:
    """A map's value."""
    name, dtype = node.params["f"], node.dtype
    if name == "where":
        return np.where(*operands)
    if name == "bitcast":
        return operands[0].view(dtype.numpy)
    given = node.inputs[0].dtype
    if name == "cast":
        return cast_value(operands[0], given, dtype)
    if not given.is_floating_point:
        return np.asarray(SCALARS[name].value(*operands)).astype(dtype.numpy)
    return float_value(name, [widened(x, given) for x in operands]).astype(dtype.numpy)


def widened(x: np.ndarray, dtype: DType) -> np.ndarray:
    """Floats in the precision in which they are computed."""
    return x.astype(accumulator(dtype).numpy, copy=False)


def float_value(name: str, operands: list[np.ndarray]) -> np.ndarray:
    """A function of float32 or float64."""
    if name in FLOATS:
        return np.asarray(FLOATS[name](*operands))
    algebra = ExactAlgebra("double" if operands[0].dtype == np.float64 else "float")
    spread = [np.array(x) for x in np.broadcast_arrays(*operands)]
    flat = FUNCTIONS[name](algebra, *(x.reshape(-1) for x in spread))
    return flat.reshape(spread[0].shape)


@quiet
def cast_value(x: np.ndarray, given: DType, result: DType) -> np.ndarray:
    """A value in another dtype; what becomes a narrow float goes by way of float32."""
    if given is result:
        return x
    if result is bool_:
        return x != np.zeros((), x.dtype)
    if result.is_floating_point:
        wide = accumulator(result).numpy
        return x.astype(wide).astype(result.numpy)
    return saturated(x, result) if given.is_floating_point else x.astype(result.numpy)


def saturated(x: np.ndarray, result: DType) -> np.ndarray:
    """Floats as integers, one by one, by Python's own."""
    return np.array([whole(float(v), result) for v in x.reshape(-1)], result.numpy).reshape(x.shape)


def whole(x: float, result: DType) -> int:
    """A float as an integer of a dtype: int32 and int64 have limits, the others low bits."""
    low, high = result.limits
    if np.isnan(x):
        return 0
    if result.kind == "int" and result.bits >= 32:
        return int(max(low, min(high, x)))
    if result.bits == 64:
        return int(x) % (1 << 64) if -(2.0**63) < x < 2.0**64 else 0
    bits = 32 if result.bits <= 16 else 64
    kept = int(x) % (1 << result.bits) if abs(x) < 2.0 ** (bits - 1) else 0
    return kept - (1 << result.bits) if kept > high else kept
