"""Memory that others can write to: which buffers those are, and how a tensor keeps away from them.

A value is shared by every node and storage that has no reason to differ. Once numpy or another
library can write to its bytes, they belong to one storage alone: the others get a copy.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from gnomon.errors import DeviceError
from gnomon.ir.node import Node
from gnomon.ir.provenance import user_site
from gnomon.lazy import numpy_calls, shared
from gnomon.ops.interpret import interpret
from gnomon.ops.layouts import LAYOUTS
from gnomon.ops.strides import shown_by, strided
from gnomon.runtime.buffer import DeviceBuffer, Loan, seen_as
from gnomon.tensor import views
from gnomon.tensor.borrowing import copy_if_lent, numbered, renamed
from gnomon.tensor.device import memory_behind, refuse_elsewhere
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.state import Storage, is_capturing, leaf, refusal, state, waiting
from gnomon.tensor.tensor import Paired, Tensor, array_of, method, pair_of, raw, source, value_of
from gnomon.tensor.views import full_chain

if TYPE_CHECKING:
    from gnomon.runtime.shared import SharedMemory

ALONE = 3
"""References to what only one storage holds: its holder, a variable, the count itself."""
shared_storages: WeakValueDictionary[tuple[int, int], Storage] = WeakValueDictionary()
"""Key of a memory that processes share -> the storage over it in this one."""


def lend(tensor: Tensor) -> np.ndarray:
    """The memory of the tensor's part of its storage, lent for writing."""
    refuse_elsewhere("numpy", tensor._storage.node)
    views.refuse_parts(tensor)
    storage = tensor._storage
    if is_capturing() and source(storage).value is None:
        return state.recorder.lend(raw(tensor))
    if views.is_encoded(tensor._view):
        return array_of(tensor)
    array = lent_storage(storage)
    shown = shown_in(array, tensor)
    if shown is not None:
        return shown
    node = source(storage)
    start = leaf(node.shape, node.dtype, node.value)
    shown = views.read(start, full_chain(tensor))
    if any(x.op in LAYOUTS for x in numbered([shown], lambda x: x is start)):
        return array_of(tensor)
    (part,) = interpret([shown], {start: array})
    return part if part.flags.writeable or node.value.readonly else part.copy()


def lend_elsewhere(tensor: Tensor) -> np.ndarray:
    """A tensor's part of a device's memory, lent to a library that writes there.

    The array has its address and its strides; the host cannot read its elements.
    """
    views.refuse_parts(tensor)
    storage = tensor._storage
    if is_capturing() and source(storage).value is None:
        raise refusal(f"compile: no memory is lent of what is computed.   [{user_site()}]")
    shown = None if views.is_encoded(tensor._view) else shown_in(lent_storage(storage), tensor)
    if shown is None:
        raise DeviceError(
            f"dlpack: this view has no strides on {memory_behind(storage.node).device}. Use "
            f"Tensor.contiguous().   [{user_site()}]"
        )
    return shown


def lent_storage(storage: Storage) -> np.ndarray:
    """The memory of a storage, lent for as long as the array is held."""
    if source(storage).value is None:
        evaluate([source(storage)])
    value = source(storage).value
    # a failure is raised where its value is asked for, and nowhere else
    evaluate([x for x in waiting() if reads(x, value) and x not in state.failed])
    alone = holds_alone(storage)
    if not (value.lent or (value.readonly and alone)):
        # a new name of the bytes: what was computed or packed of the old one is not taken for it
        value = renamed(value) if alone else value.copied()
        storage.node = copy_if_lent(source(storage), value, storage.tracked)
    node = source(storage)
    return seen_as(value if value.readonly else Loan(value), node.dtype.numpy, node.shape)


def shown_in(array: np.ndarray, tensor: Tensor) -> np.ndarray | None:
    """The part of a storage's memory that a tensor views; None if it has no strides."""
    if tensor._view is None:
        return array
    if views.mesh_layout_of(tensor._view):
        return None
    places = strided(array.shape, full_chain(tensor), None)
    if places is None:
        return None
    steps = [step * array.itemsize for step in places.strides]
    return shown_by(array.reshape(-1)[places.start :], places.shape, steps, array.flags.writeable)


def borrow(tensor: Tensor) -> Tensor:
    """A tensor over bytes that foreign code may write to."""
    value_of(tensor._pair if isinstance(tensor, Paired) else tensor).lent += 1
    return tensor


