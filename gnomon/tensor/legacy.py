"""PyTorch's oldest constructors: FloatTensor(2, 3), LongTensor([1, 2]), and so on.

New programs say zeros, empty or tensor; these exist because many old ones do not. Tensor(2, 3)
itself is in creation.py.
"""

from __future__ import annotations

from typing import Any, Union

from gnomon.dtypes import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype_of,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    package,
    uint8,
)
from gnomon.tensor.creation import from_sizes_or_values
from gnomon.tensor.device import check_device
from gnomon.tensor.tensor import Tensor


class Constructor:
    """A constructor of tensors of one dtype, which also stands for that dtype.

    >>> LongTensor([1, 2]), isinstance(LongTensor([1, 2]), LongTensor)
    (Tensor([1, 2]), True)
    """

    def __init__(self, name: str, dtype: DType) -> None:
        self.__name__, self.dtype = name, dtype

    def __call__(self, *args: Any, device: object = None) -> Tensor:
        """A tensor of these sizes, or of these values."""
        check_device(device)
        return from_sizes_or_values(args, self.dtype)

    def __reduce__(self) -> str:
        return self.__name__

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Tensor) and (value.dtype, value.layout) == (self.dtype, "strided")

    def __or__(self, other: Any) -> Any:
        return Union.__getitem__((self, other))

    def __ror__(self, other: Any) -> Any:
        return Union.__getitem__((other, self))

    def __repr__(self) -> str:
        return f"gnomon.{self.__name__}"


FloatTensor, DoubleTensor = (
    Constructor("FloatTensor", float32),
    Constructor("DoubleTensor", float64),
)
HalfTensor, BoolTensor = Constructor("HalfTensor", float16), Constructor("BoolTensor", bool_)
LongTensor, IntTensor = Constructor("LongTensor", int64), Constructor("IntTensor", int32)
ShortTensor, CharTensor = Constructor("ShortTensor", int16), Constructor("CharTensor", int8)
ByteTensor = Constructor("ByteTensor", uint8)


CONSTRUCTORS = (FloatTensor, DoubleTensor, HalfTensor, BoolTensor, LongTensor, IntTensor)
CONSTRUCTORS += (ShortTensor, CharTensor, ByteTensor)
CLASSES = {made.dtype: made.__name__ for made in CONSTRUCTORS}
CLASSES |= {bfloat16: "BFloat16Tensor", complex64: "ComplexFloatTensor"}
CLASSES[complex128] = "ComplexDoubleTensor"
"""Dtype -> the name of its tensors' class in PyTorch's older versions."""


def type(self: Tensor, dtype: object = None) -> Any:
    """The tensor in another dtype; without one, the name of its dtype's tensor class."""
    if dtype is None:
        return f"{package[0]}.{CLASSES.get(self.dtype, self.dtype.name.title() + 'Tensor')}"
    return self.to(dtype_of(getattr(dtype, "dtype", dtype)))
