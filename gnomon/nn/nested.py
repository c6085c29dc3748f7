"""Ragged tensors as PyTorch's torch.nested has them: made, padded, folded item by item, attention.

Folds of the ragged axis are those of index_add and index_reduce, with the items' numbers.

Letters: b items, j the ragged axis, s all places of it, l places after padding, *d other axes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn.attention import scaled_dot_product_attention
from gnomon.nn.ragged import RaggedBatch, in_steps, items_of, like
from gnomon.nn.ragged_calls import by_places
from gnomon.tensor.creation import arange, full, tensor, zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.operators import OPERATORS
from gnomon.tensor.overrides import taken_over
from gnomon.tensor.tensor import Tensor

__all__ = [
    "NestedTensor",
    "as_nested_tensor",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


class NestedTensor(RaggedBatch):
    """A batch of tensors with one axis of different sizes; made by `nested_tensor` and its like.

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
        return lambda *args, **kwargs: taken_over(method, (self, *args), kwargs)

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """A dense tensor, with a number at places that items do not have."""
        return to_padded_tensor(self, padding, output_size)


def operator(name: str) -> Callable:
    """An operator of Python's on ragged tensors."""
    method = getattr(Tensor, name)
    meant, is_reflected = method.meant

    def call(self: NestedTensor, *others: Any) -> Any:
        given = (*others, self) if is_reflected else (self, *others)
        return taken_over(FUNCTIONS[meant], given)

    call.__name__ = name
    return call


for _slot in OPERATORS:
    for _name in (_slot, f"__r{_slot[2:]}"):
        if hasattr(getattr(Tensor, _name, None), "meant"):
            setattr(NestedTensor, _name, operator(_name))
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
    """A ragged tensor with copies of tensors that differ in their first axis alone.

    >>> import gnomon as gn
    >>> gn.nested.nested_tensor([[1.0, 2.0], [3.0]]).values()
    Tensor([1., 2., 3.])
    """
    parts = [part.detach() if isinstance(part, Tensor) else tensor(part) for part in tensor_list]
    return as_nested_tensor(parts, dtype=dtype).requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Sequence[Tensor] | Tensor, dtype: Any = None, device: Any = None, layout: Any = None
) -> NestedTensor:
    """A ragged tensor of tensors, to which gradients go; or the items of a dense one.

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
    """A ragged tensor over values that lie one after the other; no memory is copied.

    Shapes: values (s, *d), offsets (b + 1) -> (b, j, *d)

    jagged_dim: the ragged axis. max_seqlen: the most places of an item, where it is known.
    """
    if lengths is not None:
        raise ArgumentError("nested_tensor_from_jagged: items with gaps between them: got lengths.")
    if offsets.ndim != 1 or offsets.dtype.kind != "int" or not 1 <= jagged_dim <= values.ndim:
        raise ShapeError(
            "nested_tensor_from_jagged: needs a vector of integers and an axis from 1 to "
            f"{values.ndim}: got {offsets.dtype.name}{list(offsets.shape)} and {jagged_dim}."
        )
    most = None if max_seqlen is None else in_steps(max_seqlen)
    return NestedTensor(values, offsets, jagged_dim, most)


# what folds the ragged axis


def lengths(x: NestedTensor) -> Tensor:
    """The number of places of each item, (b)."""
    return x._offsets.diff()


def rows(x: NestedTensor) -> Tensor:
    """The values with the ragged axis in front, (s, *d)."""
    return x._values.movedim(x._axis - 1, 0)


def folds_places(x: NestedTensor, dim: Any) -> bool:
    """Whether an axis, or the only one of several, is the ragged one."""
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    return [d % x.ndim for d in dims] == [x._axis]


def folded(name: str, start: float, fold: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable:
    """A fold of tensors that folds the ragged axis item by item."""

    def call(input: NestedTensor, dim: Any = None, keepdim: bool = False, **named: Any) -> Any:
        dim = named.pop("axis", dim)
        keepdim = named.pop("keepdims", keepdim)
        if not folds_places(input, dim):
            words = {"axis": dim, "keepdims": keepdim, **named}
            return by_places(FUNCTIONS[name], (input,), words)
        x = rows(input)
        made = fold(full((len(input), *x.shape[1:]), start, dtype=x.dtype), items_of(input), x)
        made = made if name != "mean" else made / counted(input, made)
        return made.unsqueeze(input._axis) if keepdim else made

    return call


def counted(x: NestedTensor, like_this: Tensor) -> Tensor:
    """Lengths of items, to divide by: 0 gives NaN, as the mean of nothing is."""
    return lengths(x).to(like_this.dtype).reshape(-1, *(1,) * (like_this.ndim - 1))


def added(into: Tensor, items: Tensor, x: Tensor) -> Tensor:
    """Sums by item, in the order of places."""
    return into.index_add(0, items, x)


def extreme(how: str) -> Callable:
    """The largest or smallest by item."""
    return lambda into, items, x: into.index_reduce(0, items, x, how)


def softmax(input: NestedTensor, dim: int = -1, dtype: Any = None, **named: Any) -> NestedTensor:
    """exp(x) as shares of their sum, along the ragged axis or another."""
    dim = named.pop("axis", dim)
    if not folds_places(input, dim):
        return by_places(FUNCTIONS["softmax"], (input, dim), {"dtype": dtype})
    x, items = rows(input if dtype is None else input.to(dtype)), items_of(input)
    empty = full((len(input), *x.shape[1:]), -float("inf"), dtype=x.dtype)
    high = extreme("amax")(empty, items, x.detach()).index_select(0, items)
    share = (x - high).exp()
    total = added(zeros(len(input), *x.shape[1:], dtype=x.dtype), items, share)
    made = share / total.index_select(0, items)
    return like(input, made.movedim(0, input._axis - 1))


def places_of(x: NestedTensor, longest: int) -> tuple[Tensor, Tensor]:
    """For each item and number below `longest` the place, and whether the item has it, (b, l)."""
    numbers = arange(longest)
    there = numbers < lengths(x).unsqueeze(1)
    return FUNCTIONS["where"](there, x._offsets[:-1].unsqueeze(1) + numbers, 0), there


def to_padded_tensor(
    input: NestedTensor, padding: float, output_size: Sequence[int] | None = None
) -> Tensor:
    """A dense tensor, with a number at places that items do not have.

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
    """The items with so many places each."""
    if not x._values.shape[x._axis - 1]:
        shape = list(x._values.shape)
        shape[x._axis - 1] = most
        return full((len(x), *shape), padding, dtype=x.dtype)
    where, there = places_of(x, most)
    items = rows(x)[where]
    mask = there.reshape(*there.shape, *(1,) * (items.ndim - 2))
    return FUNCTIONS["where"](mask, items, padding).movedim(1, x._axis)


