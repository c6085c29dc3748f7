"""Parts of tensors by PyTorch's names: copies in which a part is another, tensors of other sizes.

This file loads when one of its names is first used.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import dtype_of, float64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ops.histories import unmoved
from gnomon.ops.strides import StridedView, row_major, strides_of
from gnomon.tensor.creation import arange, empty, get_default_dtype, shape_of, tensor
from gnomon.tensor.device import check_device
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.size import Size
from gnomon.tensor.state import whole
from gnomon.tensor.strides import FORMATS, over_storage
from gnomon.tensor.tensor import Tensor, array_of, from_array, pair_of, source

# parts of tensors


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """pad with one value.

    >>> import gnomon as gn
    >>> constant_pad_nd(gn.ones(2), (1, 1), 5)
    Tensor([5., 1., 1., 5.])
    """
    return FUNCTIONS["pad"](input, tuple(pad), "constant", value)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of a tensor on its diagonal.

    >>> import gnomon as gn
    >>> diagflat(gn.tensor([[1], [2]]))
    Tensor([[1, 0],
            [0, 2]])
    """
    return FUNCTIONS["diag"](input.reshape(-1), offset)


def splice(input: Tensor, view: Callable[[Tensor], Tensor], src: Tensor, name: str) -> Tensor:
    """A copy of a tensor with other values in one of its views."""
    made = input.clone()
    part = view(made)
    if tuple(part.shape) != tuple(src.shape):
        raise ShapeError(
            f"{name}: src must be {tuple(part.shape)}, as the part it replaces: got "
            f"{tuple(src.shape)}."
        )
    part.copy_(src)
    return apply(unmoved, (made, input)) if part.numel() == made.numel() else made


def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A tensor with other values on a diagonal.

    >>> import gnomon as gn
    >>> diagonal_scatter(gn.zeros(2, 2), gn.ones(2))
    Tensor([[1., 0.],
            [0., 1.]])
    """
    view = FUNCTIONS["diagonal"]
    return splice(input, lambda x: view(x, offset, dim1, dim2), src, "diagonal_scatter")


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A tensor with other values at one place of an axis.

    >>> import gnomon as gn
    >>> select_scatter(gn.zeros(2, 2), gn.ones(2), 0, 1)
    Tensor([[0., 0.],
            [1., 1.]])
    """
    return splice(input, lambda x: x.select(dim, index), src, "select_scatter")


def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A tensor with other values in a slice of an axis.

    >>> import gnomon as gn
    >>> slice_scatter(gn.zeros(4), gn.ones(2), 0, 1, 3)
    Tensor([0., 1., 1., 0.])
    """
    at = (slice(None),) * (dim % input.ndim) + (slice(start, end, step),)
    return splice(input, lambda x: x[at], src, "slice_scatter")


def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A slice of an axis, in memory of its own.

    >>> import gnomon as gn
    >>> slice_copy(gn.arange(4), 0, 1, 3)
    Tensor([1, 2])
    """
    at = (slice(None),) * (dim % input.ndim) + (slice(start, end, step),)
    return input[at].clone(memory_format="contiguous_format")


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A tensor with values at positions, counted in the flattened tensor.

    >>> import gnomon as gn
    >>> put(gn.zeros(2, 2), gn.tensor([0, 3]), gn.tensor([1.0, 2.0]))
    Tensor([[1., 0.],
            [0., 2.]])
    """
    flat = input.clone().reshape(-1)
    flat.index_put_((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(input.shape)


def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Slices of a tensor folded with others: "prod", "mean", "amax" or "amin".

    >>> import gnomon as gn
    >>> index_reduce(gn.ones(2), 0, gn.tensor([0, 0]), gn.tensor([2.0, 3.0]), "prod")
    Tensor([6., 1.])
    """
    rank = input.ndim
    shape = [index.numel() if k == dim % rank else 1 for k in builtins.range(rank)]
    places = index.reshape(shape).expand(source.shape) if rank else index.reshape(())
    source = source if rank else source.reshape(())
    fold = FUNCTIONS["scatter_reduce"]
    return fold(input, dim, places, source, reduce, include_self=include_self)


def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A view of the storage behind a tensor: elements at equal distances along each axis.

    >>> import gnomon as gn
    >>> as_strided(gn.arange(6), (2, 3), (1, 2))
    Tensor([[0, 2, 4],
            [1, 3, 5]])
    """
    start = input.storage_offset() if storage_offset is None else whole(storage_offset)
    view = StridedView(tuple(map(whole, size)), start, tuple(map(whole, stride)))
    pair = pair_of(input)
    count = source(pair._storage).size // (1 + (pair is not input))
    check_inside(view, count)
    if pair is input:
        return over_storage(input, view)
    doubled = StridedView((*view.shape, 2), 2 * start, (*(2 * step for step in view.strides), 1))
    return input.plain((over_storage(pair, doubled),))


def check_inside(view: StridedView, count: int) -> None:
    """Refuse positions beyond a storage of `count` elements."""
    shape, start, strides = view
    fits = len(shape) == len(strides) and min((start, *shape, *strides)) >= 0
    reach = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=fits))
    if not fits or (0 not in shape and reach >= count):
        raise ArgumentError(
            f"as_strided: size {shape}, strides {strides} and offset {start} are out of bounds for "
            f"a storage of {count} elements. Each size has a stride, and none is negative."
        )


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A tensor with other values at equal distances, counted in the flattened tensor.

    >>> import gnomon as gn
    >>> as_strided_scatter(gn.zeros(4), gn.ones(2), (2,), (2,))
    Tensor([1., 0., 1., 0.])
    """
    places = from_array(np.arange(input.numel()).reshape(tuple(input.shape)))
    return put(input, as_strided(places, size, stride, storage_offset), src)


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple:
    """Parts of these sizes.

    >>> import gnomon as gn
    >>> split_with_sizes(gn.arange(3), [1, 2])
    (Tensor([0]), Tensor([1, 2]))
    """
    return FUNCTIONS["split"](input, tuple(split_sizes), dim)


