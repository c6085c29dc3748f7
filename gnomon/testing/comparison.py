"""gn.testing.assert_close: nested values beside nested values, within bounds by dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import (
    DType,
    bfloat16,
    complex64,
    complex128,
    dtype_of,
    float16,
    float32,
    float64,
)
from gnomon.errors import ArgumentError
from gnomon.tensor.tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

BOUNDS = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
"""The relative and the absolute difference that is allowed, PyTorch's; none for other dtypes."""
Tolerances = tuple[float, float]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | Callable[[str], str] | None = None,
    **options: Any,
) -> None:
    """An AssertionError where tensors, numbers, or lists and dicts of them are not close.

    Options of PyTorch's about devices, layouts and strides are taken and change nothing.

    >>> import gnomon as gn
    >>> assert_close(gn.tensor([1.0, 2.0]), gn.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.2 at index (1,) (up to 1.3e-06 allowed)
    """
    if (rtol is None) is not (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ArgumentError(
            f"assert_close: both rtol and atol must be given, or neither: got no {missing}."
        )
    bounds = None if rtol is None or atol is None else (rtol, atol)
    for place, one, two in pairs(actual, expected, ""):
        problem = difference(one, two, bounds, equal_nan, check_dtype)
        if problem:
            problem += f"\n\nThe failure occurred for item {place}" if place else ""
            raise AssertionError(msg(problem) if callable(msg) else msg or problem)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """assert_close by its older name, for any dtypes and with NaN as close to NaN.

    >>> assert_allclose([1.0, float("nan")], [1.0, float("nan")])
    """
    assert_close(
        *(actual, expected),
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


def pairs(actual: Any, expected: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """The pairs that are compared, and where they stand."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            raise AssertionError(
                f"The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(expected.keys() - actual.keys())}\n"
                f"Additional keys in the actual mapping: {sorted(actual.keys() - expected.keys())}"
            )
        keys: Any = expected
    elif are_sequences(actual, expected):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            )
        keys = range(len(expected))
    else:
        yield place, actual, expected
        return
    for key in keys:
        yield from pairs(actual[key], expected[key], f"{place}[{key!r}]")


def are_sequences(*values: Any) -> bool:
    """Whether all are lists or tuples."""
    return all(isinstance(x, Sequence) and not isinstance(x, str) for x in values)


def array_of(value: Any) -> tuple[np.ndarray, DType]:
    """A tensor's or a number's values, and the dtype that its bounds go by."""
    if isinstance(value, Tensor):
        whole = value.detach()
        shown = whole.float() if whole.dtype in (float16, bfloat16) else whole
        return shown.numpy(), value.dtype
    if not isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)):
        raise TypeError(f"assert_close: no way to compare a {type(value).__name__}: {value!r}.")
    kept = np.asarray(value)
    return kept, dtype_of(kept.dtype) if kept.ndim or kept.dtype.kind == "c" else float64


def difference(
    actual: Any, expected: Any, bounds: Tolerances | None, equal_nan: bool, check_dtype: bool
) -> str:
    """The complaint about a pair; empty where it is close."""
    (one, kind), (two, wanted) = array_of(actual), array_of(expected)
    if one.shape != two.shape:
        return f"The values for attribute 'shape' do not match: {one.shape} != {two.shape}."
    if check_dtype and kind is not wanted:
        return f"The values for attribute 'dtype' do not match: {kind!r} != {wanted!r}."
    if bounds is None:
        both = [BOUNDS.get(dtype, (0.0, 0.0)) for dtype in (kind, wanted)]
        bounds = max(both[0][0], both[1][0]), max(both[0][1], both[1][1])
    return misfit(one, two, bounds, equal_nan)


def misfit(one: np.ndarray, two: np.ndarray, bounds: Tolerances, equal_nan: bool) -> str:
    """The complaint about arrays of one shape, with the greatest differences."""
    if np.allclose(one, two, *bounds, equal_nan=equal_nan):
        return ""
    widest = np.complex128 if "c" in (one.dtype.kind, two.dtype.kind) else np.float64
    wide = [x.astype(widest) for x in (one, two)]
    wrong = ~np.isclose(*wide, *bounds, equal_nan=equal_nan)
    with np.errstate(all="ignore"):
        absolute = np.abs(wide[0] - wide[1])
        relative = absolute / np.abs(wide[1])
    kinds = zip(("absolute", "relative"), (absolute, relative), bounds[::-1], strict=True)
    how = "close" if any(bounds) else "equal"
    if not one.shape:
        lines = [
            f"{kind.capitalize()} difference: {shown_difference(x, a)}" for kind, x, a in kinds
        ]
        return "\n".join([f"Scalars are not {how}!\n", f"Expected {two} but got {one}.", *lines])
    share = f"{wrong.sum()} / {wrong.size} ({wrong.mean():.1%})"
    lines = [f"Greatest {kind} difference: {greatest(x, wrong, a)}" for kind, x, a in kinds]
    return "\n".join([f"Tensor-likes are not {how}!\n", f"Mismatched elements: {share}", *lines])


def shown_difference(value: Any, allowed: float) -> str:
    """A difference, and what of it is allowed."""
    return f"{value:.16g}" + (f" (up to {allowed:g} allowed)" if allowed else "")


def greatest(differences: np.ndarray, wrong: np.ndarray, allowed: float) -> str:
    """The greatest difference among wrong elements, where it is, and what is allowed."""
    seen = np.where(wrong, np.where(np.isnan(differences), np.inf, differences), -1.0)
    place = np.unravel_index(int(seen.argmax()), seen.shape)
    at = tuple(int(k) for k in place)
    shown = f"{differences[place]:.16g} at index {at}"
    return shown + (f" (up to {allowed:g} allowed)" if allowed else "")