def holds_alone(storage: Storage) -> bool:
    """Whether no other storage, and no pending node, has this storage's node or its bytes."""
    node = storage.node
    value = node.value
    # the caller holds the bytes too; what belongs to another thread has an image here
    return (
        node.op == "input"
        and node.arena is state.arena
        and sys.getrefcount(node) <= ALONE
        and sys.getrefcount(value) <= ALONE + 1
    )


def is_free(tensor: Tensor) -> bool:
    """Whether a tensor's new value may overwrite the old one, since nothing else refers to it.

    Lent memory counts as unshared: see `overlapping`.
    """
    storage = tensor._storage
    if tensor._view is not None or not holds_alone(storage):
        return False
    value = storage.node.value
    return not (value.lent and value.readonly)


def overlapping(values: Iterable[DeviceBuffer]) -> set[int]:
    """The addresses of those values whose bytes others of them have too.

    A value that comes twice is one: another reference to it keeps it from being overwritten.
    """
    apart = {id(value): value for value in values}.values()
    ends = sorted((value.address, value.address + value.nbytes) for value in apart)
    found, last = set[int](), (0, 0)
    for start, end in ends:
        if start < last[1]:
            found |= {last[0], start}
        last = max(last, (start, end), key=itemgetter(1))
    return found


def all_free(tensors: Sequence[Tensor]) -> bool:
    """Whether all tensors may be overwritten; a step asks it of all that its optimizer writes.

    The caller holds the values in a list of its own.
    """
    nodes = list(map(node_there, tensors))
    values = list(map(value_there, nodes))
    return (
        max(map(sys.getrefcount, nodes)) <= ALONE
        and max(map(sys.getrefcount, values)) <= ALONE + 1
        and not any(map(lent_there, values))
        and not any(map(view_there, tensors))
        and set(map(place_there, nodes)) == {("input", state.arena)}
    )


node_there, value_there, lent_there, view_there, place_there = (
    *map(attrgetter, ("_storage.node", "value", "lent", "_view")),
    attrgetter("op", "arena"),
)


def reads(node: Node, value: object) -> bool:
    """Whether a pending node depends on a buffer."""
    seen, stack = set(), [node]
    while stack:
        found = stack.pop()
        if found.value is value:
            return True
        if found not in seen and found.value is None:
            seen.add(found)
            stack.extend(found.inputs)
    return False


def shared_of(storage: Storage) -> SharedMemory | None:
    """The shared memory of a storage; None for memory of this process."""
    owner = storage.node.value
    while isinstance(owner, DeviceBuffer):
        owner = owner.owner
    return owner if isinstance(owner, shared.SharedMemory) else None


def over_shared(memory: SharedMemory) -> DeviceBuffer:
    """A buffer over shared memory, which other processes may write to at any time."""
    made = DeviceBuffer.foreign(memory.address, memory.nbytes, memory)
    made.lent = 1
    return made


@method
def share_memory_(self: Tensor) -> Tensor:
    """Move the memory behind this tensor to shared memory, for processes that receive the tensor.

    All of them read and write it without synchronization.
    """
    tensor = pair_of(self)
    refuse_elsewhere("share_memory_", tensor._storage.node)
    if shared_of(tensor._storage) is None:
        if is_capturing():
            raise refusal(f"compile: share_memory_ moves memory. Call it before.   [{user_site()}]")
        views.refuse_parts(tensor)
        storage = tensor._storage
        if source(storage).value is None:
            evaluate([source(storage)])
        node = source(storage)
        memory = shared.SharedMemory.new(node.value.nbytes)
        made, shared_storages[memory.key] = over_shared(memory), storage
        ctypes.memmove(made.address, node.value.address, made.nbytes)
        storage.node = copy_if_lent(node, made, storage.tracked)
    return self


@method
def is_shared(self: Tensor) -> bool:
    """Whether processes that receive this tensor see its memory."""
    return shared_of(pair_of(self)._storage) is not None


@method
def __array_ufunc__(self: Tensor, function: Any, how: str, *inputs: Any, **named: Any) -> Any:
    """Apply numpy's functions of elements, as in np.exp(t) and array + t."""
    return numpy_calls.of_elements(function, how, inputs, named)


@method
def __array_function__(self: Tensor, function: Any, types: Any, args: Any, named: Any) -> Any:
    """Apply numpy's other functions, as in np.mean(t) and np.concatenate([t, u])."""
    return numpy_calls.of_arrays(function, args, named)
