"""The element types, their limits, and which of two wins.

Promotion follows the Python array API standard, and mixes integers with floats as PyTorch does:
the float wins. Python scalars are weak: they take part by kind, never by width.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np

from gnomon.errors import DtypeError
from gnomon.lazy import Lazy

ml_dtypes = Lazy("ml_dtypes")

KINDS = ("bool", "uint", "int", "float", "complex")
"""From weak to strong; mixing kinds gives the stronger one."""


package = ["gnomon"]
"""The package whose dtypes these print as."""


class DType:
    """An element type; each exists once, so `is` compares.

    >>> float32.bits, bfloat16.kind, int8.is_integer, float32 == np.float32
    (32, 'float', True, True)
    """

    __slots__ = ("bits", "kind", "name", "numpy")

    numpy: np.dtype

    def __init__(self, name: str, kind: str, bits: int) -> None:
        self.name, self.kind, self.bits = name, kind, bits

    def __getattr__(self, name: str) -> np.dtype:
        # numpy's own dtypes are there from the start; the others bring a package with them
        if name != "numpy":
            raise AttributeError(f"DType has no attribute {name!r}")
        self.numpy = np.dtype(getattr(ml_dtypes, self.name))
        return self.numpy

    def __repr__(self) -> str:
        return f"gnomon.{self.name}"

    def __str__(self) -> str:
        return f"{package[0]}.{self.name}"

    def __eq__(self, other: object) -> bool:
        """Whether another dtype is this one, also by numpy's object or class."""
        if isinstance(other, np.dtype):
            return other == self.numpy
        return self is other or (isinstance(other, type) and other is self.numpy.type)

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple:
        return (dtype_of, (self.name,))

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def is_floating_point(self) -> bool:
        """Whether elements are floats."""
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        """Whether elements are complex numbers."""
        return self.kind == "complex"

    @property
    def is_signed(self) -> bool:
        """Whether elements may be below 0."""
        return self.kind in ("int", "float", "complex")

    def to_real(self) -> DType:
        """The dtype of the parts of complex numbers; another dtype itself.

        >>> complex64.to_real(), float16.to_real()
        (gnomon.float32, gnomon.float16)
        """
        return self if self.kind != "complex" else float32 if self.bits == 64 else float64

    def to_complex(self) -> DType:
        """The dtype of complex numbers whose parts are as exact.

        >>> float64.to_complex(), int64.to_complex()
        (gnomon.complex128, gnomon.complex64)
        """
        return complex128 if self in (float64, complex128) else complex64

    @property
    def is_integer(self) -> bool:
        """Whether elements are signed or unsigned integers."""
        return self.kind in ("int", "uint")

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest of integers.

        >>> int8.limits, uint8.limits
        ((-128, 127), (0, 255))
        """
        low = -(1 << self.bits - 1) if self.kind == "int" else 0
        return low, low + (1 << self.bits) - 1

    @property
    def is_storage_only(self) -> bool:
        """Whether elements can be kept and cast, but not computed with."""
        return self.name.startswith("float8")


def _dtype(name: str, kind: str, bits: int) -> DType:
    made = DType(name, kind, bits)
    made.numpy = np.dtype(name)
    return made


bool_ = _dtype("bool", "bool", 8)
int8, int16, int32, int64 = (_dtype(f"int{n}", "int", n) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_dtype(f"uint{n}", "uint", n) for n in (8, 16, 32, 64))
float16, float32, float64 = (_dtype(f"float{n}", "float", n) for n in (16, 32, 64))
bfloat16 = DType("bfloat16", "float", 16)
complex64, complex128 = (_dtype(f"complex{n}", "complex", n) for n in (64, 128))
float8_e4m3fn, float8_e5m2 = (DType(f"float8_{kind}", "float", 8) for kind in ("e4m3fn", "e5m2"))

_FOREIGN = (bfloat16, float8_e4m3fn, float8_e5m2)
"""The dtypes that numpy does not have."""
COMPLEX = (complex64, complex128)
"""The dtypes of tensors that are kept as pairs of real numbers; no program knows them."""
ALL = (
    *(bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    *(float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2),
)
_BY_NAME = {d.name: d for d in (*ALL, *COMPLEX)} | {
    "cfloat": complex64,
    "cdouble": complex128,
    "half": float16,
    "float": float32,
    "double": float64,
    "long": int64,
}
_BY_NUMPY: dict[object, DType] = {d.numpy: d for d in (*ALL, *COMPLEX) if d not in _FOREIGN}
_BY_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}
"""Python's types as spellings of dtypes: what their numbers hold."""
_OF_NUMBERS = {bool: bool_, int: int64, float: float32, complex: complex64}
"""The dtypes of Python's numbers among tensors; that of floats is the default dtype."""


