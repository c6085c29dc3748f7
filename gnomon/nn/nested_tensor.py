"""NestedTensor: a batch of tensors of which one axis has another size in each.

PyTorch's jagged layout: `values` has the items one after the other along the ragged axis, and
`offsets` says where each begins and ends. A function of tensors is that of the values, and right
where nothing is mixed along the ragged axis: gnomon/passes/follow.py looks at what it made. What
folds the axis itself, and how such tensors are made, is in nested.py.

Letters: b items, j the ragged axis, s all places of it, *d other axes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from gnomon.errors import ArgumentError, GnomonError, ShapeError
from gnomon.ir.node import Node
from gnomon.ops.registry import OPS, Op
from gnomon.passes.follow import MixedAxis, axis_in
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import arange
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.operators import OPERATORS
from gnomon.tensor.overrides import taken_over
from gnomon.tensor.state import state, strict
from gnomon.tensor.tensor import Size, Tensor, raw, wrap

__all__ = ["NestedTensor", "OWN", "by_places", "in_steps", "items_of", "like"]

AXES = ("axis", "axes", "dim0", "dim1", "start_dim", "end_dim")
"""Words of operations that number axes."""
OWN: dict[str, Callable] = {}
"""Functions that ragged tensors have in their own way, by name."""


class RaggedSize:
    """The size of a ragged axis: a number for each item; equal to those of the same offsets."""

    def __init__(self, offsets: Tensor) -> None:
        self._offsets = offsets

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedSize) and self._offsets is other._offsets

    def __hash__(self) -> int:
        return id(self._offsets)

    def __index__(self) -> int:
        raise ShapeError(
            "nested: a ragged axis has no one size: got j. Take offsets().diff(), or pad: "
            "to_padded_tensor."
        )

    def __repr__(self) -> str:
        return "j"


class NestedTensor:
    """A batch of tensors with one axis of different sizes; made by `nested_tensor` and its like.

    >>> import gnomon as gn
    >>> x = gn.nested.nested_tensor([gn.ones(2, 3), gn.zeros(1, 3)])
    >>> x.shape, [part.shape for part in x.unbind()]
    (Size([2, j, 3]), [Size([2, 3]), Size([1, 3])])
    >>> (x + 1).sum(1)
    Tensor([[4., 4., 4.],
            [1., 1., 1.]])
    """

    __array_priority__ = 1000
    _is_data = True
    is_nested = True
    layout = "jagged"

    def __init__(
        self, values: Tensor, offsets: Tensor, axis: int = 1, most: int | None = None
    ) -> None:
        self._values, self._offsets, self._axis, self._most = values, offsets, axis, most
        """`most` are places enough for every item, in steps: a program is made for each number."""

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

    def values(self) -> Tensor:
        """All items one after the other, without an axis of items."""
        return self._values

    def offsets(self) -> Tensor:
        """The places of the ragged axis at which items begin, and the end of the last."""
        return self._offsets

    @property
    def shape(self) -> Size:
        """Sizes of the axes; that of the ragged one is `j`."""
        sizes: list[Any] = list(self._values.shape)
        sizes[self._axis - 1] = RaggedSize(self._offsets)
        return Size((len(self), *sizes))

    def size(self, dim: int | None = None) -> Any:
        """Sizes of the axes, or that of one."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._values.ndim + 1

    def dim(self) -> int:
        """Number of axes."""
        return self.ndim

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self._values.dtype

    @property
    def device(self) -> Any:
        """The device of the elements."""
        return self._values.device

    @property
    def requires_grad(self) -> bool:
        """Whether backward passes reach the values."""
        return self._values.requires_grad

    @property
    def grad(self) -> NestedTensor | None:
        """The gradient of the values, with the same items."""
        found = self._values.grad
        return None if found is None else like(self, found)

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        """Have backward passes reach the values, or not."""
        self._values.requires_grad_(requires_grad)
        return self

    def longest(self) -> int:
        """The most places of an item: a look at the offsets."""
        return int(self._offsets.diff().max().item()) if len(self) else 0

    def most(self) -> int:
        """The same or a little more, without a look where it is known."""
        if self._most is None:
            self._most = in_steps(self.longest())
        return self._most

    def unbind(self, dim: int = 0) -> list[Tensor]:
        """The items, as views of the values."""
        if dim != 0:
            raise ArgumentError(f"unbind: a ragged tensor is a batch along axis 0: got dim={dim}.")
        ends, axis = self._offsets.tolist(), self._axis - 1
        return [self._values.narrow(axis, start, end - start) for start, end in pairwise(ends)]

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """A dense tensor, with a number at places that items do not have."""
        return OWN["to_padded_tensor"](self, padding, output_size)

    def reshape(self, *shape: Any) -> NestedTensor:
        """The same values in another shape; the batch and the ragged axis stay the first two."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if self._axis != 1 or len(sizes) < 2 or sizes[0] not in (-1, len(self)):
            raise ShapeError(
                f"reshape: a ragged tensor {tuple(self.shape)} keeps its items and places: got "
                f"{tuple(sizes)}. Begin with ({len(self)}, -1, ...)."
            )
        if not (sizes[1] == -1 or sizes[1] == self.shape[1]):
            raise ShapeError(f"reshape: the ragged axis stays: got {tuple(sizes)}. Give -1 for it.")
        return like(self, self._values.reshape(self._values.shape[0], *sizes[2:]))

    view = reshape

    def __len__(self) -> int:
        return self._offsets.shape[0] - 1

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __getitem__(self, number: int) -> Tensor:
        return self.unbind()[number]

    def __repr__(self) -> str:
        return f"NestedTensor(size={tuple(self.shape)}, dtype={self.dtype})"


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


def like(x: NestedTensor, values: Tensor, axis: int | None = None) -> NestedTensor:
    """Other values with the same items."""
    return NestedTensor(values, x._offsets, x._axis if axis is None else axis, x._most)


def in_steps(places: int) -> int:
    """The next of eight sizes in a doubling, so that few programs serve all batches.

    >>> [in_steps(k) for k in (0, 7, 17, 33, 100)]
    [0, 7, 18, 36, 104]
    """
    step = max(1, 1 << max(0, places.bit_length() - 4))
    return -(-places // step) * step


def items_of(x: NestedTensor) -> Tensor:
    """The number of the item at each place, (s)."""
    places = arange(x._values.shape[x._axis - 1])
    return FUNCTIONS["searchsorted"](x._offsets[1:], places, right=True)


# functions


def by_places(func: Callable, args: Sequence, kwargs: dict[str, Any]) -> Any:
    """A function that treats all places alike, on the values."""
    first = next(x for x in found_in((*args, *kwargs.values())))
    op = OPS.get(func.__name__)
    if op is not None:
        args, kwargs = numbered(op, first, args, kwargs)
    spreads = op is not None and op.inline
    made = RaggedCall(first, spreads).run(func, args, kwargs)
    if isinstance(made, Tensor) and not made.ndim and not names_axes(op, args, kwargs):
        return made
    known = FollowedCall(first, spreads)
    try:
        return kept(made, known.run(func, args, kwargs), known)
    except (MixedAxis, GnomonError) as mixed:
        where = f" ({mixed.args[0]})" if isinstance(mixed, MixedAxis) else ""
        raise ShapeError(
            f"{func.__name__}: mixes places of a ragged axis{where}: got {first!r}. Take its items "
            "by unbind(), or pad: to_padded_tensor."
        ) from None


class RaggedCall:
    """A function's arguments as values."""

    def __init__(self, first: NestedTensor, spreads: bool) -> None:
        self.first, self.spreads, self.axis = first, spreads, first._axis - 1
        """`spreads`: dense operands are spread over places."""

    def run(self, func: Callable, args: Sequence, kwargs: dict[str, Any]) -> Any:
        """The function of the values."""
        return func(*map(self.inner, args), **{w: self.inner(x) for w, x in kwargs.items()})

    def inner(self, value: Any) -> Any:
        """An argument for a call with values."""
        if isinstance(value, (tuple, list)) and found_in(value):
            return type(value)(map(self.inner, value))
        if isinstance(value, NestedTensor):
            return self.ragged(values_beside(value, self.first))
        if self.spreads and isinstance(value, Tensor) and value.ndim >= self.first.ndim - 1:
            return self.spread(value)
        return value

    def ragged(self, values: Tensor) -> Tensor:
        """Values that have the ragged axis."""
        return values

    def spread(self, value: Tensor) -> Tensor:
        """A dense operand, of which items may have a part each, for all places."""
        first, axis = self.first, self.first._axis
        if value.ndim == first.ndim and value.shape[axis] == 1:
            if value.shape[0] == 1:
                return value.squeeze(0)
            if value.shape[0] == len(first):
                row = value.squeeze(axis).movedim(0, self.axis)
                return self.ragged(row.index_select(self.axis, items_of(first)))
        elif value.ndim == first.ndim - 1 and value.shape[self.axis] == 1:
            return value
        raise ShapeError(
            f"nested: an operand must have size 1 along the ragged axis: got {tuple(value.shape)} "
            f"beside {first!r}."
        )


