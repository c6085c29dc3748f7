"""Tensors on their way to other processes: their memory is shared, and not copied.

A message has the file of the memory and the tensor's place in it; who receives several tensors
of one memory has it once. Python's pickles for processes alone are made so; pickle's own are not.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from gnomon.dtypes import DType
from gnomon.errors import GradientError
from gnomon.ir.node import Shape
from gnomon.nn.parameter import Buffer, Parameter
from gnomon.runtime.shared import SharedMemory
from gnomon.tensor.memory import over_shared, shared_of, shared_storages
from gnomon.tensor.state import Storage
from gnomon.tensor.tensor import Tensor, alias, from_buffer
from gnomon.tensor.views import Chain, full_chain, mesh_layout_of

__all__ = ["ForkingPickler", "init_reductions", "rebuild_tensor", "reduce_tensor"]

FAMILY = (Tensor, Parameter, Buffer)
"""The classes of tensors that travel; those below them are pickled by value."""


def reduce_tensor(tensor: Tensor) -> tuple:
    """A function and its arguments, by which another process has a tensor of this memory."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise GradientError(
            "multiprocessing: a tensor that is no leaf and requires grad is not sent: gradients "
            "don't pass from process to process. Send tensor.detach()."
        )
    if mesh_layout_of(tensor._view):
        return tensor.__reduce_ex__(2)
    storage = tensor.share_memory_()._storage
    shared = shared_of(storage)
    assert shared is not None, "share_memory_ has moved it."
    stored = (storage.node.shape, storage.node.dtype, storage.form, full_chain(tensor))
    kept = (tensor.requires_grad, getattr(tensor, "__dict__", None))
    return rebuild_tensor, (type(tensor), DupFd(shared.file), stored, kept)


def rebuild_tensor(
    kind: type[Tensor],
    file: Any,
    stored: tuple[Shape, DType, Hashable, Chain],
    kept: tuple[bool, dict[str, Any] | None],
) -> Tensor:
    """The tensor of another process, over its memory."""
    (*whole, chain), made = stored, kind.__new__(kind)
    made._storage, made._view, made._rare = storage_of(file.detach(), *whole), None, None
    made._requires = False
    if chain:
        made._view = alias(made, chain, detached=True)._view
    made._requires = kept[0]
    if kept[1]:
        made.__dict__.update(kept[1])
    return made


def storage_of(file: int, shape: Shape, dtype: DType, form: Hashable) -> Storage:
    """The storage over a memory: the one that this process has of it, or a new one."""
    shared = SharedMemory(file, prod(shape) * dtype.itemsize)
    found = shared_storages.get(shared.key)
    there = None if found is None else shared_of(found)
    if found is None or there is None or there.key != shared.key:
        found = from_buffer(over_shared(shared), shape, dtype)._storage
        found.form = form
        shared_storages[shared.key] = found
    return found


def init_reductions() -> None:
    """Send tensors to other processes by their memory from now on."""
    for kind in FAMILY:
        ForkingPickler.register(kind, reduce_tensor)
