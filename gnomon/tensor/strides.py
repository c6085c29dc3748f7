"""Strides of tensors, as PyTorch has them: what they say of copies, and of writes.

How they follow from the steps of a view is in gnomon/ops/strides.py.
"""

from __future__ import annotations

from typing import Any

from gnomon.errors import ArgumentError
from gnomon.ops.primitives import reshape
from gnomon.ops.strides import (
    Form,
    StridedView,
    at_places,
    form_of,
    is_row_major,
    overlaps,
    repeats,
    row_major,
    strided,
    strides_of,
)
from gnomon.ops.view_primitives import permute
from gnomon.tensor.state import grads, state
from gnomon.tensor.tensor import Tensor, alias, method, pair_of, raw, source
from gnomon.tensor.views import (
    BOUNDARIES,
    REPEATS,
    chain_between,
    full_chain,
    is_shown_by_storage,
    read,
)


def strided_view_of(tensor: Tensor) -> StridedView | None:
    """The strides and offset of a tensor's elements in its storage; None without strides."""
    storage, chain = tensor._storage, full_chain(tensor)
    whole = source(storage)
    for k in range(len(chain), 0, -1):
        if chain[k - 1][0] in BOUNDARIES:  # counted in what all ranks hold
            return strided(read(whole, chain[:k]).shape, chain[k:], None)
    return strided(whole.shape, chain, storage.form)


def has_no_gaps(tensor: Tensor) -> bool:
    """Whether a tensor's elements are contiguous in the order of its axes."""
    plain = tensor._view is None and tensor._storage.form is None
    return plain or is_row_major(strided_view_of(tensor))


def check_places(tensor: Tensor, reads: str = "") -> None:
    """Refuse writes to overlapping elements, whose result depends on the order of writes.

    reads: an operation that reads what it overwrites.
    """
    view = tensor._view
    if view is None or REPEATS.isdisjoint(op for op, _ in full_chain(tensor)):
        return
    found = strided_view_of(tensor)
    if found is None or repeats(found) or (reads and overlaps(found)):
        raise ArgumentError(
            f"{reads or 'write'}: this view shows one element in several places: more than one "
            "element of the written-to tensor refers to a single memory location. Use clone() "
            "first."
        )


def over_storage(tensor: Tensor, wanted: StridedView) -> Tensor:
    """A view of the whole storage behind a tensor, by strides."""
    state.recorder.need_whole(tensor._storage)
    view = tensor._view
    base = tensor if tensor._requires or view is None else view.base
    whole = source(tensor._storage) if base is None else raw(base)
    order = [axis for axis, _ in reversed(tensor._storage.form or ())]
    is_part = base is not None and base._view is not None and bool(base._view.chain)
    inside: StridedView | None = wanted
    if is_part:
        inside = within(wanted, None if order else strided_view_of(base), whole.size)
    if is_shown_by_storage(view) or inside is None:
        raise ArgumentError(
            "as_strided: this tensor is sharded over ranks or stored in blocks, or what is asked "
            "for is outside of a leaf that is part of another tensor. Take a clone() of it first."
        )
    stored = permute(whole, tuple(order)) if order else whole
    chain = chain_between(at_places(reshape(stored, (whole.size,)), inside), whole)
    hidden = not grads.get() and tensor.requires_grad
    if base is not None:
        return alias(base, chain, hidden)
    made = alias(tensor, (), hidden)
    made._view.chain = chain
    return made


def within(wanted: StridedView, part: StridedView | None, count: int) -> StridedView | None:
    """Strides of a storage, relative to a contiguous part of it; None if they leave it."""
    if part is None or not is_row_major(part):
        return None
    start = wanted.start - part.start
    last = start + sum((n - 1) * step for n, step in zip(wanted.shape, wanted.strides, strict=True))
    fits = start >= 0 and (last < count or 0 in wanted.shape)
    return StridedView(wanted.shape, start, wanted.strides) if fits else None


FORMATS: dict[Any, Form] = {
    "channels_last": ((1, 1), (3, 1), (2, 1), (0, 1)),
    "channels_last_3d": ((1, 1), (4, 1), (3, 1), (2, 1), (0, 1)),
}
"""The forms of PyTorch's memory formats with channels last."""


def form_in(tensor: Tensor, memory_format: object) -> Form | None:
    """The shape and permutation of a copy in a memory format; None for row-major order."""
    form, shape = FORMATS[memory_format], tuple(tensor.shape)
    if len(form) != len(shape):
        raise ArgumentError(
            f"contiguous: memory format {memory_format} is for {len(form)} axes: got {shape}."
        )
    return form_of(StridedView(shape, 0, strides_of(form, shape)))


def home_of(tensor: Tensor) -> Tensor | None:
    """The base of a view; a new tensor of the whole storage if the base is gone."""
    pair = pair_of(tensor)
    if pair is not tensor:
        base = home_of(pair)
        return None if base is None else tensor.plain((base,))
    view = tensor._view
    if view is None or view.home is None:
        return None
    found = view.home()
    if found is not None:
        return None if found is tensor else found
    return unviewed(tensor)


def unviewed(tensor: Tensor) -> Tensor:
    """The whole storage behind a tensor, as a tensor."""
    made = Tensor.__new__(Tensor)
    made._storage, made._view, made._rare, made._requires = tensor._storage, None, None, False
    return made


# methods


@method
def _is_view(self: Tensor) -> bool:
    """Whether the tensor is a view of another one."""
    return home_of(pair_of(self)) is not None


def own_places(tensor: Tensor) -> StridedView | None:
    """The strides and offset of a tensor, as plain numbers in a capture."""
    state.recorder.need_whole(tensor._storage)
    return strided_view_of(tensor)


@method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The number of elements between neighbours along each axis, or along one."""
    places = own_places(self)
    steps = row_major(tuple(self.shape)) if places is None else places.strides
    return steps if dim is None else steps[dim]


@method
def storage_offset(self: Tensor) -> int:
    """The position of the first element in its storage."""
    places = own_places(self)
    return 0 if places is None else places.start


@method
def is_contiguous(self: Tensor, memory_format: object = None) -> bool:
    """Whether the tensor's elements are contiguous in the order of its axes."""
    if memory_format in FORMATS:
        rank = len(FORMATS[memory_format])
        return self.ndim == rank and form_of(strided_view_of(self)) == form_in(self, memory_format)
    return has_no_gaps(pair_of(self))


Tensor._base = property(home_of, doc="The tensor of which this is a view, or None.")