def unpadded(dense: Tensor, x: NestedTensor) -> NestedTensor:
    """The items of a padded tensor, with the places of a ragged one."""
    items = items_of(x)
    number = arange(x._values.shape[x._axis - 1]) - x._offsets.index_select(0, items)
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
    """Attention within each item: padded to the longest, places that nobody has are masked.

    Shapes: query (b, h, j, d), key (b, h, j, d), value (b, h, j, d) -> (b, h, j, d)
    """
    if attn_mask is not None:
        raise ArgumentError("scaled_dot_product_attention: ragged tensors with attn_mask: got one.")
    key_most, most = key.most(), query.most()
    q, k, v = padded(query, most, 0.0), padded(key, key_most, 0.0), padded(value, key_most, 0.0)
    mask = (arange(key_most) < lengths(key).unsqueeze(1))[:, None, None, :]
    if is_causal:
        mask = mask & (arange(key_most) <= arange(most).unsqueeze(1))
    dense = scaled_dot_product_attention(q, k, v, mask, dropout_p, **named)
    return unpadded(dense, query)


OWN: dict[str, Callable] = {
    "sum": folded("sum", 0.0, added),
    "mean": folded("mean", 0.0, added),
    "amax": folded("amax", -float("inf"), extreme("amax")),
    "amin": folded("amin", float("inf"), extreme("amin")),
    "softmax": softmax,
    "scaled_dot_product_attention": attention,
    "to_padded_tensor": to_padded_tensor,
}
"""Functions that ragged tensors have in their own way, by name."""
