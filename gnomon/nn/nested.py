"""torch.nested: make, pad, reduce and attend over ragged tensors.

Reductions along the ragged axis are index_add and index_reduce by item number.

Letters: b items, j the ragged axis, s all places of it, l places after padding, *d other axes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn.attention import scaled_dot_product_attention
from gnomon.nn.ragged import RaggedBatch, ends_of, in_steps, items_of, like
from gnomon.nn.ragged_calls import by_places, values_beside
from gnomon.ops.primitives import identity_of
from gnomon.tensor.creation import arange, full, tensor, zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.operators import OPERATORS
from gnomon.tensor.overrides import asked
from gnomon.tensor.tensor import Tensor

__all__ = [
    "NestedTensor",
    "as_nested_tensor",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


class NestedTensor(RaggedBatch):
    """A batch of tensors that differ in the size of one axis; made by `nested_tensor`.

    >>> import gnomon as gn
    >>> x = gn.nested.nested_tensor([gn.ones(2, 3), gn.zeros(1, 3)])
    >>> x.shape, [part.shape for part in x.unbind()]
    (Size([2, j, 3]), [Size([2, 3]), Size([1, 3])])
    >>> (x + 1).sum(1)
    Tensor([[4., 4., 4.],
            [1., 1., 1.]])
    """

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Sequence[type], args: Sequence = (), kwargs: Any = None
    ) -> Any:
        if func.__name__ in OWN:
            return OWN[func.__name__](*args, **(kwargs or {}))
        return by_places(func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        method = getattr(Tensor, name, None) if not name.startswith("_") else None
        if not inspect.isfunction(method):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(asked, method, self)

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """A dense tensor, padded with a number."""
        return to_padded_tensor(self, padding, output_size)


def operator_method(method: Callable) -> Callable:
    """A method for an operator of Python on ragged tensors."""
    return lambda self, *others: asked(method, self, *others)


for _slot in OPERATORS:
    for _name in (_slot, f"__r{_slot[2:]}"):
        if hasattr(_method := getattr(Tensor, _name, None), "meant"):
            setattr(NestedTensor, _name, operator_method(_method))
NestedTensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """A ragged tensor with copies of tensors that differ in their first axis's size.

    >>> import gnomon as gn
    >>> gn.nested.nested_tensor([[1.0, 2.0], [3.0]]).values()
    Tensor([1., 2., 3.])
    """
    parts = [part.detach() if isinstance(part, Tensor) else tensor(part) for part in tensor_list]
    return as_nested_tensor(parts, dtype=dtype).requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Sequence[Tensor] | Tensor, dtype: Any = None, device: Any = None, layout: Any = None
) -> NestedTensor:
    """A ragged tensor of several tensors, differentiable, or of a dense one's items.

    >>> import gnomon as gn
    >>> as_nested_tensor(gn.ones(2, 3)).offsets()
    Tensor([0, 3, 6])
    """
    parts = list(ts.unbind(0)) if isinstance(ts, Tensor) else list(ts)
    if not parts or any(not x.ndim or x.shape[1:] != parts[0].shape[1:] for x in parts):
        raise ShapeError(
            "nested_tensor: needs tensors that differ in the size of their first axis alone: got "
            f"{[tuple(x.shape) for x in parts]}."
        )
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + part.shape[0])
    values = FUNCTIONS["cat"](parts, 0)
    values = values if dtype is None else values.to(dtype)
    most = in_steps(max(x.shape[0] for x in parts))
    return NestedTensor(values, tensor(ends, dtype=int64), 1, most)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor,
    lengths: Tensor | None = None,
    jagged_dim: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """A ragged tensor over concatenated values, without copying memory.

    Shapes: values (s, *d), offsets (b + 1) -> (b, j, *d)

    jagged_dim: the ragged axis. max_seqlen: the most places of an item, where it is known.

    Errors: ShapeError, if offsets do not go from 0 to s; of a program that is captured, at its run.
    """
    if lengths is not None:
        raise ArgumentError("nested_tensor_from_jagged: items with gaps between them: got lengths.")
    is_vector = offsets.ndim == 1 and offsets.shape[0] > 0 and offsets.dtype.kind == "int"
    if not is_vector or not 1 <= jagged_dim <= values.ndim:
        raise ShapeError(
            "nested_tensor_from_jagged: needs a vector of integers and an axis from 1 to "
            f"{values.ndim}: got {offsets.dtype.name}{list(offsets.shape)} and {jagged_dim}."
        )
    most = None if max_seqlen is None else in_steps(max_seqlen)
    ends = ends_of(offsets, values.shape[jagged_dim - 1], max_seqlen)
    return NestedTensor(values, offsets, jagged_dim, most, ends)


# what folds the ragged axis


def lengths(x: NestedTensor) -> Tensor:
    """The length of each item, (b)."""
    return x._ends.diff()


def ragged_first(x: NestedTensor) -> Tensor:
    """The values with the ragged axis first, (s, *d)."""
    return x._values.movedim(x._axis - 1, 0)


def folds_places(x: NestedTensor, dim: Any) -> bool:
    """Whether a reduction is along the ragged axis alone."""
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    return [d % x.ndim for d in dims] == [x._axis]


Fold = Callable[..., Tensor]
"""A reduction per item: of the rows, the ragged tensor, and keywords of the dense function."""


def per_item(name: str, monoid: str, fold: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Fold:
    """A reduction of a ragged tensor per item, in the dtype of the dense function."""

    def call(x: Tensor, ragged: NestedTensor, **named: Any) -> Tensor:
        dtype = FUNCTIONS[name](zeros(1, *x.shape[1:], dtype=x.dtype), 0, **named).dtype
        empty = full((ragged._count, *x.shape[1:]), identity_of(monoid, dtype), dtype=dtype)
        return fold(empty, items_of(ragged), x.to(dtype))

    return call


def along_places(name: str, fold: Fold) -> Callable:
    """A function that reduces the ragged axis per item, and other axes as usual."""

    def call(input: NestedTensor, dim: Any = None, keepdim: bool = False, **named: Any) -> Any:
        dim, keepdim = named.pop("axis", dim), named.pop("keepdims", keepdim)
        if not folds_places(input, dim):
            named |= {"axis": dim, "keepdims": keepdim}
            return by_places(FUNCTIONS[name], (input,), named)
        made = fold(ragged_first(input), input, **named)
        return made.unsqueeze(input._axis) if keepdim else made

    return call


def reduced(how: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """A reduction per item by "prod", "amax" or "amin"."""
    return lambda into, items, x: into.index_reduce(0, items, x, how)


sums = per_item("sum", "add", lambda into, items, x: into.index_add(0, items, x))
greatest = per_item("amax", "max", reduced("amax"))


def mean(x: Tensor, ragged: NestedTensor, dtype: Any = None) -> Tensor:
    """The mean of each item; NaN for an empty one.

    Half precision is summed in float32.
    """
    x = x if dtype is None else x.to(dtype)
    is_float = x.dtype.is_floating_point
    total = sums(x.float() if is_float and x.dtype.bits < 32 else x, ragged)
    made = total / lengths(ragged).reshape(-1, *(1,) * (total.ndim - 1))
    return made.to(x.dtype) if is_float else made


def with_positions(name: str, monoid: str) -> Callable:
    """A function with positions, such as argmax, along the ragged axis, by padded items."""

    def call(input: NestedTensor, dim: Any = None, keepdim: bool = False) -> Any:
        if not folds_places(input, dim):
            return by_places(FUNCTIONS[name], (input, dim, keepdim), {})
        dense = padded(input, input.most(), identity_of(monoid, input.dtype))
        return FUNCTIONS[name](dense, input._axis, keepdim)

    return call


def softmax(input: NestedTensor, dim: int = -1, dtype: Any = None, **named: Any) -> NestedTensor:
    """The softmax along the ragged axis, per item, or along another axis."""
    dim = named.pop("axis", dim)
    if not folds_places(input, dim):
        return by_places(FUNCTIONS["softmax"], (input, dim), {"dtype": dtype})
    x, items = ragged_first(input if dtype is None else input.to(dtype)), items_of(input)
    share = (x - greatest(x.detach(), input).index_select(0, items)).exp()
    made = share / sums(share, input).index_select(0, items)
    return like(input, made.movedim(0, input._axis - 1))


def places_of(x: NestedTensor, longest: int) -> tuple[Tensor, Tensor]:
    """Indices of each item's elements, padded to `longest`, and a mask of them, both (b, l)."""
    numbers = arange(longest)
    there = numbers < lengths(x).unsqueeze(1)
    return FUNCTIONS["where"](there, x._ends[:-1].unsqueeze(1) + numbers, 0), there