unsafe_split_with_sizes = split_with_sizes


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over axes along which a tensor of a size would be broadcast to this one.

    >>> import gnomon as gn
    >>> sum_to_size(gn.ones(2, 3), 1, 3)
    Tensor([[2., 2., 2.]])
    """
    shape = tuple(shape_of(size))
    lead = input.ndim - len(shape)
    pairs = zip(input.shape[lead:], shape, strict=True)
    if lead < 0 or any(m not in (1, n) for n, m in pairs):
        raise ShapeError(f"sum_to_size: {tuple(input.shape)} does not come of {shape}.")
    grown = [lead + k for k, m in enumerate(shape) if m == 1 != input.shape[lead + k]]
    axes = (*builtins.range(lead), *grown)
    return input.sum(axes, keepdim=True).reshape(shape) if axes else input


# methods alone


def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of `length` slices of an axis."""
    return self.narrow(dim, start, length).clone(memory_format="contiguous_format")


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Set each element to the result of a Python function of it."""
    return map_(self, self, lambda x, _: callable(x))


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Set each element to the result of a Python function of it and another tensor's."""
    return map2_(self, tensor, tensor, lambda x, y, _: callable(x, y))


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Set each element to the result of a Python function of those of two tensors."""
    sides = [array_of(v.detach().expand(self.shape)).reshape(-1).tolist() for v in (self, x, y)]
    values = [callable(*each) for each in zip(*sides, strict=True)]
    return self.copy_(from_array(np.array(values, self.dtype.numpy).reshape(self.shape)))


def resize_(self: Tensor, *sizes: Any, memory_format: object = None) -> Tensor:
    """Change the shape over the same memory; if it is too small, it is copied and zero-padded."""
    shape = tuple(shape_of(sizes))
    if shape == tuple(self.shape) and memory_format not in FORMATS:
        return self
    form, start = FORMATS.get(memory_format), self.storage_offset()
    held = source(pair_of(self)._storage).size // (1 + (pair_of(self) is not self))
    whole, missing = self.detach(), start + math.prod(shape) - held
    if missing > 0:
        whole = FUNCTIONS["pad"](as_strided(whole, (held,), (1,), 0), (0, missing))
    strides = row_major(shape) if form is None else strides_of(form, shape)
    self.data = as_strided(whole, shape, strides, start)
    return self


def resize_as_(self: Tensor, other: Tensor, *, memory_format: object = None) -> Tensor:
    """Change the shape to that of another tensor, and on request its memory format."""
    if memory_format == "preserve_format":
        formats = (x for x in FORMATS if other.is_contiguous(memory_format=x))
        memory_format = next(formats, None)
    return resize_(self, tuple(other.shape), memory_format=memory_format)


def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Change this tensor to a strided view of its storage."""
    return shared(self, as_strided(self, size, stride, storage_offset))


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Make this tensor share the memory of a tensor or storage, or a strided part of it."""
    given = empty(0, dtype=self.dtype) if source is None else source
    shown = getattr(given, "_whole", given)
    if size is not None:
        steps = row_major(tuple(size)) if stride is None else stride
        return shared(self, as_strided(shown, size, steps, storage_offset))
    return shared(self, shown if shown is given else shown.reshape(-1))


def shared(tensor: Tensor, shown: Tensor) -> Tensor:
    """A tensor after it was made to view another one's memory."""
    if pair_of(tensor) is not tensor:
        tensor._pair = shown._pair
    else:
        tensor._storage, tensor._view = shown._storage, shown._view
    return tensor


def new(self: Tensor, *sizes: Any, device: object = None) -> Tensor:
    """A tensor of these sizes, or of these values, in this tensor's dtype."""
    check_device(device)
    if len(sizes) == 1 and isinstance(sizes[0], Size):
        return empty(sizes[0], dtype=self.dtype)
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        return tensor(sizes[0], dtype=self.dtype)
    return empty(sizes or (0,), dtype=self.dtype)


def new_empty_strided(self: Tensor, size: Any, stride: Any, **options: Any) -> Tensor:
    """An uninitialized tensor of this tensor's dtype."""
    return empty(tuple(size), dtype=options.pop("dtype", None) or self.dtype, **options)


# new tensors


def range(
    start: float, end: float | None = None, step: float = 1, *, dtype: Any = None, **options: Any
) -> Tensor:
    """Numbers at equal distances, the end among them.

    >>> range(1, 4)
    Tensor([1., 2., 3., 4.])
    """
    start, end = (0, start) if end is None else (start, end)
    count = math.floor((end - start) / step) + 1
    kind = get_default_dtype() if dtype is None else dtype_of(dtype)
    return (arange(count, dtype=float64, **options) * step + start).to(kind)


def scalar_tensor(s: float, *, dtype: Any = None, **options: Any) -> Tensor:
    """A tensor of no axes.

    >>> scalar_tensor(2)
    Tensor(2.)
    """
    return tensor(s, dtype=get_default_dtype() if dtype is None else dtype, **options)


def empty_strided(size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """An uninitialized tensor; its memory is row-major whatever the strides."""
    return empty(tuple(size), **options)


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """An uninitialized tensor; its memory is row-major whatever the physical layout."""
    return empty(tuple(size), **options)
