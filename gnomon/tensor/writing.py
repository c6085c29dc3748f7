"""Writes: a tensor's new value goes back through its views into its storage."""

from __future__ import annotations

import numpy as np

from gnomon.errors import GradientError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ir.provenance import user_site
from gnomon.ops.histories import has_other_history, rewritten, unmoved
from gnomon.ops.primitives import expand
from gnomon.ops.strides import shown_by, strided
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.buffer import memory as host_memory
from gnomon.tensor import views, watchers
from gnomon.tensor.autograd.versions import overwritten
from gnomon.tensor.borrowing import afresh, borrows, copy_if_lent, has_history, is_lent
from gnomon.tensor.device import any_missing, is_missing, refuse_missing
from gnomon.tensor.evaluate import evaluate, is_filled
from gnomon.tensor.state import (
    NOTHING,
    Storage,
    grads,
    is_capturing,
    meets_later,
    mesh_results,
    refusal,
    state,
)
from gnomon.tensor.strides import check_places
from gnomon.tensor.tensor import Tensor, detached, raw, source
from gnomon.tensor.views import Chain, full_chain


def write(
    tensor: Tensor, value: Node, tracked: bool, given: bool = False, alone: bool = False
) -> Tensor:
    """Set a tensor's value; everything that views its storage changes with it.

    given: whether the value comes from elsewhere, and is not computed of the tensor's own. alone:
    nothing else reads the value's node.
    """
    storage, view = tensor._storage, tensor._view
    if view is None and takes_whole(storage, value) and not grads.get():
        before = storage.node
        if before.watch or state.origins:
            overwritten(storage, next(state.arena._serial) if given else value.serial)
        if before.value is not None and before.value.lent:
            give(storage, value, alone=alone)
        else:
            put_node(storage, value)
        return tensor
    check_writable(tensor)
    if not is_capturing():  # of what is captured, the writes are a part
        if is_missing(tensor._storage.node):
            return tensor
        refuse_missing("write", value)
    if not is_filled(value):  # one number may be written several times to one place
        check_places(tensor)
    since = next(state.arena._serial) if given else value.serial
    overwritten(storage, since, view is not None and view.unchecked)
    before = raw(tensor)
    value = expand(cast(value, before.dtype), before.shape)
    if not grads.get() or (view is not None and view.detached):
        write_unseen(tensor, value, tracked and grads.get(), alone)
    elif view is None or not view.chain:
        value, tracked = joined_history(storage, value, tracked)
        storage.tracked, storage.released = tracked and not tensor._requires, False
        give(storage, value)
    else:
        value = written_through(tensor, value)
        if before.size == value.size:
            value, _ = joined_history(storage, value, tracked)
        storage.tracked, storage.released = storage.tracked or tracked, False
        give(storage, value, chain=full_chain(tensor))
        if view.own is not None and view.base is None:
            views.refresh_view(view, source(storage), storage.version)
    if mesh_results and not is_capturing() and views.mesh_layout_of(view):
        later = meets_later.get()
        if later is None:
            evaluate([storage.node])  # ranks meet here, and not when one of them reads it
        else:
            later.append(tensor)
    return tensor


def takes_whole(storage: Storage, value: Node) -> bool:
    """Whether a storage takes a value as its own: one of its kind, beside no history or layout."""
    node = storage.node
    return (
        state.recorder is NOTHING
        and value.dtype is node.dtype
        and value.shape == node.shape
        and node.arena is state.arena
        and not (storage.tracked or any_missing or mesh_results)
    )


def joined_history(storage: Storage, value: Node, tracked: bool) -> tuple[Node, bool]:
    """A whole new value, and whether it has a history: the old value's, with zero gradients."""
    if tracked or not storage.tracked:
        return value, tracked
    return unmoved(value, source(storage)), value.dtype.is_floating_point


