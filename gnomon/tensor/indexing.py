"""x[...] and x[...] = v: integers, slices, None, Ellipsis, integer arrays and masks.

Integers and slices are views. Arrays of positions gather, and write through the winning position.
A mask that selects must count its own elements, so it is evaluated; one that is written to is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import int64, uint8
from gnomon.errors import ArgumentError, DtypeError, IndexOutOfBounds
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.ops.arguments import joint_shape
from gnomon.ops.indexing import index_add, index_copy
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.op_calls import repeated
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import permute, slice_
from gnomon.tensor.calls import apply, apply_view
from gnomon.tensor.creation import array_from, from_numbers
from gnomon.tensor.masks import (
    first_single,
    is_mask,
    names_rows,
    numbered,
    position_arrays,
    positions,
    where_mask,
)
from gnomon.tensor.state import of_complex, whole
from gnomon.tensor.strides import check_places
from gnomon.tensor.tensor import Paired, Tensor, alias, from_array, method, node_of, raw
from gnomon.tensor.writing import write

BASIC = frozenset({int, slice, type(None), type(Ellipsis)})  # types of an index that is a view
SHORT = 32
"""Lists of so many items and more are positions, whatever they hold."""


class IndexPlan(NamedTuple):
    """A parsed index: its basic part as a slice and a shape, and positions per axis."""

    bounds: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]
    positions: tuple[tuple[int, Any], ...]
    """(axis of the basic part's result, tensor or array of positions)"""


class AlongNewAxis(NamedTuple):
    """A scalar boolean in an index: a new axis of size 1, taken or not."""

    positions: Any


def read_index(shape: Sequence[int], index: Any) -> IndexPlan:
    """Parse an index into its parts."""
    items = expand_masks(complete(shape, index if isinstance(index, tuple) else (index,)), shape)
    bounds, out, positions, axis = [], [], [], 0
    for item in items:
        if item is None or isinstance(item, AlongNewAxis):
            positions += [(len(out), item.positions)] if item else []
            out.append(1)
            continue
        size = shape[axis]
        axis += 1
        if isinstance(item, slice):
            bounds.append(bound_of(item, size))
            start, stop, step = bounds[-1]
            out.append(-((start - stop) // step))
        elif isinstance(item, int):
            bounds.append(one_place(item, size, axis - 1))
        else:
            bounds.append((0, size, 1))
            positions.append((len(out), item))
            out.append(size)
    return IndexPlan(tuple(bounds), tuple(out), tuple(positions))


def complete(shape: Sequence[int], items: tuple) -> list:
    """The items of an index as numbers, slices and arrays, one per axis, without Ellipsis."""
    items = tuple(map(plain_item, items))
    used = sum(consumed(item) for item in items)
    if used > len(shape):
        raise IndexOutOfBounds(
            f"index: too many indices for tensor of dimension {len(shape)}: got {used}."
        )
    rest = [slice(None)] * (len(shape) - used)
    places = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexOutOfBounds("index: an index can only have a single ellipsis ('...').")
    at = places[0] if places else len(items)
    return [*items[:at], *rest, *items[at + 1 :]]


def plain_item(item: Any) -> Any:
    """One item as None, Ellipsis, a slice, an int, or an array."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return np.asarray(item)
    if isinstance(item, Tensor):
        return item.ne(0) if item.dtype is uint8 else item
    if hasattr(item, "__index__") and not isinstance(item, np.ndarray):
        return whole(item)
    if isinstance(item, (list, tuple, range)):
        found = [x.item() if isinstance(x, Tensor) else x for x in item]
        item = from_numbers(found, "index") if found else np.zeros(0, np.int64)
    if isinstance(item, np.ndarray):
        if item.dtype.kind not in "iub":
            message = f"index: positions must be integers or truth values: got {item.dtype}."
            raise DtypeError(message)
        return item != 0 if item.dtype == np.uint8 else item
    raise IndexOutOfBounds(
        "index: only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays "
        f"are valid indices: got {type(item).__name__}."
    )


def consumed(item: Any) -> int:
    """The number of axes that an item of an index consumes."""
    return 0 if item is None or item is Ellipsis else item.ndim if is_mask(item) else 1


def expand_masks(items: list, shape: Sequence[int]) -> list:
    """The items with boolean masks replaced by the positions of their true elements."""
    out, axis = [], 0
    for item in items:
        if not is_mask(item):
            out.append(item)
            axis += consumed(item)
            continue
        if tuple(item.shape) != tuple(shape[axis : axis + item.ndim]):
            raise IndexOutOfBounds(
                f"index: the shape of the mask {tuple(item.shape)} does not match the indexed "
                f"tensor's {tuple(shape[axis : axis + item.ndim])}."
            )
        axis += item.ndim
        found = position_arrays(item) if isinstance(item, np.ndarray) else positions(item)
        out += found if item.ndim else [AlongNewAxis(*found)]
    return out


def bound_of(item: slice, size: int) -> tuple[int, int, int]:
    """A slice as start, stop, step within an axis."""
    found = [v if v is None else whole(v) for v in (item.start, item.stop, item.step)]
    step = 1 if found[2] is None else found[2]
    if step == 0:
        raise ArgumentError("index: a slice's step must not be 0.")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    ends = (low, high) if step > 0 else (high, low)
    pairs = zip(found[:2], ends, strict=True)
    start, stop = (end if v is None else bounded(v, size, low, high) for v, end in pairs)
    return (start, max(stop, start) if step > 0 else min(stop, start), step)


def bounded(place: int, size: int, low: int, high: int) -> int:
    """A position within an axis; a negative one is counted from its end."""
    return max(place + size, low) if place < 0 else min(place, high)


def one_place(item: int, size: int, axis: int) -> tuple[int, int, int]:
    """One position of an axis as a slice."""
    if not -size <= item < size:
        raise IndexOutOfBounds(
            f"index: index {item} is out of bounds for dimension {axis} with size {size}"
        )
    item = item + size if item < 0 else item
    return (item, item + 1, 1)


# reading


def as_items(index: Any) -> Any:
    """A list of items other than numbers, as the tuple that PyTorch takes it for."""
    if not isinstance(index, list) or len(index) >= SHORT:
        return index
    nested = (Tensor, Sequence, np.ndarray, slice, type(None), type(Ellipsis))
    return tuple(index) if any(isinstance(x, nested) for x in index) else index


@method
def __getitem__(self: Tensor, index: Any) -> Tensor:
    """The part of the tensor at an index."""
    if names_rows(self, index):
        return apply(take_at, (self, (0,), index))
    shown, axes, arrays = basic_part(self, as_items(index), reads=True)
    while axes and (single := first_single(arrays)) is not None:
        taken = axes[single]
        shown = apply(take_at, (shown, (taken,), arrays.pop(single)))
        axes = tuple(axis - (axis > taken) for axis in axes if axis != taken)
    return apply(take_at, (shown, axes, *arrays)) if axes else shown


def basic_part(
    x: Tensor, index: Any, reads: bool = False
) -> tuple[Tensor, tuple[int, ...], list[Tensor]]:
    """The view by an index's integers, slices and None; the axes and positions of the rest."""
    items = index if type(index) is tuple else (index,)
    if all([type(item) in BASIC for item in items]):
        return apply_view(index_view, (x, index)), (), []
    if reads and (found := numbered(x, items)) is not items:
        return basic_part(x, found)
    plan = read_index(raw(x).shape, index)
    axes = tuple(axis for axis, _ in plan.positions)
    arrays = [as_positions(p, plan.shape[axis], axis) for axis, p in plan.positions]
    return apply_view(basic, (x, plan.bounds, plan.shape)), axes, arrays


def index_view(x: Node, index: Any) -> Node:
    """The view by an index of integers, slices and None."""
    plan = read_index(x.shape, index)
    return basic(x, plan.bounds, plan.shape)


def basic(x: Node, bounds: tuple, shape: tuple[int, ...]) -> Node:
    """A slice of x, reshaped."""
    return reshape(slice_(x, bounds), shape)


def as_positions(item: Any, size: int, axis: int) -> Tensor:
    """Positions as an int64 tensor; known values are checked now."""
    if isinstance(item, Tensor):
        if not item.dtype.is_integer:
            raise DtypeError(f"index: positions must be integers: got {item.dtype.name}.")
        return item
    if item.size and not (-size <= item.min() and item.max() < size):
        bad = item.min() if item.min() < -size else item.max()
        raise IndexOutOfBounds(
            f"index: index {bad} is out of bounds for dimension {axis} with size {size}"
        )
    return from_array(item.astype(np.int64))


def flat_positions(x: Node, axes: tuple[int, ...], arrays: Sequence[Node]) -> tuple[Node, tuple]:
    """Positions in the product of the axes, negative ones counted from the end; and their shape.

    A position outside its own axis is outside the product too.
    """
    rank, count = max(a.rank for a in arrays), prod(x.shape[axis] for axis in axes)
    shape = joint_shape("index", [a.shape for a in arrays])
    flat = None
    for axis, array in zip(axes, arrays, strict=True):
        size, place = x.shape[axis], cast(array, int64)
        place = where(elementwise("lt", place, 0), place + size, place)
        place = expand(reshape(place, (1,) * (rank - place.rank) + place.shape), shape)
        if flat is None:
            flat = place
            continue
        outside = elementwise("or", elementwise("lt", place, 0), elementwise("ge", place, size))
        flat = where(outside, count, flat * size + place)
    return reshape(flat, (prod(shape),)), shape


def leading(x: Node, axes: tuple[int, ...]) -> tuple[Node, tuple[int, ...]]:
    """x with these axes moved to the front and merged into one; and the permutation."""
    order = (*axes, *(k for k in range(x.rank) if k not in axes))
    rest = tuple(x.shape[k] for k in order[len(axes) :])
    return reshape(permute(x, order), (prod(x.shape[k] for k in axes), *rest)), order


def home_of(axes: tuple[int, ...]) -> int:
    """The result's axis for positions: that of the indexed axes if adjacent, else 0."""
    return axes[0] if axes == tuple(range(axes[0], axes[0] + len(axes))) else 0


def take_at(x: Node, axes: tuple[int, ...], *arrays: Node) -> Node:
    """The elements of x at positions along axes."""
    return repeated((take_at, axes), (x, *arrays), lambda *given: [taken(axes, *given)])[0]


def taken(axes: tuple[int, ...], x: Node, *arrays: Node) -> Node:
    """The gathered nodes of `take_at`."""
    flat, shape = flat_positions(x, axes, arrays)
    table, _ = leading(x, axes)
    rest = "abcdefghijklmnopqrstuvwx"[: table.rank - 1]
    y = reshape(gather(f"y{rest},z->z{rest}", table, flat), (*shape, *table.shape[1:]))
    at, count = home_of(axes), len(shape)
    order = (*range(count, count + at), *range(count), *range(count + at, y.rank))
    return permute(y, order)


# writing


@method
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    """Set the part of the tensor at an index."""
    index = as_items(index)
    if is_single_mask(index) and set_by_mask(self, plain_item(index), value):
        return
    shown, axes, arrays = basic_part(self, index)
    if first_single(arrays) is not None:
        shown, axes, arrays = basic_part(self, index, reads=True)
    value = as_value(value, self)
    if axes:
        check_places(shown, "x[...] = y")
        value = apply(put_at, (out_of_sight(shown), value, axes, False, *arrays))
    fits = fitted(node_of(value), raw(shown).shape)
    write(shown, fits, value.requires_grad, given=not axes)


def is_single_mask(index: Any) -> bool:
    """Whether an index is one mask and nothing else."""
    return isinstance(index, Tensor | np.ndarray | list) and is_mask(plain_item(index))


def out_of_sight(shown: Tensor) -> Tensor:
    """The current value of the part that a write replaces, without gradients."""
    return shown if shown.requires_grad else alias(shown, (), detached=True)


def as_value(value: Any, like: Tensor) -> Tensor:
    """The value to write, as a tensor."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float)):
        like = alias(like, (), detached=True) if like.requires_grad else like
        return apply(constant_like, (like, value))
    return from_array(array_from(value, like.dtype))


def constant_like(x: Node, value: float) -> Node:
    """A number in the dtype of x."""
    return constant(x.arena, value, x.dtype, "x[...] = y")


def fitted(value: Node, shape: tuple[int, ...]) -> Node:
    """A value broadcast to the shape of its goal; extra leading axes of size 1 are dropped."""
    while value.rank > len(shape) and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    return expand(value, shape)


def set_by_mask(tensor: Tensor, mask: Any, value: Any) -> bool:
    """Write where a mask holds without evaluating it."""
    mask = mask if isinstance(mask, Tensor) else from_array(mask)
    if not mask.ndim or tuple(mask.shape) != tuple(raw(tensor).shape[: mask.ndim]):
        return False
    value = as_value(value, tensor)
    check_places(tensor, "x[mask] = y")
    place = alias(tensor, (), detached=not tensor.requires_grad)
    result = apply(where_mask, (place, mask, value))
    write(tensor, node_of(result), result.requires_grad)
    return True


def put_at(x: Node, value: Node, axes: tuple[int, ...], accumulate: bool, *arrays: Node) -> Node:
    """x with values at positions along axes; for equal positions the last one, or the sum."""
    flat, shape = flat_positions(x, axes, arrays)
    at, rest = home_of(axes), [k for k in range(x.rank) if k not in axes]
    order = (*rest[:at], *axes, *rest[at:])
    before, after = ([x.shape[k] for k in some] for some in (rest[:at], rest[at:]))
    value = fitted(cast(value, x.dtype), (*before, *shape, *after))
    value = reshape(value, (*before, flat.size, *after))
    table = reshape(permute(x, order), (*before, prod(x.shape[k] for k in axes), *after))
    put = index_add if accumulate else index_copy
    y = reshape(put(table, at, flat, value), tuple(x.shape[k] for k in order))
    return permute(y, tuple(order.index(k) for k in range(x.rank)))


@method
def index_put(input: Tensor, indices: Sequence, values: Any, accumulate: bool = False) -> Tensor:
    """x with values at positions along its first axes.

    >>> import gnomon as gn
    >>> gn.index_put(gn.zeros(3), (gn.tensor([0, 2]),), gn.tensor([5.0, 6.0]))
    Tensor([5., 0., 6.])
    """
    if isinstance(input, Paired):
        return of_complex("index_put")(input, indices, values, accumulate)
    plan = read_index(raw(input).shape, tuple(indices))
    axes = tuple(axis for axis, _ in plan.positions)
    arrays = [as_positions(p, plan.shape[axis], axis) for axis, p in plan.positions]
    return apply(put_at, (input, as_value(values, input), axes, accumulate, *arrays))


@method
def index_put_(input: Tensor, indices: Sequence, values: Any, accumulate: bool = False) -> Tensor:
    """Write values at positions along the first axes."""
    check_places(input, "index_put_")
    result = index_put(out_of_sight(input), indices, values, accumulate)
    return write(input, node_of(result), result.requires_grad)


@method
def __reversed__(self: Tensor) -> Tensor:
    """The tensor with its first axis in reverse."""
    return self.flip(0) if self.ndim else self


@method
def __iter__(self: Tensor) -> Any:
    """The parts along the first axis."""
    if not raw(self).shape:
        raise TypeError("iteration over a 0-d tensor")
    return (self[k] for k in range(raw(self).shape[0]))