def dtype_of(spelling: object) -> DType:
    """The dtype that a name, a numpy dtype or a Python type means.

    >>> dtype_of("float32") is dtype_of(np.float32) is float32
    True
    """
    if isinstance(spelling, DType):
        return spelling
    if isinstance(spelling, str) and spelling in _BY_NAME:
        return _BY_NAME[spelling]
    if isinstance(spelling, type) and spelling in _BY_PYTHON:
        return _BY_PYTHON[spelling]
    try:
        wanted = np.dtype(spelling) if isinstance(spelling, str | type) else spelling
        if wanted not in _BY_NUMPY:
            _BY_NUMPY.update((d.numpy, d) for d in _FOREIGN)
        return _BY_NUMPY[wanted]
    except (KeyError, TypeError, ValueError, SyntaxError):
        raise DtypeError(
            f"dtype: no such dtype: {spelling!r}. Use one of {', '.join(_BY_NAME)}."
        ) from None


def dtype_of_number(number: object) -> DType:
    """The dtype of a Python number where no tensor says another, or of numpy's.

    >>> dtype_of_number(1.5), dtype_of(float)
    (gnomon.float32, gnomon.float64)
    """
    return _OF_NUMBERS.get(type(number)) or dtype_of(type(number))


def default_float() -> DType:
    """The dtype of new floats: of Python's, and of what integers become where floats are needed."""
    return _OF_NUMBERS[float]


def set_default_float(kind: DType) -> None:
    """Choose the dtype of new floats, and with it that of new complex numbers."""
    _OF_NUMBERS.update({float: kind, complex: kind.to_complex()})


def dtype_of_tensors(values: object, default: DType) -> DType | None:
    """The dtype of nested lists that hold tensors; None where they hold none.

    default: the dtype of Python's floats.
    """
    found = set(dtypes_and_types(values))
    dtypes = [x for x in found if isinstance(x, DType)]
    kinds = {float: default, complex: default.to_complex()}
    others = [kinds.get(x) or _OF_NUMBERS[x] for x in found if isinstance(x, type)]
    return reduce(promote, dtypes + others) if dtypes else None


def dtypes_and_types(values: object) -> Iterator[DType | type]:
    """The dtypes of tensors in nested lists, and the types of Python's numbers there."""
    if isinstance(values, (list, tuple)):
        types = set(map(type, values))
        yield from types & _OF_NUMBERS.keys()
        if not types <= _OF_NUMBERS.keys():
            for value in values:
                yield from dtypes_and_types(value)
    elif isinstance(dtype := getattr(values, "dtype", None), DType):
        yield dtype


def promote(left: DType, right: DType) -> DType:
    """The dtype of a result of both.

    >>> promote(int32, uint8), promote(bfloat16, float16), promote(int64, float32)
    (gnomon.int32, gnomon.float32, gnomon.float32)
    """
    if left is right:
        return left
    if "complex" in (left.kind, right.kind):
        return complex128 if {float64, complex128} & {left, right} else complex64
    if left.kind == right.kind:
        return _same_kind(left, right)
    weak, strong = sorted((left, right), key=lambda d: KINDS.index(d.kind))
    if (weak.kind, strong.kind) == ("uint", "int"):
        return _signed_holding(weak, strong)
    return strong


def _same_kind(left: DType, right: DType) -> DType:
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return float32 if {left.name, right.name} == {"float16", "bfloat16"} else float16


def _signed_holding(unsigned: DType, signed: DType) -> DType:
    """The signed dtype that represents all values of both dtypes."""
    if unsigned.bits < signed.bits:
        return signed
    if unsigned.bits == 64:
        raise DtypeError(
            f"promote: no integer dtype holds both {unsigned.name} and {signed.name}. "
            "Cast one of them first."
        )
    return _BY_NAME[f"int{2 * unsigned.bits}"]


def weak(dtype: DType, scalar: bool | int | float | complex) -> DType:
    """The dtype of a tensor with a Python scalar: the tensor's, unless the scalar's kind is higher.

    >>> weak(int32, 2), weak(int32, 2.5), weak(bfloat16, 2.5), weak(bool_, 1)
    (gnomon.int32, gnomon.float32, gnomon.bfloat16, gnomon.int64)
    """
    theirs = _OF_NUMBERS[scalar.__class__]  # a symbolic number has another type
    if theirs.kind == "complex":
        return dtype.to_complex() if dtype.kind in ("float", "complex") else theirs
    if KINDS.index(theirs.kind) <= KINDS.index(dtype.kind) or (
        dtype.kind == "uint" and theirs.kind == "int"
    ):
        return dtype
    return theirs


def accumulator(dtype: DType) -> DType:
    """The dtype in which sums of `dtype` are kept.

    >>> accumulator(bfloat16), accumulator(float64), accumulator(int8), accumulator(bool_)
    (gnomon.float32, gnomon.float64, gnomon.int64, gnomon.int64)
    """
    if dtype.is_floating_point:
        return dtype if dtype.bits == 64 else float32
    return uint64 if dtype.kind == "uint" else int64


def computed(dtype: DType) -> DType:
    """The dtype that values of a dtype are computed in: narrow floats in float32.

    >>> computed(bfloat16), computed(float64), computed(int8)
    (gnomon.float32, gnomon.float64, gnomon.int8)
    """
    return accumulator(dtype) if dtype.is_floating_point else dtype