class FollowedCall(RaggedCall):
    """The same with values of a size that no other axis has: it tells where that axis went."""

    def __init__(self, first: NestedTensor, spreads: bool) -> None:
        super().__init__(first, spreads)
        self.known: list[Node] = []

    def run(self, func: Callable, args: Sequence, kwargs: dict[str, Any]) -> Any:
        """The function of stand-ins, which nothing evaluates meanwhile."""
        before = state.unknown
        with strict(), no_grad():
            try:
                state.unknown = [*before, *self.known]
                return super().run(func, args, kwargs)
            finally:
                state.unknown = before

    def ragged(self, values: Tensor) -> Tensor:
        """A stand-in for values that have the ragged axis."""
        shape = list(values.shape)
        shape[self.axis] = PLACES
        self.known.append(state.arena.input(tuple(shape), values.dtype))
        return wrap(self.known[-1])


PLACES = 8191
"""Places of a stand-in."""


def values_beside(value: NestedTensor, first: NestedTensor) -> Tensor:
    """The values of a ragged tensor that has the same items as the first."""
    if value._offsets is first._offsets and value._axis == first._axis:
        return value._values
    raise ShapeError(
        f"nested: ragged axes differ: got {value!r} beside {first!r}. Make both with the same "
        "offsets() and the same jagged_dim."
    )


