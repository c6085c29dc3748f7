"""Writes: a tensor's new value goes back through its views into its storage."""

from __future__ import annotations

from gnomon.errors import GradientError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops.primitives import expand
from gnomon.tensor import views
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor, raw, source
from gnomon.tensor.versions import overwritten
from gnomon.tensor.views import Chain


def write(tensor: Tensor, value: Node, tracked: bool) -> Tensor:
    """Give a tensor a new value; everything that shows its storage changes with it."""
    check_writable(tensor)
    storage, view = tensor._storage, tensor._view
    overwritten(storage)
    before = raw(tensor)
    value = expand(cast(value, before.dtype), before.shape)
    if view is None or not view.chain:
        storage.tracked = tracked and not tensor._requires
        storage.set(value)
    else:
        storage.tracked = storage.tracked or tracked
        storage.set(views.write(source(storage), full_chain(tensor), value))
    storage.released = False
    return tensor


def full_chain(tensor: Tensor) -> Chain:
    """The steps from the storage to the tensor."""
    view = tensor._view
    if view is None:
        return ()
    before = full_chain(view.base) if view.base is not None and view.base._view else ()
    return (*before, *view.chain)


def check_writable(tensor: Tensor) -> None:
    """Refuse to overwrite what a backward pass starts from."""
    if not state.grad:
        return
    base = tensor._view.base if tensor._view is not None else None
    if tensor._requires or (base is not None and base._requires):
        what = "a leaf Variable" if tensor._requires else "a view of a leaf Variable"
        raise GradientError(
            f"write: {what} that requires grad is being used in an in-place operation. "
            "Write inside `with gn.no_grad():`, or to a clone()."
        )
