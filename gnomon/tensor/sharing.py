"""New tensors over memory that others made: of arrays, of other libraries, of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import ArgumentError
from gnomon.tensor.creation import as_tensor, finished, tensor
from gnomon.tensor.dlpack import from_dlpack
from gnomon.tensor.memory import borrow
from gnomon.tensor.tensor import Tensor, from_array

__all__ = ["asarray", "frombuffer"]


def asarray(
    obj: Any,
    *,
    dtype: object = None,
    device: object = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of these values; copy says whether it must be, or must not be, a copy.

    A tensor keeps its history, unless requires_grad=False; a leaf that is returned unchanged gets
    requires_grad itself.
    """
    if isinstance(obj, memoryview):
        obj = np.asarray(obj)
    elif type(obj).__name__ == "PyCapsule":
        obj = from_dlpack(obj)
    if copy is False:
        refuse_copy(obj, None if dtype is None else dtype_of(dtype))
    if copy and not isinstance(obj, Tensor):  # at once: writes to it are not noticed
        return tensor(obj, dtype, device, bool(requires_grad))
    made = as_tensor(obj, dtype, device)
    made = made.clone() if copy else made
    if requires_grad or requires_grad is None:
        return finished(made, bool(requires_grad))
    return made.requires_grad_(False) if made.is_leaf else made.detach()


def refuse_copy(obj: Any, dtype: DType | None) -> None:
    """Refuse objects without memory to share, or with elements to convert."""
    found = dtype_of(obj.dtype) if isinstance(obj, (Tensor, np.ndarray)) else None
    if found is None or dtype not in (None, found):
        raise ArgumentError(
            f"asarray: a {type(obj).__name__} cannot become this tensor without a copy. "
            "Leave out copy=False."
        )


def frombuffer(
    buffer: Any, *, dtype: object, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor over the bytes of an object."""
    kind, size = dtype_of(dtype), memoryview(buffer).nbytes
    left, taken = size - offset, max(count, 0) * kind.itemsize
    if not 0 <= offset < size or not count or taken > left or (count < 0 and left % kind.itemsize):
        raise ArgumentError(
            f"frombuffer: {size} bytes have not the {kind.name} asked for: count {count} from byte "
            f"{offset} on."
        )
    made = borrow(from_array(np.frombuffer(buffer, kind.numpy, count, offset)))
    return finished(made, requires_grad)
