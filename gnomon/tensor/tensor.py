"""Tensor: a view of a storage, and how operations on nodes become operations on tensors.

Its operators are in operators.py, its methods in methods.py and the files named there; they are
attached by `method`. Values appear in evaluate.py only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any
from weakref import ref

import numpy as np

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import GradientError
from gnomon.ir.node import Node
from gnomon.ir.provenance import scope, sites_here
from gnomon.ops.registry import Op
from gnomon.runtime.buffer import Buffer, row_major
from gnomon.settings import current
from gnomon.tensor import changes, views
from gnomon.tensor.autocast import fitted
from gnomon.tensor.device import CPU, Device
from gnomon.tensor.evaluate import evaluate, evaluate_all
from gnomon.tensor.state import LOOK, Storage, at_home, leaf, state, storage_of
from gnomon.tensor.views import Chain

PLAIN = frozenset({int, float, bool, str, type(None), DType, slice, type(Ellipsis), Device})


class Size(tuple):
    """A shape: a tuple that can count elements.

    >>> Size((2, 3)).numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements."""
        return prod(self)

    def __repr__(self) -> str:
        return f"Size({list(self)})"


class View:
    """What a tensor shows of its storage: a chain of steps from the base tensor's value."""

    __slots__ = ("base", "chain", "detached", "node", "source")

    def __init__(self, chain: Chain, base: Tensor | None, detached: bool) -> None:
        self.chain, self.base, self.detached = chain, base, detached
        self.source: Node | None = None
        self.node: Node | None = None


class Rare:
    """What few tensors have: a gradient, hooks, and the node that stands for a leaf."""

    __slots__ = ("accumulated", "grad", "hooks", "leaf", "retains", "source", "watches")

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        self.hooks: dict[int, Callable] = {}
        self.accumulated: dict[int, Callable] = {}
        self.retains = self.watches = False
        self.source: Node | None = None
        self.leaf: Node | None = None


class Tensor:
    """An array of one dtype whose value is computed when it is needed."""

    __slots__ = ("__weakref__", "_rare", "_requires", "_storage", "_view")
    __array_priority__ = 1000
    __array_ufunc__ = None

    _storage: Storage
    _view: View | None
    _rare: Rare | None
    _requires: bool

    @property
    def shape(self) -> Size:
        """Sizes of the axes."""
        return Size(raw(self).shape)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._storage.node.dtype

    @property
    def device(self) -> Device:
        """Where the elements are."""
        return CPU

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
            told = "requires_grad: only a leaf can be switched off. Use detach() for a result."
            raise GradientError(told)
        if value and not self.dtype.is_floating_point:
            raise GradientError(
                f"requires_grad: only floats have gradients: got {self.dtype.name}. Use float()."
            )
        self._requires = bool(value)
        changes.note()

    @property
    def is_leaf(self) -> bool:
        """Whether no operation that is differentiated made it."""
        return self._requires or not self.requires_grad

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have gathered here."""
        if state.capture is not None:
            return state.capture.read_grad(self)
        return None if self._rare is None else self._rare.grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and tuple(value.shape) != tuple(self.shape):
            raise GradientError(
                f"grad: shapes differ: the tensor's is {tuple(self.shape)}, "
                f"the gradient's {tuple(value.shape)}."
            )
        if state.capture is not None:
            state.capture.write_grad(self, value)
        elif value is not None or self._rare is not None:
            rare(self).grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def data(self) -> Tensor:
        """The same storage, out of sight of backward passes."""
        return alias(self, (), detached=True)

    @data.setter
    def data(self, value: Tensor) -> None:
        if state.capture is not None and state.capture.takes(self, value):
            return
        view = alias(value, (), detached=True)._view if value.requires_grad else value._view
        self._storage, self._view = value._storage, view
        changes.note()

    def __len__(self) -> int:
        if not raw(self).shape:
            raise TypeError("len() of a 0-d tensor")
        return raw(self).shape[0]

    __hash__ = object.__hash__


def method(function: Callable) -> Callable:
    """Make a function of a tensor its method too."""
    setattr(Tensor, function.__name__, function)
    return function


def rare(tensor: Tensor) -> Rare:
    """The rare parts, made on first use."""
    if tensor._rare is None:
        tensor._rare = Rare()
    return tensor._rare


# from nodes to tensors


def wrap(node: Node, tracked: bool = False) -> Tensor:
    """A new tensor with a storage of its own."""
    tensor = Tensor.__new__(Tensor)
    tensor._storage, tensor._view, tensor._rare = storage_of(node, tracked), None, None
    tensor._requires = False
    if node.value is None and node.serial > state.look_at:
        relieve(node.serial)
    return tensor


def relieve(serial: int) -> None:
    """Evaluate when more nodes wait than the settings allow."""
    state.look_at = serial + LOOK
    if serial - state.evaluated_at > current().pending_limit and state.capture is None:
        evaluate_all()
        state.evaluated_at = serial


def alias(tensor: Tensor, chain: Chain, detached: bool = False) -> Tensor:
    """A tensor that shows part of another's storage."""
    made = Tensor.__new__(Tensor)
    made._storage, made._rare, made._requires = tensor._storage, None, False
    before = tensor._view
    chain = chain if before is None else (*before.chain, *chain)
    detached |= before is not None and before.detached and not tensor._requires
    base = None
    if not detached:
        base = tensor if tensor._requires else (before.base if before else None)
        if tensor._requires and before is not None:
            # a leaf that is itself a view: steps count from the leaf
            chain = chain[len(before.chain) :]
    made._view = View(chain, base, detached)
    return made