def to_padded_tensor(
    input: NestedTensor, padding: float, output_size: Sequence[int] | None = None
) -> Tensor:
    """A dense tensor, padded with a number to the longest item, or to `output_size`.

    >>> to_padded_tensor(nested_tensor([[1.0, 2.0], [3.0]]), 0.0)
    Tensor([[1., 2.],
            [3., 0.]])
    """
    longest = input.longest()
    most = longest if output_size is None else output_size[input._axis]
    if most < longest:
        raise ShapeError(f"to_padded_tensor: needs {longest} places: got {tuple(output_size)}.")
    return padded(input, most, padding)


def padded(x: NestedTensor, most: int, padding: float) -> Tensor:
    """The items as a dense tensor, padded to `most` elements each."""
    if not x._values.shape[x._axis - 1]:
        shape = list(x._values.shape)
        shape[x._axis - 1] = most
        return full((x._count, *shape), padding, dtype=x.dtype)
    where, there = places_of(x, most)
    items = ragged_first(x)[where]
    mask = there.reshape(*there.shape, *(1,) * (items.ndim - 2))
    return FUNCTIONS["where"](mask, items, padding).movedim(1, x._axis)


def unpadded(dense: Tensor, x: NestedTensor) -> NestedTensor:
    """A padded tensor's values as a ragged one with the items of `x`."""
    items = items_of(x)
    number = arange(x._values.shape[x._axis - 1]) - x._ends.index_select(0, items)
    made = dense.movedim(x._axis, 1)[items, number]
    return like(x, made.movedim(0, x._axis - 1))


