"""Tensor: a view of a storage, and how operations on nodes become operations on tensors.

Its operators are in operators.py, the methods of operations in functions.py, the others in the
files of their subject; `method` attaches them. Values appear in evaluate.py only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import GradientError
from gnomon.ir.memo import kind_of, memo
from gnomon.ir.node import Node, pattern_of
from gnomon.ops.histories import rewritten
from gnomon.ops.layouts import note_axes
from gnomon.runtime.buffer import Allocator, DeviceBuffer, memory, row_major
from gnomon.tensor import module_versions as changes
from gnomon.tensor import views
from gnomon.tensor.borrowing import at_home, borrows, is_lent, kept_apart
from gnomon.tensor.device import Device, device_behind
from gnomon.tensor.evaluate import evaluate, evaluate_kept, relieve
from gnomon.tensor.size import Size
from gnomon.tensor.state import (
    NOTHING,
    Storage,
    grads,
    is_capturing,
    keep,
    leaf,
    leaf_of_value,
    mesh_results,
    of_complex,
    own_leaf,
    program_size,
    state,
    storage_of,
)
from gnomon.tensor.views import Chain, View
from gnomon.tensor.watchers import Rare

_detaching: dict[tuple, Node] = memo({})  # nodes that detach a value, as patterns of others


class Tensor:
    """An array of one dtype whose value is computed when it is needed."""

    __slots__ = ("__dict__", "__weakref__", "_rare", "_requires", "_storage", "_view")
    __array_priority__ = 1000

    _storage: Storage
    _view: View | None
    _rare: Rare | None
    _requires: bool

    @property
    def shape(self) -> Size:
        """Sizes of the axes."""
        shape = raw(self).shape
        return Size(shape if state.shown is None else state.shown(shape))

    @property
    def _version(self) -> int:
        """The count of writes to the storage."""
        return self._storage.version

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._storage.node.dtype if self._view is None else raw(self).dtype

    @property
    def device(self) -> Device:
        """The device of the elements; "meta" where there are none."""
        return device_behind(self._storage.node)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(raw(self).shape)

    @property
    def requires_grad(self) -> bool:
        """Whether backward passes reach this tensor."""
        if self._requires:
            return True
        view = self._view
        if view is None:
            return self._storage.tracked
        return not view.detached and (
            self._storage.tracked or (view.base is not None and view.base.requires_grad)
        )

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value == self.requires_grad:
            return
        if not value and not self._requires:
            raise GradientError("requires_grad: only a leaf is switched off. Use detach().")
        if value and not self.dtype.is_floating_point:
            raise GradientError(
                f"requires_grad: only floats have gradients: got {self.dtype.name}. Use float()."
            )
        if value:
            views.refuse_encoded_leaf(self._view)
        state.recorder.switch(self)
        node = self._storage.node
        if node.op == "input" and node.value is not None and not is_capturing():
            # no gradient passes what was computed of it before
            self._storage.node = leaf(node.shape, node.dtype, node.value, node.sites)
        self._requires = bool(value)
        if value:
            keep(self._storage)
            if self._storage.cut is not None and self._view is not None:
                self._storage.cut.discard(self._view)  # its gradients go to the history's node
        changes.note()

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor is a leaf: not the result of a differentiated operation."""
        return self._requires or not self.requires_grad

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have gathered here."""
        return state.recorder.read_grad(self)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and tuple(value.shape) != tuple(self.shape):
            raise GradientError(
                f"grad: shapes differ: the tensor's is {tuple(self.shape)}, "
                f"the gradient's {tuple(value.shape)}."
            )
        set_gradient(self, value)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def data(self) -> Tensor:
        """A tensor of the same storage, without gradients."""
        return alias(self, (), detached=True, unchecked=True)

    @data.setter
    def data(self, value: Tensor) -> None:
        if state.recorder.takes(self, value):
            return
        view = alias(value, (), detached=True)._view if value.requires_grad else value._view
        self._storage, self._view = value._storage, view
        changes.note()

    def __len__(self) -> int:
        if not raw(self).shape:
            raise TypeError("len() of a 0-d tensor")
        return raw(self).shape[0]

    __hash__ = object.__hash__


class Paired:
    """Base of tensors of other elements over a real tensor; complex_tensor.py has the only one."""

    __slots__ = ("__weakref__", "_pair")
    plain: type[Paired]
    """The class of results."""

    def __init__(self, parts: Sequence[Tensor]) -> None:
        (self._pair,) = parts

    def _dense_parts(self) -> tuple[tuple[Tensor, ...], Callable]:
        return (self._pair,), self.plain


def single(value: Any) -> Any:
    """The number in a scalar tensor or numpy's scalar; a size in the program's form."""
    return value.item() if isinstance(value, (Tensor, np.generic)) else program_size(value)


def pair_of(tensor: Any) -> Any:
    """The real tensor behind a complex one; any other tensor unchanged."""
    return tensor._pair if isinstance(tensor, Paired) else tensor


def pairs_of(tensors: Iterable | None) -> list | None:
    """The real tensors behind several; None for None."""
    return tensors and list(map(pair_of, tensors))


def method(function: Callable) -> Callable:
    """A decorator that makes a function a method of Tensor too."""
    setattr(Tensor, function.__name__, function)
    return function


def rare(tensor: Tensor) -> Rare:
    """The rare attributes of a tensor, made on first use."""
    if tensor._rare is None:
        tensor._rare = Rare()
    return tensor._rare


def set_gradient(tensor: Tensor, value: Tensor | None) -> None:
    """Set a tensor's gradient to one of its shape, or to None."""
    is_taken = state.recorder.write_grad(tensor, value)
    if not is_taken and (value is not None or tensor._rare is not None):
        rare(tensor).grad = value