def from_buffer(buffer: Buffer, shape: Sequence[int], dtype: DType) -> Tensor:
    """A tensor over a buffer that is not copied."""
    return wrap(leaf(tuple(shape), dtype, buffer))


def from_array(array: np.ndarray) -> Tensor:
    """A tensor over a numpy array's memory where its layout allows, else over a copy."""
    array = row_major(array)
    return from_buffer(Buffer.of(array), array.shape, dtype_of(array.dtype))


# from tensors to nodes


def source(storage: Storage) -> Node:
    """A storage's node, in this thread's arena."""
    node = storage.node
    if node.arena is state.arena:
        return node
    return at_home(node) if state.capture is None else state.capture.claim(storage)


def raw(tensor: Tensor) -> Node:
    """The tensor's node for a look at its shape or value: no gradient follows it."""
    view = tensor._view
    node = source(tensor._storage)
    if view is None:
        return node
    if view.base is not None and view.base._view is not None:
        node = raw(view.base)
    if view.source is not node:
        view.node, view.source = views.read(node, view.chain), node
    return view.node


def node_of(tensor: Tensor) -> Node:
    """The tensor's node as the input of an operation."""
    if tensor._view is None and not tensor._requires:
        storage = tensor._storage
        node = storage.node
        if node.arena is not state.arena:
            node = source(storage)
        return detached(node) if storage.tracked and not state.grad else node
    return node_of_view(tensor)


def node_of_view(tensor: Tensor) -> Node:
    """The same for leaves that want gradients, and for views."""
    if not tensor.requires_grad:
        node, view = raw(tensor), tensor._view
        # a leaf's own node may gather gradients, so whoever was cut from it looks past it
        behind = view is not None and (view.base is not None or view.detached)
        return detached(node) if behind or tensor._storage.tracked else node
    if not state.grad:
        return detached(raw(tensor))
    if tensor._requires:
        return leaf_node(tensor)
    base = tensor._view.base
    return raw(tensor) if base is None else views.read(leaf_node(base), tensor._view.chain)


def detached(node: Node) -> Node:
    """The node behind which no gradient looks."""
    return node.arena.node("detach", (node,))


def leaf_node(tensor: Tensor) -> Node:
    """The node that stands for a leaf in graphs: no other leaf has the same."""
    kept, node = rare(tensor), raw(tensor)
    if node.value is None and state.capture is None:
        evaluate_all()
        node = raw(tensor)
    if kept.source is node:
        return kept.leaf
    if node.op == "input" and node.watch is None:
        node.watch = [ref(tensor)]
    if node.op == "input" and any(found() is tensor for found in node.watch):
        return node
    if node.op == "input" and state.capture is not None:
        made = state.capture.placeholder(tensor, lambda _: tensor)
    else:
        made = node.arena.unique("detach", node)
    made.watch = [ref(tensor)]
    kept.source, kept.leaf = node, made
    return made


def unwrapped(value: Any, found: list[Tensor]) -> Any:
    """An argument with nodes in place of tensors, which are added to the list."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Tensor):
        found.append(value)
        return node_of(value)
    if isinstance(value, (list, tuple)):
        made = [unwrapped(v, found) for v in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, np.ndarray):
        return node_of(from_array(value))
    if isinstance(value, np.generic):
        return value.item()
    return int(value) if isinstance(value, int) else value


def wrapped(result: Any, tracked: bool) -> Any:
    """An operation's result with tensors in place of nodes."""
    if isinstance(result, Node):
        return wrap(result, tracked and result.dtype.kind == "float")
    if isinstance(result, (tuple, list)):
        parts = [wrapped(part, tracked) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def apply(op: Op | Callable, args: Sequence, kwargs: dict | None = None) -> Any:
    """Call an operation on nodes with tensors."""
    found: list[Tensor] = []
    before = scope.sites
    if before is None:  # all nodes of a call have its line: it is looked up once
        scope.sites = sites_here()
    try:
        nodes = [unwrapped(value, found) for value in args]
        if state.autocast is not None:
            nodes = [fitted(getattr(op, "__name__", ""), value) for value in nodes]
        if kwargs:
            named = {word: unwrapped(value, found) for word, value in kwargs.items()}
            if state.autocast is not None:
                named = {word: fitted(op.__name__, value) for word, value in named.items()}
            result = op(*nodes, **named)
        else:
            result = op(*nodes)
    finally:
        scope.sites = before
    tracked = False
    if state.grad:
        for tensor in found:
            if tensor.requires_grad:
                tracked = True
                break
    return wrapped(result, tracked)


def apply_view(op: Op | Callable, args: Sequence, kwargs: dict | None = None) -> Any:
    """The same for an operation whose results show its first argument's storage."""
    tensor = args[0]
    if not isinstance(tensor, Tensor):
        return apply(op, args, kwargs)
    start = raw(tensor)
    result = op(start, *[unwrapped(v, []) for v in args[1:]], **(kwargs or {}))
    parts = [result] if isinstance(result, Node) else result
    chains = [views.chain_between(part, start) for part in parts]
    if None in chains:
        return apply(op, args, kwargs)
    hidden = not state.grad and tensor.requires_grad
    made = [alias(tensor, chain, hidden) for chain in chains]
    return made[0] if isinstance(result, Node) else type(result)(made)


def value_of(tensor: Tensor) -> Buffer:
    """The tensor's value, computed now if it is pending."""
    node = raw(tensor)
    if node.value is None:
        evaluate([node])
        view = tensor._view
        if view is not None and view.source is not source(tensor._storage):
            # the storage has settled on a leaf: this view's value still holds
            view.node, view.source = leaf(node.shape, node.dtype, node.value), tensor._storage.node
    return node.value
