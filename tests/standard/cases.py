"""Calls of every function of the array API standard 2024.12, on every kind of dtype it takes.

What comes out is not said here: array_api_strict, the standard's own reference, computes it beside
us (test_against_strict.py). Complex numbers, linalg and fft are not ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(202412)
FLOATS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMERIC = FLOATS + INTEGERS
ALL = ("bool", *NUMERIC)
SOME = ("float32", "int16", "bool")
"""For functions that only move elements."""


@dataclass(frozen=True)
class Dtype:
    """Stands for a library's dtype of this name."""

    name: str


@dataclass(frozen=True)
class Case:
    """One call; numpy arrays stand for the library's."""

    name: str
    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = [f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else a for a in self.args]
        return f"{self.name}({told}, {list(self.kwargs)})"


CASES: list[Case] = []


def add(names: str, *args: Any, **kwargs: Any) -> None:
    """A call of each of these functions."""
    CASES.extend(Case(name, args, kwargs) for name in names.split())


def some(dtype: str, *shape: int, low: int = -5) -> np.ndarray:
    """Small values of a dtype."""
    if dtype == "bool":
        return RANDOM.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return np.asarray(2 * RANDOM.standard_normal(shape)).astype(dtype)
    return np.asarray(RANDOM.integers(0 if dtype in UNSIGNED else low, 6, shape)).astype(dtype)


ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 3, -3, 2.5, -2.5, 1.5, 1e30, -1e30]
ANGLES = "cos sin tan"
OF_FLOATS = (
    "acos acosh asin asinh atan atanh cosh exp expm1 log log10 log1p log2 reciprocal sinh sqrt tanh"
)
OF_NUMBERS = "abs ceil floor isfinite isinf isnan negative positive round sign square trunc"
PAIRS_OF_FLOATS = "atan2 copysign divide hypot logaddexp nextafter"
PAIRS = "add floor_divide multiply pow remainder subtract"
COMPARISONS = "equal greater greater_equal less less_equal not_equal"

# elements

for kind in FLOATS:
    odd = np.array(ODD, kind)
    left, right = (m.reshape(-1) for m in np.meshgrid(odd, odd))
    add(f"{OF_FLOATS} {OF_NUMBERS} signbit", odd)
    add(ANGLES, odd[:-2])
    add(f"{PAIRS_OF_FLOATS} {PAIRS} {COMPARISONS}", left, right)
    add(f"{PAIRS_OF_FLOATS} {PAIRS} {COMPARISONS}", some(kind, 5), 2.5)
    add(f"{PAIRS_OF_FLOATS} {PAIRS} {COMPARISONS}", 2, some(kind, 5))
    add("maximum minimum", some(kind, 2, 5), some(kind, 5))
    add("maximum minimum", np.array(ODD[2:], kind), 1.0)
for kind in INTEGERS:
    x, y = some(kind, 7), np.abs(some(kind, 7)) + np.ones((), kind)
    add(OF_NUMBERS, x)
    add("bitwise_invert", x)
    add(f"{PAIRS} {COMPARISONS} maximum minimum bitwise_and bitwise_or bitwise_xor", x, y)
    add("bitwise_left_shift bitwise_right_shift", x, y)
    add(f"{PAIRS} {COMPARISONS} maximum minimum bitwise_and", x, 3)
    add(f"{PAIRS} {COMPARISONS}", 3, y)
for names in ("bitwise_and bitwise_or bitwise_xor", "logical_and logical_or logical_xor"):
    add(f"{names} equal not_equal", some("bool", 2, 7), some("bool", 7))
    add(names, some("bool", 7), True)
add("bitwise_invert logical_not", some("bool", 7))
add("where", some("bool", 5), some("int8", 5), some("int32", 2, 5))
add("where", some("bool", 5), some("float32", 5), 1.5)
add("where", some("bool", 5), 2, some("int8", 5))
add("clip", some("float32", 3, 2), some("float32", 2) - np.float32(3), 5.0)
add("clip", some("float64", 5), max=1.0)
add("clip", some("int8", 5), -1, 3)
add("clip", some("float32", 5))

# reductions and scans

for kind in NUMERIC:
    x = some(kind, 2, 3, 4)
    names = "sum prod max min" + (" mean std var" if kind in FLOATS else "")
    for axis in (None, 1, (0, -1), ()):
        add(names, x, axis=axis)
    add(names, x)
    add(names, x, axis=-1, keepdims=True)
    add("argmax argmin", x)
    add("argmax argmin", x, axis=1)
    add("argmax argmin", x, axis=-1, keepdims=True)
    add("cumulative_sum cumulative_prod", x, axis=1)
    add("cumulative_sum cumulative_prod", some(kind, 5))
    add("cumulative_sum cumulative_prod", x, axis=-1, include_initial=True)
    add("cumulative_sum cumulative_prod", some(kind, 0), include_initial=True)
    add("sum prod cumulative_sum", x, axis=0, dtype=Dtype("float64"))
    add("diff", some(kind, 3, 5))
    add("diff", some(kind, 3, 5), n=2, axis=0)
    add("diff", some(kind, 3, 5), prepend=some(kind, 3, 1), append=some(kind, 3, 2))
    add("diff", some(kind, 3), n=5)
for kind in ALL:
    add("all any count_nonzero", some(kind, 2, 3, 4))
    add("all any count_nonzero", some(kind, 2, 3, 4), axis=(0, 2), keepdims=True)
for names, kinds in (("all any count_nonzero", ("bool",)), ("sum prod", ("int16", "uint8"))):
    for kind in kinds:
        add(names, some(kind, 0, 3))
        add(names, some(kind, 0, 3), axis=0)