# from nodes to tensors


def wrap(node: Node, tracked: bool = False, whole: bool = False) -> Tensor:
    """A new tensor with a storage of its own; whole: each rank has all of the value."""
    if mesh_results and not whole and node.value is None:
        return mesh_results[0](node, tracked)
    tensor = Tensor.__new__(Tensor)
    tensor._storage, tensor._view, tensor._rare = storage_of(node, tracked), None, None
    tensor._requires = False
    if node.value is None and node.serial > state.look_at:
        relieve(node.serial)
    return tensor


def alias(tensor: Tensor, chain: Chain, detached: bool = False, unchecked: bool = False) -> Tensor:
    """A view of another tensor's storage."""
    made, before, asked = Tensor.__new__(Tensor), tensor._view, detached
    made._storage, made._rare, made._requires = tensor._storage, None, False
    steps, chain = chain, chain if before is None else (*before.chain, *chain)
    detached |= before is not None and before.detached and not tensor._requires
    base = None if detached else tensor if tensor._requires else (before.base if before else None)
    if detached and before is not None and before.base is not None and before.base._view:
        chain = (*views.full_chain(tensor), *steps)  # from the storage, and not from a leaf
    elif base is tensor and before is not None:
        # a leaf that is itself a view: steps count from the leaf
        chain = chain[len(before.chain) :]
    made._view = View(chain, base, detached, before is not None and before.lost and not asked)
    if steps or not asked:
        made._view.home = before.home if before is not None and before.home else ref(tensor)
    made._view.version = tensor._storage.version
    made._view.unchecked = unchecked or (before is not None and before.unchecked and detached)
    if before is not None and not (detached or tensor._requires):
        if before.own is not None:
            node_of_view(tensor)  # as it is after what was written since
        made._view.parent, before.used = before, True
    if detached and made._storage.tracked and state.recorder is NOTHING:
        views.note_cut(made._storage, made._view)
    if state.recorder is not NOTHING:  # a call would be a twelfth of detach()
        state.recorder.shows(made._view, before, asked)
    return made


def from_buffer(buffer: DeviceBuffer, shape: Sequence[int], dtype: DType) -> Tensor:
    """A tensor over a buffer that is not copied."""
    return wrap(leaf(tuple(shape), dtype, buffer))


def from_array(array: np.ndarray, place: Allocator = memory) -> Tensor:
    """A tensor over a numpy array's memory if its layout and address allow, else a copy."""
    array = row_major(array)
    if array.dtype.kind == "c":
        return of_complex("of_array")(array)
    return from_buffer(DeviceBuffer.of(array, place), array.shape, dtype_of(array.dtype))


# from tensors to nodes


def source(storage: Storage) -> Node:
    """A storage's node, in this thread's arena."""
    node = storage.node
    if node.arena is state.arena:
        return node
    return state.recorder.claim(storage) if is_capturing() else at_home(node)


