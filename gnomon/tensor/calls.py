"""Calls of operations: tensors become nodes on the way in, and nodes tensors on the way out.

A view that shows its argument's storage becomes another view of it, and no storage of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import ComplexError
from gnomon.ir.node import Node
from gnomon.ir.provenance import scope, sites_here
from gnomon.lazy import encoded
from gnomon.ops.registry import Op
from gnomon.ops.strides import dense, form_of, reshaped
from gnomon.tensor import views
from gnomon.tensor.autocast import fitted
from gnomon.tensor.borrowing import kept_apart, taken_apart
from gnomon.tensor.device import Device
from gnomon.tensor.overrides import Overridden, is_overriding, public, taken_over
from gnomon.tensor.state import grads, is_capturing, narrow, of_complex, program_size, saving
from gnomon.tensor.strides import FORMATS, form_in, has_no_gaps, strided_view_of
from gnomon.tensor.tensor import (
    Paired,
    Tensor,
    alias,
    from_array,
    method,
    node_of,
    pair_of,
    raw,
    source,
    wrap,
)

PLAIN = frozenset({int, float, bool, str, type(None), DType, slice, type(Ellipsis), Device})


def as_nodes(value: Any, found: list[Tensor]) -> Any:
    """An argument with nodes in place of tensors, which are added to the list."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Tensor):
        if value._overrides and is_overriding(value):
            raise Overridden
        found.append(value)
        return node_of(value)
    if isinstance(value, (list, tuple)):
        made = [as_nodes(v, found) for v in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, np.ndarray):
        return node_of(from_array(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex):
        raise ComplexError(f"complex: a function of real numbers met {value!r}.")
    if is_overriding(value):
        raise Overridden
    if hasattr(type(value), "_symint"):
        return program_size(value)  # a size of a function that is captured for all of them
    return next((kind(value) for kind in (int, float) if isinstance(value, kind)), value)


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
    found: list[Tensor] | None = []
    before = scope.sites
    if before is None:  # all nodes of a call have its line: it is looked up once
        scope.sites = sites_here()
    try:
        nodes = [as_nodes(value, found) for value in args]
        if narrow.get() is not None:
            nodes = [fitted(op, value) for value in nodes]
        if kwargs:
            named = {word: as_nodes(value, found) for word, value in kwargs.items()}
            if narrow.get() is not None:
                named = {word: fitted(op, value) for word, value in named.items()}
            result = op(*nodes, **named)
        else:
            result = op(*nodes)
    except ComplexError:
        return of_complex("called")(op, args, kwargs)
    except Overridden:
        found = None  # it is taken over below, or what a class raises would seem to come of this
    finally:
        scope.sites = before
    if found is None:
        return taken_over(public.get(op.__name__, op), args, kwargs or {})
    tracked = False
    if grads.get():
        for tensor in found:
            whole = tensor._view is None and tensor._storage.tracked
            if whole or tensor._requires or tensor.requires_grad:
                tracked = True
                break
    if tracked and saving.get() is not None:
        result = saving.get().result(result, found)
    if type(result) is Node:
        return wrap(result, tracked and result.dtype.kind == "float")
    return wrapped(result, tracked)


def by_weight(call: Callable) -> Callable:
    """The call of a layer; a quantized weight may select another product."""

    def known(op: Op, args: Sequence, kwargs: dict[str, Any]) -> Any:
        weight = args[1] if len(args) > 1 else (kwargs or {}).get(op.facts.layer)
        if isinstance(weight, Paired) or (isinstance(weight, Tensor) and weight._view is None):
            return call(op, args, kwargs)
        return encoded.layer_of(call, op, args, kwargs, weight)

    return known


def apply_view(op: Op | Callable, args: Sequence, kwargs: dict | None = None) -> Any:
    """Call an operation whose results are views of its first argument."""
    tensor = args[0] if args else None
    if not isinstance(tensor, Tensor):
        return apply(op, args, kwargs)
    if tensor._overrides and is_overriding(tensor):
        return taken_over(public[op.__name__], args, kwargs or {})
    try:
        before, start = scope.sites, raw(tensor)
    except ComplexError:
        return of_complex("viewed")(op, tensor, args[1:], kwargs or {})
    try:
        key: Any = (op, start.shape, start.dtype, *map(views.key_of, args[1:]))
        if kwargs:
            key += tuple([(word, views.key_of(value)) for word, value in kwargs.items()])
    except TypeError:
        key = None
    found = None if key is None else views.known.get(key)
    scope.sites = sites_here() if before is None else before
    try:
        if found is None:
            result = op(start, *[as_nodes(v, []) for v in args[1:]], **(kwargs or {}))
            parts, found = views.as_shown(result, start)
            if key is not None and found is not None:
                views.known[key] = found
        else:
            parts = [views.followed(start, steps) for steps in found[1]]
    except ComplexError:
        return of_complex("viewed")(op, tensor, args[1:], kwargs or {})
    finally:
        scope.sites = before
    if found is None:
        return apply(op, args, kwargs)
    chains, _, several = found
    hidden = not grads.get() and tensor.requires_grad
    made = [alias(tensor, chain, hidden) for chain in chains]
    whole = source(tensor._storage)
    if not is_capturing():
        for each, part in zip(made, parts, strict=True):
            each._view.node, each._view.source = part, whole
    return several(made) if several else made[0]


def apply_views(op: Op, args: Sequence, kwargs: dict | None = None) -> Any:
    """Call an operation of several tensors, each of whose results may be a view of one of them."""
    flat = [x for y in args for x in (y if isinstance(y, (list, tuple)) else (y,))]
    tensors = [x for x in flat if isinstance(x, Tensor)]
    if narrow.get() is not None or any(map(is_apart, flat)):
        # after letters of einsum a list is as good as its elements, and classes meet these
        return apply(op, flat if isinstance(args[0], str) else args, kwargs)
    before = scope.sites
    scope.sites = sites_here() if before is None else before
    try:
        result = op.function(*map(as_raw, args), **(kwargs or {}))
        parts = [result] if isinstance(result, Node) else result
        starts = [raw(x) for x in tensors]
        made = [shown_by(part, k, tensors, starts) for k, part in enumerate(parts)]
    finally:
        scope.sites = before
    if None in made:
        return apply(op, args, kwargs)
    return made[0] if isinstance(result, Node) else type(result)(made)


def is_apart(value: Any) -> bool:
    """Whether an argument is a complex tensor, or of a class that overrides functions."""
    return pair_of(value) is not value or (type(value) not in PLAIN and is_overriding(value))


def as_raw(value: Any) -> Any:
    """An argument with nodes in place of tensors, to inspect shapes."""
    if isinstance(value, Tensor):
        return raw(value)
    return type(value)(map(as_raw, value)) if type(value) in (list, tuple) else value


def shown_by(
    part: Node, k: int, tensors: Sequence[Tensor], starts: Sequence[Node]
) -> Tensor | None:
    """The k-th result as a view of an argument, preferably the k-th; None if it is of none."""
    for j in sorted(range(len(tensors)), key=lambda j: j != k):
        chain = views.chain_between(part, starts[j])
        if chain is not None:
            return alias(tensors[j], chain, not grads.get() and tensors[j].requires_grad)
    return None


def apply_shown(op: Op, args: Sequence, kwargs: dict | None = None) -> Any:
    """Call a view operation that copies if strides cannot express its result."""
    made = apply_view(op, args, kwargs)
    x, shown = pair_of(args[0]) if args else None, pair_of(made)
    if not (isinstance(x, Tensor) and isinstance(shown, Tensor)) or has_no_gaps(x):
        return made
    if shown._storage is not x._storage or shows(x, shown):
        return made
    return apply(taken_apart, (made,))


def apply_flat(op: Op, args: Sequence, kwargs: dict | None = None) -> Any:
    """Call an operation that copies tensors that are not contiguous, as ravel does."""
    if args and isinstance(args[0], Tensor):
        args = (contiguous(args[0]), *args[1:])
    return apply_view(op, args, kwargs)


@method
def contiguous(self: Tensor, memory_format: object = None) -> Tensor:
    """The tensor if its elements are contiguous in the order of its axes, else a contiguous copy.

    memory_format: the requested order; channels may be last.
    """
    if memory_format in FORMATS and pair_of(self) is self:
        form = form_in(self, memory_format)
        if form_of(strided_view_of(self)) == form:
            return self
        made = apply(taken_apart, (self,))
        made._storage.form = form
        return made
    return self if has_no_gaps(pair_of(self)) else apply(taken_apart, (self,))


@method
def clone(input: Tensor, *, memory_format: object = None) -> Tensor:
    """A differentiable copy; its axes keep their order in memory by default."""
    made = apply(kept_apart, (input,))
    if memory_format in FORMATS and not isinstance(made, Paired):
        made._storage.form = form_in(input, memory_format)
    return strided_like(input, made) if memory_format in (None, "preserve_format") else made


def strided_like(tensor: Tensor, made: Tensor) -> Tensor:
    """A copy whose axes have the same order in memory as a tensor's."""
    if not isinstance(made, Paired) and not isinstance(tensor, Paired) and not has_no_gaps(tensor):
        made._storage.form = dense(form_of(strided_view_of(tensor)))
    return made


def shows(x: Tensor, other: Tensor) -> bool:
    """Whether strides can view the memory of one tensor in the shape of another."""
    places = strided_view_of(x)
    return places is not None and reshaped(places, raw(other).shape) is not None
