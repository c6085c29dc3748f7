"""How tensors are written as text, and in notebooks."""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import bool_, int64
from gnomon.late import Late
from gnomon.tensor.creation import get_default_dtype
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor, method, raw, value_of

html = Late("html")

THRESHOLD = 1000


@method
def __repr__(self: Tensor) -> str:
    """The values, and what is not the default about the tensor."""
    if state.capture is not None:
        return f"Tensor(traced, shape={tuple(self.shape)}, dtype={self.dtype})"
    notes = "".join(f", {note}" for note in remarks(self))
    return f"{type(self).__name__}({values_of(self, len(type(self).__name__) + 1)}{notes})"


def values_of(tensor: Tensor, indent: int) -> str:
    """The elements as text, long axes shortened."""
    array = value_of(tensor).numpy(tensor.dtype.numpy, tuple(tensor.shape))
    if array.dtype.kind == "V" or (tensor.dtype.bits < 32 and tensor.dtype.is_floating_point):
        array = array.astype(np.float32)
    return np.array2string(
        array,
        separator=", ",
        precision=4,
        threshold=THRESHOLD,
        prefix=" " * indent,
        floatmode="maxprec",
    )


def remarks(tensor: Tensor) -> list[str]:
    """What to say behind the values."""
    notes = []
    if not raw(tensor).size:
        notes.append(f"size={tuple(tensor.shape)}")
    if tensor.dtype not in (get_default_dtype(), int64, bool_):
        notes.append(f"dtype={tensor.dtype}")
    if tensor._requires:
        notes.append("requires_grad=True")
    elif tensor.requires_grad:
        notes.append(f"grad_fn={tensor.grad_fn}")
    return notes


@method
def _repr_html_(self: Tensor) -> str:
    """A notebook's view: what it is, and its values when they are few or known already."""
    node = raw(self)
    known = node.value is not None
    head = f"Tensor {tuple(self.shape)} {self.dtype.name}, {'computed' if known else 'pending'}"
    body = values_of(self, 0) if known or node.size <= THRESHOLD else "..."
    return f"<div><b>{html.escape(head)}</b><pre>{html.escape(body)}</pre></div>"