def names_axes(op: Op | None, args: Sequence, kwargs: dict[str, Any]) -> bool:
    """Whether a call says which axes it is about: without, a fold is one of all elements."""
    words = dict(zip(op.words, args, strict=False)) | kwargs if op else kwargs
    return any(words.get(word) is not None for word in AXES)


def kept(made: Any, told: Any, known: FollowedCall) -> Any:
    """A function's results as ragged tensors; `told` are those of stand-ins.

    Errors: MixedAxis where places of the ragged axis met.
    """
    if isinstance(made, (tuple, list)):
        parts = [kept(*pair, known) for pair in zip(made, told, strict=True)]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
    if not isinstance(made, Tensor) or made is known.first._values:
        return made if not isinstance(made, Tensor) else known.first
    axis = axis_in(raw(told), dict.fromkeys(known.known, known.axis))
    if axis is None:  # made of sizes alone
        axis = told.shape.index(PLACES) if PLACES in told.shape else None
    return made if axis is None else like(known.first, made, axis + 1)


def found_in(values: Iterable[Any]) -> list[NestedTensor]:
    """The ragged tensors among values and in lists of them."""
    return [x for value in values for x in inside_of(value) if isinstance(x, NestedTensor)]


def inside_of(value: Any) -> Sequence[Any]:
    """The parts of a list; a value alone."""
    return value if isinstance(value, (tuple, list)) else (value,)


def numbered(
    op: Op, x: NestedTensor, args: Sequence, kwargs: dict[str, Any]
) -> tuple[Sequence, dict[str, Any]]:
    """Arguments with the axes of values in place of those of a ragged tensor."""
    if "axes" in op.words and len(args) > len(op.words):
        args = (args[0], args[1:])
    words = op.respell(kwargs)
    given = dict(zip(op.words, args, strict=False))
    defaults = inspect.signature(op.function).parameters
    for word in AXES:
        if word in op.words and word not in given and word not in words:
            default = defaults[word].default
            if isinstance(default, int) and default >= 0:
                words[word] = default
    listed = [axes_of(x, v, op) if word in AXES else v for word, v in given.items()]
    named = {word: axes_of(x, v, op) if word in AXES else v for word, v in words.items()}
    return [*listed, *args[len(given) :]], named


def axes_of(x: NestedTensor, value: Any, op: Op) -> Any:
    """Axes as the values have them; none of items."""
    if isinstance(value, (tuple, list)):
        is_order = op.__name__ == "permute"
        rest = value[1:] if is_order and value[:1] in ((0,), [0]) else value
        return type(value)(axes_of(x, each, op) for each in rest)
    if not isinstance(value, int):
        return value
    if value == 0 or value == -x.ndim:
        raise ShapeError(
            f"{op.__name__}: axis 0 of a ragged tensor has its items: got {value}. Take them by "
            "unbind()."
        )
    return value - 1 if value > 0 else value
