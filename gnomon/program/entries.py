"""Functions that native code calls for external operations, while a program runs."""

from __future__ import annotations

import ctypes
import threading
from math import prod

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.errors import ShapeError
from gnomon.ops.external import external_of
from gnomon.program.saved import BufferKind, ExternalCall
from gnomon.runtime.buffer import DeviceBuffer

__all__ = ["ExternalEntry"]

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""The type of such a function: it takes the slots of the call."""


class ExternalEntry:
    """The native function of an external operation.

    An error can't pass native code: it is stored, and raised after the run.
    """

    def __init__(self, call: ExternalCall) -> None:
        self.call, self._wrong = call, threading.local()
        self._function = ENTRY(self._entered)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def check(self) -> None:
        """Raise the error of this thread's run, if there was one."""
        error = getattr(self._wrong, "error", None)
        if error is not None:
            self._wrong.error = None
            raise error

    def _entered(self, slots: int) -> None:
        """Compute, unless an earlier call of the run failed."""
        if getattr(self._wrong, "error", None) is not None:
            return
        try:
            self._compute(slots)
        except BaseException as error:
            self._wrong.error = error

    def _compute(self, slots: int) -> None:
        """Call the operation on copies of its operands, and copy its results to their buffers."""
        kinds = (*self.call.made, *self.call.given)
        words = (ctypes.c_int64 * len(kinds)).from_address(slots)
        places = [buffer_array(at, kind) for at, kind in zip(words, kinds, strict=True)]
        count = len(self.call.made)
        given = [x.copy() for x in places[count:]]
        found = external_of(self.call.key).compute(self.call.said, given)
        for x, value in zip(places[:count], found, strict=True):
            if (x.shape, x.dtype) != (value.shape, value.dtype):
                name = external_of(self.call.key).name
                raise ShapeError(
                    f"{name}: a call gave {value.dtype}{list(value.shape)} where its fake gave "
                    f"{x.dtype}{list(x.shape)}. Mend what register_fake was given."
                )
            x[...] = value


def buffer_array(address: int, kind: BufferKind) -> np.ndarray:
    """The memory of a call's buffer as an array, valid during the call."""
    shape, name = kind
    dtype = dtype_of(name)
    nbytes = prod(shape) * dtype.itemsize
    return DeviceBuffer.foreign(address, nbytes, None).numpy(dtype.numpy, shape)
