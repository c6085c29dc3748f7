"""The hash of values, bit for bit: what two runs of a script are compared by."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from gnomon.runtime import events
from gnomon.tensor.tensor import Tensor

__all__ = ["witness"]


def witness(*values: Any) -> str:
    """The hash of tensors, arrays and numbers, or of lists and dicts of them: of all their bits.

    `gnomon bisect` compares the runs of a script by what it gives to this function.

    >>> import gnomon as gn
    >>> witness(gn.ones(2)) == witness(gn.ones(2)), witness(gn.ones(2)) == witness(gn.zeros(2))
    (True, False)
    """
    total, norm = hashlib.sha256(), 0.0
    for array in map(array_of, leaves_of(values)):
        total.update(f"{array.dtype}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
        if array.dtype.kind in "biufc":
            norm += float(np.square(np.abs(array.astype(np.complex128))).sum())
    made = total.hexdigest()[:32]
    if events.heard():
        events.announce("witness", hash=made, norm=norm**0.5)
    return made


def leaves_of(value: Any) -> list[Any]:
    """The tensors and other values of a structure, in order; keys of dicts are among them."""
    if isinstance(value, dict):
        return [each for pair in value.items() for part in pair for each in leaves_of(part)]
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in leaves_of(part)]
    return [value]


def array_of(value: Any) -> np.ndarray:
    """A value as an array; what is no number is its text."""
    if isinstance(value, Tensor):
        whole = value.full_tensor() if hasattr(value, "full_tensor") else value
        return whole.detach().numpy()
    array = np.asarray(value)
    return array if array.dtype != object else np.asarray(repr(value))
