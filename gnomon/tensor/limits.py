"""Inspection by the array API standard: of dtypes, and of this library."""

from __future__ import annotations

from math import floor, log10
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from gnomon import dtypes
from gnomon.dtypes import DType, dtype_of, dtype_of_number, promote, weak
from gnomon.errors import ArgumentError, DtypeError
from gnomon.tensor.creation import get_default_dtype
from gnomon.tensor.overrides import is_overriding, taken_over
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor


class FloatLimits(NamedTuple):
    """The limits of a dtype of floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    dtype: DType
    resolution: float
    """A power of ten: the dtype distinguishes numbers of so many decimal digits."""


class IntegerLimits(NamedTuple):
    """The limits of a dtype of integers."""

    bits: int
    max: int
    min: int
    dtype: DType


def kind_of(type: Any) -> DType:
    """The dtype of a tensor, or of a dtype's name."""
    return type.dtype if isinstance(type, Tensor) else dtype_of(type)


def finfo(type: Any = None) -> FloatLimits:
    """The limits of a dtype of floats, of the default dtype where none is given.

    >>> finfo(dtypes.float32).eps == 2**-23
    True
    >>> finfo(dtypes.int8)
    Traceback (most recent call last):
    gnomon.errors.DtypeError: finfo: needs a dtype of floats: got int8. Use iinfo().
    """
    dtype = dtypes.default_float() if type is None else kind_of(type)
    if dtype.kind not in ("float", "complex"):
        raise DtypeError(f"finfo: needs a dtype of floats: got {dtype.name}. Use iinfo().")
    real = dtype.to_real()
    found = ml_dtypes.finfo(real.numpy)
    low, high, tiny = float(found.min), float(found.max), float(found.smallest_normal)
    eps = float(found.eps)
    digits = floor(-log10(eps))
    return FloatLimits(real.bits, eps, high, low, tiny, tiny, real, float(f"1e-{digits}"))


def iinfo(type: Any) -> IntegerLimits:
    """The limits of a dtype of integers.

    >>> iinfo(dtypes.int8).max
    127
    >>> iinfo(dtypes.float32)
    Traceback (most recent call last):
    gnomon.errors.DtypeError: iinfo: needs a dtype of integers: got float32. Use finfo().
    """
    dtype = kind_of(type)
    if not dtype.is_integer:
        raise DtypeError(f"iinfo: needs a dtype of integers: got {dtype.name}. Use finfo().")
    found = np.iinfo(dtype.numpy)
    return IntegerLimits(dtype.bits, int(found.max), int(found.min), dtype)


KINDS = {
    "bool": ("bool",),
    "signed integer": ("int",),
    "unsigned integer": ("uint",),
    "integral": ("int", "uint"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("int", "uint", "float", "complex"),
}


NUMBERS = (bool, int, float, complex)


def isdtype(dtype: DType, kind: Any) -> bool:
    """Whether a dtype is of a kind, of one of several, or is another dtype.

    >>> isdtype(dtypes.int8, "integral"), isdtype(dtypes.int8, ("bool", dtypes.int8))
    (True, True)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in KINDS:
        raise ArgumentError(f"isdtype: no such kind: {kind!r}. Use one of {', '.join(KINDS)}.")
    return dtype.kind in KINDS[kind]


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of a result of all of these; Python numbers are weak.

    >>> result_type(dtypes.int32, dtypes.float32), result_type(dtypes.int8, 2.5)
    (gnomon.float32, gnomon.float32)
    """
    numbers = [x for x in arrays_and_dtypes if isinstance(x, NUMBERS)]
    found = [kind_of(x) for x in arrays_and_dtypes if not isinstance(x, NUMBERS)]
    if not found:
        return result_type(*(dtype_of_number(x) for x in numbers))
    dtype = found[0]
    for other in found[1:]:
        dtype = promote(dtype, other)
    for number in numbers:
        dtype = weak(dtype, number)
    return dtype


def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype of a result of two.

    >>> import gnomon as gn
    >>> gn.promote_types(gn.int64, gn.float32)
    gnomon.float32
    """
    return promote(dtype_of(type1), dtype_of(type2))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether values keep their meaning in another dtype.

    >>> can_cast(dtypes.int32, dtypes.int64), can_cast(dtypes.float32, dtypes.int64)
    (True, False)
    """
    start, end = kind_of(from_), dtype_of(to)
    try:
        return promote(start, end) is end
    except DtypeError:
        return False


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor.

    >>> import gnomon as gn
    >>> gn.is_tensor([1.0])
    False
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's elements are floats."""
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether a tensor's elements are complex numbers.

    >>> import gnomon as gn
    >>> gn.is_complex(gn.ones(1))
    False
    """
    return input.is_complex()


def _assert(condition: object, message: str) -> None:
    """An assert statement, as a function.

    Inside of a branch or an iteration of a program it holds where that one runs and its results are
    used: all elements of a tensor must differ from 0.

    >>> _assert(1 < 2, "in order")
    """
    # not @overridable: an export would call it unseen, and read the tensor that it must refuse
    if not isinstance(condition, Tensor) and is_overriding(condition):
        taken_over(_assert, (condition, message), {})
    else:
        state.recorder.assert_that(condition, message)


def numel(input: Tensor) -> int:
    """Number of elements.

    >>> import gnomon as gn
    >>> gn.numel(gn.zeros(2, 3))
    6
    """
    return input.numel()


class Namespace:
    """The answer of `__array_namespace_info__()`: devices, dtypes, abilities."""

    def capabilities(self) -> dict[str, Any]:
        """The capabilities of this library that are optional in the standard."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 24}

    def default_device(self) -> str:
        """The device of new tensors."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """The devices on which tensors can be."""
        return ("cpu",)

    def default_dtypes(self, *, device: object = None) -> dict[str, DType]:
        """The dtypes of new tensors."""
        whole = dtypes.int64
        real = get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": whole,
            "indexing": whole,
        }

    def dtypes(self, *, device: object = None, kind: Any = None) -> dict[str, DType]:
        """The standard's dtypes, by name: no half precision."""
        narrow = {d for d in dtypes.ALL if d.is_floating_point and d.bits < 32}
        known = [d for d in (*dtypes.ALL, *dtypes.COMPLEX) if d not in narrow]
        return {d.name: d for d in known if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> Namespace:
    """The array API standard's inspection of this library."""
    return Namespace()