def write_unseen(tensor: Tensor, value: Node, lost: bool, alone: bool = False) -> None:
    """Set a tensor's value without gradients: the storage keeps its history."""
    storage, view = tensor._storage, tensor._view
    old, whole = source(storage), view is None or not view.chain
    node = value if whole else written_through(tensor, value)
    if storage.tracked:
        (old, _) = old.inputs if has_other_history(old) else (old, None)
        node = rewritten(old, node)
    if view is not None and (lost or whole):
        if lost and is_capturing():
            raise refusal(f"compile: {views.LOST}   [{user_site()}]")
        view.lost = lost
    chain = () if whole else full_chain(tensor)
    give(storage, node, storage.tracked, chain, alone and node is value)


def written_through(tensor: Tensor, value: Node) -> Node:
    """The whole storage's value after a write to a view."""
    return views.write(afresh(source(tensor._storage)), full_chain(tensor), value)


def give(
    storage: Storage, node: Node, history: bool = False, chain: Chain = (), alone: bool = False
) -> None:
    """Set a storage's value; where its memory is shared, others see it at once.

    chain: the view steps to the part that was written, the only one that is touched in such memory.
    alone: nothing else reads the node, so that its program may write to such memory itself.
    """
    if not is_capturing() and is_lent(storage.node) and not storage.node.value.readonly:
        value = storage.node.value
        evaluate([] if borrows(node) else [node], (node, value) if alone else None)
        if node.value is not value:
            overwrite(value, node, chain)
        node = copy_if_lent(node, value, history or has_history(node))
    put_node(storage, node)


def put_node(storage: Storage, node: Node) -> None:
    """Set a storage's node; tensors that retain the gradient of the latest value go on to it."""
    before = storage.node
    moved = watchers.retained(before) if before.watch and before.arena is state.arena else []
    storage.set(watchers.unshared_copy(node) if moved else node)
    for tensor in moved:  # a gradient is kept of the latest value
        if tensor._storage is storage and tensor._view is None:
            storage.used = True
            watchers.attach(storage.node, tensor)


def overwrite(memory: DeviceBuffer, node: Node, chain: Chain) -> None:
    """Copy a value, or the part of it behind view steps, over shared memory.

    Another process may write to the rest of the host's memory meanwhile.
    """
    shared = chain and memory.memory is host_memory
    places = strided(node.shape, chain, None) if shared else None
    if places is None:
        memory.memory.copy(memory, node.value.part(0, memory.nbytes))
        return
    steps = tuple(step * node.dtype.itemsize for step in places.strides)
    parts = [
        shown_by(x.numpy(node.dtype.numpy, (node.size,))[places.start :], places.shape, steps)
        for x in (memory, node.value)
    ]
    np.copyto(*parts)


def replace(storage: Storage, node: Node | None, flags: tuple[bool, bool], since: int) -> None:
    """Set a storage to a program's result; None if the old value was overwritten in place."""
    tracked, released = flags
    overwritten(storage, since)
    if node is None:
        storage.version += 1
    else:
        give(storage, node if tracked else drop_history_of(node), tracked)
    storage.tracked, storage.released = tracked, released
    if tracked and released:
        storage.node.watch = watchers.FREED


def put(target: Tensor, node: Node | None, flags: tuple[bool, bool], since: int) -> None:
    """Set a tensor's view to a program's result; a view always gets a new value."""
    tracked, released = flags
    if target._view is None:
        replace(target._storage, node, flags, since)
        return
    storage = target._storage
    overwritten(storage, node.serial)
    written = written_through(target, node if tracked else drop_history_of(node))
    give(storage, written, tracked, full_chain(target))
    storage.tracked, storage.released = storage.tracked or tracked, released


def drop_history_of(node: Node) -> Node:
    """A node with the same value, without a history."""
    return node if node.value is not None else detached(node)


def check_writable(tensor: Tensor) -> None:
    """Refuse to overwrite values that a backward pass starts from."""
    if not grads.get():
        return
    base = tensor._view.base if tensor._view is not None else None
    if tensor._requires or (base is not None and base._requires):
        what = "a leaf Variable" if tensor._requires else "a view of a leaf Variable"
        raise GradientError(
            f"write: {what} that requires grad is being used in an in-place operation. "
            "Write inside `with gn.no_grad():`, or to a clone()."
        )