def raw(tensor: Tensor) -> Node:
    """The tensor's node to inspect its shape or value, without gradients."""
    view, node = tensor._view, tensor._storage.node
    if node.arena is not state.arena:
        node = source(tensor._storage)
    if view is None:
        return node
    if view.base is not None and view.base._view is not None:
        node = raw(view.base)
    if view.source is not node or is_lent(node):
        if view.base is None:
            view.node = views.refresh_view(view, node, tensor._storage.version)
        else:
            view.node = views.view_node(view, node)
        view.source = node
    return view.node


def node_of(tensor: Tensor) -> Node:
    """The tensor's node as the input of an operation."""
    if tensor._view is None and not tensor._requires:
        storage, node = tensor._storage, tensor._storage.node
        if node.arena is not state.arena:
            node = source(storage)
        if node.value is not None and node.value.lent:
            node = kept_apart(node)
        if not storage.tracked:  # a leaf that wants no gradients for a while is not what is watched
            return detached(node) if node.watch else node
        if not grads.get():
            return detached(node)
        storage.used = True
        return node
    if tensor._requires and (node := own_leaf(tensor)) is not None:
        return node
    if (shown := views.lent_part(tensor)) is not None:
        return shown
    node = node_of_view(tensor)
    if not is_lent(source(tensor._storage)) or views.mesh_layout_of(tensor._view):
        return node
    evaluate([] if borrows(node) else [node])
    return kept_apart(node, True)


def node_of_view(tensor: Tensor) -> Node:
    """The node as an operand, of a leaf with requires_grad or of a view."""
    if not tensor.requires_grad:
        node, view = raw(tensor), tensor._view
        views.check_kept(view)
        # a leaf's own node may gather gradients, so whoever was cut from it looks past it
        behind = view is not None and (view.base is not None or view.detached)
        behind = behind or tensor._storage.tracked or source(tensor._storage).watch
        return detached(node) if behind else node
    if not grads.get():
        return detached(raw(tensor))
    if tensor._requires:
        return leaf_node(tensor)
    view, storage = tensor._view, tensor._storage
    if view.base is None:
        node = raw(tensor)
    else:
        node = views.refresh_view(view, leaf_node(view.base), storage.version)
    storage.used = view.used = True
    return node


def detached(node: Node) -> Node:
    """A node with the same value, detached from gradients."""
    key = node.shape, node.dtype
    if (like := _detaching.get(key)) is None:
        like = _detaching[key] = pattern_of(kind_of("detach", {}), "detach", {}, node)
    made = node.arena.repeat(like, (node,))
    if node.inputs and state.recorder is NOTHING:
        state.detached.append(ref(made))
    return made


def leaf_node(tensor: Tensor) -> Node:
    """The node that represents one leaf in graphs."""
    kept, node = rare(tensor), raw(tensor)
    if node.value is None and not is_capturing():
        keep(tensor._storage)
        evaluate_kept()
        node = raw(tensor)
    if kept.source is node:
        return kept.leaf
    # what shows a view's storage, or has a made leaf's node, may be no leaf
    inside = state.recorder.is_made(tensor)
    own = node.op == "input" and not (inside and is_capturing())
    if own and node.watch is None and tensor._view is None:
        node.watch = [ref(tensor)]
    if own and any(found() is tensor for found in node.watch or ()):
        return node
    waits = state.recorder.stand_in(tensor)
    waits = node.arena.unique("detach", node) if waits is None else waits
    if views.mesh_layout_of(tensor._view):
        note_axes(waits, node)
    made = waits if inside or own else rewritten(waits, node)  # written: the leaf outside waits
    waits.watch, kept.source, kept.leaf = [ref(tensor)], node, made
    return made


def value_of(tensor: Tensor) -> DeviceBuffer:
    """The tensor's value, computed now if it is pending."""
    views.refuse_parts(tensor)
    node = raw(tensor)
    if node.value is None and is_capturing():
        return state.recorder.look(node)
    if node.value is None and not (tensor._view is not None and borrows(node)):
        evaluate([node])
        view = tensor._view
        if view is not None and view.source is not source(tensor._storage):
            # the storage has settled on a leaf: this view's value still holds
            view.node, view.source = leaf_of_value(node, tensor._storage.kept), tensor._storage.node
    return node.value


def array_of(tensor: Tensor) -> np.ndarray:
    """The tensor's value as a numpy array, which shares its memory where the host may read it."""
    return value_of(tensor).numpy(tensor.dtype.numpy, tuple(tensor.shape))