def attention(
    query: NestedTensor,
    key: NestedTensor,
    value: NestedTensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **named: Any,
) -> NestedTensor:
    """Attention within each item: padded to the longest, with padding masked.

    Shapes: query (b, h, j, d), key (b, h, j, d), value (b, h, j, d) -> (b, h, j, d)
    """
    if attn_mask is not None:
        raise ArgumentError("scaled_dot_product_attention: ragged tensors with attn_mask: got one.")
    check_items(query, key, value)
    key_most, most = key.most(), query.most()
    q, k, v = padded(query, most, 0.0), padded(key, key_most, 0.0), padded(value, key_most, 0.0)
    mask = (arange(key_most) < lengths(key).unsqueeze(1))[:, None, None, :]
    if is_causal:
        mask = mask & (arange(key_most) <= arange(most).unsqueeze(1))
    dense = scaled_dot_product_attention(q, k, v, mask, dropout_p, **named)
    return unpadded(dense, query)


def check_items(query: Any, key: Any, value: Any) -> None:
    """Refuse operands of attention with different batches or ragged axes."""
    given = (query, key, value)
    if not all(isinstance(x, RaggedBatch) and (x.ndim, x._axis) == (4, 2) for x in given):
        raise ShapeError(
            "scaled_dot_product_attention: needs query, key and value ragged along axis 2 of 4, "
            f"(b, h, j, d): got {[x if isinstance(x, RaggedBatch) else x.shape for x in given]}."
        )
    if query.shape[0] != key.shape[0]:
        raise ShapeError(
            "scaled_dot_product_attention: q and k share batch axes: got "
            f"{query.shape[0]} and {key.shape[0]} items."
        )
    values_beside(value, key)


OWN: dict[str, Callable] = {
    "sum": along_places("sum", sums),
    "mean": along_places("mean", mean),
    "prod": along_places("prod", per_item("prod", "mul", reduced("prod"))),
    **{x: along_places(x, per_item(x, "max", reduced("amax"))) for x in ("amax", "any")},
    **{x: along_places(x, per_item(x, "min", reduced("amin"))) for x in ("amin", "all")},
    **{x: with_positions(x, x[-3:]) for x in ("max", "min", "argmax", "argmin")},
    "softmax": softmax,
    "scaled_dot_product_attention": attention,
    "to_padded_tensor": to_padded_tensor,
}
"""Functions with implementations for ragged tensors, by name."""