add("sum prod mean", some("float32", 0, 3), axis=0)
add("sum prod mean", some("float64", 0, 3), axis=1)
for lowered in (0, 1, 0.5):
    add("var std", some("float64", 3, 4), axis=1, correction=lowered)
add("var", some("float32", 3), correction=5)

# order, sets, places

for kind in NUMERIC:
    add("sort argsort", some(kind, 3, 5))
    add("sort argsort", some(kind, 3, 5), axis=0, descending=True)
    add("sort", some(kind, 6), stable=False)
    add("unique_all unique_counts unique_inverse unique_values", some(kind, 4, 3))
    add("searchsorted", np.sort(some(kind, 6)), some(kind, 3, 2), side="right")
    row = some(kind, 6)
    add("searchsorted", row, some(kind, 4), sorter=np.argsort(row))
    add("nonzero", some(kind, 3, 4))
for kind in INTEGERS:
    add("isin", some(kind, 3, 4), some(kind, 3))
    add("isin", some(kind, 3, 4), 1)
add("nonzero", some("bool", 6))
add("unique_all unique_counts", np.array([np.nan, 0.5, -2.0, np.nan, 0.5]))
add("unique_all", np.zeros(0, np.float32))
add("searchsorted", np.sort(some("float32", 6)), 1.0)

# shapes

for kind in SOME:
    x = some(kind, 2, 3, 4)
    add("broadcast_to", some(kind, 3, 1), (2, 3, 4))
    add("broadcast_arrays", some(kind, 3, 1), some("int8", 1, 4))
    add("concat", [x, x], axis=1)
    add("concat", (x, some(kind, 2, 3)), axis=None)
    add("expand_dims", x, axis=-1)
    add("flip", x)
    add("flip", x, axis=(0, -1))
    add("moveaxis", x, (0, 1), (2, 0))
    add("moveaxis", x, 0, -1)
    add("permute_dims", x, (2, 0, 1))
    add("repeat", x, 2)
    add("repeat", x, 3, axis=1)
    add("repeat", x, np.array([1, 0, 2]), axis=1)
    add("reshape", x, (4, -1))
    add("reshape", x, shape=(6, 4), copy=True)
    add("roll", x, 1)
    add("roll", x, shift=(1, -2), axis=(0, 2))
    add("roll", x, 2, axis=(0, 1))
    add("squeeze", some(kind, 1, 3, 1), axis=(0, -1))
    add("squeeze", x, ())
    add("stack", [x, x], axis=-1)
    add("tile", x, (2, 1, 1, 2))
    add("tile", x, ())
    add("unstack", x, axis=1)
    add("take", x, np.array([0, 2, -1]), axis=1)
    add("take_along_axis", x, RANDOM.integers(0, 4, (2, 3, 2)), axis=-1)
    add("take_along_axis", x, RANDOM.integers(-2, 2, (1, 3, 4)), axis=0)
    add("tril triu", x)
    add("tril triu", x, k=-1)
    add("matrix_transpose", x)
    add("meshgrid", some(kind, 3), some(kind, 2), some(kind, 4))
    add("meshgrid", some(kind, 3), some(kind, 2), indexing="ij")
    for target in ("bool", "int32", "float64"):
        add("astype", x, Dtype(target))
    add("zeros_like empty_like", x[:0])
    add("zeros_like", x)
    add("ones_like", x, dtype=Dtype("int8"))
    add("full_like", x, 1)
add("broadcast_shapes", (2, 1), (3,), ())

# products

for kind in NUMERIC:
    add("matmul", some(kind, 2, 3, 4), some(kind, 4, 2))
    add("matmul", some(kind, 4), some(kind, 4))
    add("tensordot", some(kind, 2, 3, 4), some(kind, 3, 4, 5))
    add("tensordot", some(kind, 2, 3), some(kind, 3, 2), axes=((0, 1), (1, 0)))
    add("tensordot", some(kind, 2), some(kind, 3), axes=0)
    add("vecdot", some(kind, 3, 4), some(kind, 4))
    add("vecdot", some(kind, 4, 3), some(kind, 4, 3), axis=-2)
add("matmul", some("float32", 3, 4), some("float64", 4, 2))
add("matmul", some("float32", 3, 0), some("float32", 0, 2))

# new arrays; floats have a dtype here, since the default is each library's own

for bounds in ((3,), (1, 4), (0, 10, 3), (5, 0, -2), (3, 1)):
    add("arange", *bounds)
add("arange", 0.0, 1.0, 0.25, dtype=Dtype("float64"))
add("arange", 1, stop=4, step=2, dtype=Dtype("uint8"))
add("linspace", 0, 1, 5, dtype=Dtype("float64"))
add("linspace", 0.0, 1.0, num=4, endpoint=False, dtype=Dtype("float32"))
add("linspace", 1, 5, 1, dtype=Dtype("float64"))
add("linspace", 1, 5, 0, dtype=Dtype("float64"))
add("eye", 3, dtype=Dtype("float32"))
add("eye", 2, 4, k=1, dtype=Dtype("int8"))
add("eye", 3, None, k=-1, dtype=Dtype("float64"))
add("zeros ones", 3, dtype=Dtype("float32"))
add("zeros ones empty", shape=(2, 0), dtype=Dtype("bool"))
add("zeros ones", (2, 3), dtype=Dtype("uint16"))
add("full", (2, 3), 1.5, dtype=Dtype("float64"))
add("full", 3, True)
add("full", shape=(2,), fill_value=7)
for values in ([1, 2, 3], True, 3, [True, False], [[1, 2], [3, 4]]):
    add("asarray", values)
add("asarray", [1, 2.5], dtype=Dtype("float64"))
add("asarray", [], dtype=Dtype("float32"))
