"""Functions of ragged tensors, applied to their values if they mix nothing along the ragged axis.

gnomon/passes/follow.py analyses a function's graph, so that no list of functions is needed.
nested.py has reductions along the ragged axis.

Letters: b items, j the ragged axis, s all places of it, *d other axes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gnomon.errors import GnomonError, ShapeError
from gnomon.ir.node import Node
from gnomon.nn.ragged import RaggedBatch, items_of, like
from gnomon.ops.registry import OPS, Op
from gnomon.passes.follow import MixedAxis, axis_in
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.overrides import overriding
from gnomon.tensor.state import state, strict
from gnomon.tensor.tensor import Tensor, raw, wrap

__all__ = ["by_places"]

AXES = ("axis", "axes", "dim0", "dim1", "start_dim", "end_dim")
"""The names of arguments that are axes."""
DRAWS = "key"
"""The name of the random key, an argument of operations that draw each element."""


def by_places(func: Callable, args: Sequence, kwargs: dict[str, Any]) -> Any:
    """Call a function that treats all positions of the ragged axis alike on the values."""
    first = next(x for x in found_in((*args, *kwargs.values())))
    op = OPS.get(func.__name__)
    if op is not None:
        args, kwargs = with_value_axes(op, first, args, kwargs)
    spreads = op is not None and op.inline
    made = RaggedCall(first, spreads).run(func, args, kwargs)
    if isinstance(made, Tensor) and not made.ndim and not names_axes(op, args, kwargs):
        return made
    if op is not None and DRAWS in op.words:
        return like(first, made)  # a second run would draw again
    known = FollowedCall(first, spreads)
    try:
        return ragged_results(made, known.run(func, args, kwargs), known)
    except (MixedAxis, GnomonError) as mixed:
        where = f" ({mixed.args[0]})" if isinstance(mixed, MixedAxis) else ""
        raise ShapeError(
            f"{func.__name__}: mixes places of a ragged axis{where}: got {first!r}. Take its items "
            "by unbind(), or pad: to_padded_tensor."
        ) from None


class RaggedCall:
    """A call of a function on the values of its ragged arguments."""

    def __init__(self, first: RaggedBatch, spreads: bool) -> None:
        self.first, self.spreads, self.axis = first, spreads, first._axis - 1
        """`spreads`: whether dense operands are repeated for each position."""

    def run(self, func: Callable, args: Sequence, kwargs: dict[str, Any]) -> Any:
        """The result of the function on the values."""
        return func(*map(self.inner, args), **{w: self.inner(x) for w, x in kwargs.items()})

    def inner(self, value: Any) -> Any:
        """An argument for the call, with values in place of ragged tensors."""
        if isinstance(value, (tuple, list)) and found_in(value):
            return type(value)(map(self.inner, value))
        if isinstance(value, RaggedBatch):
            return self.ragged(values_beside(value, self.first))
        if self.spreads and isinstance(value, Tensor) and value.ndim >= self.first.ndim - 1:
            return self.spread(value)
        return value

    def ragged(self, values: Tensor) -> Tensor:
        """The argument for values with the ragged axis."""
        return values

    def spread(self, value: Tensor) -> Tensor:
        """A dense operand, repeated for each position of the items if it has a part per item."""
        first, axis = self.first, self.first._axis
        if value.ndim == first.ndim and value.shape[axis] == 1:
            if value.shape[0] == 1:
                return value.squeeze(0)
            if value.shape[0] == first._count:
                row = value.squeeze(axis).movedim(0, self.axis)
                return self.ragged(row.index_select(self.axis, items_of(first)))
        elif value.ndim == first.ndim - 1 and value.shape[self.axis] == 1:
            return value
        raise ShapeError(
            f"nested: an operand must have size 1 along the ragged axis: got {tuple(value.shape)} "
            f"beside {first!r}."
        )


class FollowedCall(RaggedCall):
    """A call on placeholders, which shows where the ragged axis is in the results."""

    def __init__(self, first: RaggedBatch, spreads: bool) -> None:
        super().__init__(first, spreads)
        self.known: list[Node] = []

    def run(self, func: Callable, args: Sequence, kwargs: dict[str, Any]) -> Any:
        """Call the function on placeholders, which must not be evaluated."""
        before = state.unknown
        with strict(), no_grad():
            try:
                state.unknown = [*before, *self.known]
                return super().run(func, args, kwargs)
            finally:
                state.unknown = before

    def ragged(self, values: Tensor) -> Tensor:
        """A placeholder for values with the ragged axis."""
        shape = list(values.shape)
        shape[self.axis] = PLACES
        self.known.append(state.arena.input(tuple(shape), values.dtype))
        return wrap(self.known[-1])


PLACES = 8191
"""The size of a placeholder's ragged axis."""


def values_beside(value: RaggedBatch, first: RaggedBatch) -> Tensor:
    """The values of a ragged tensor, refused unless it has the items of `first`."""
    if value._offsets is first._offsets and value._axis == first._axis:
        return value._values
    raise ShapeError(
        f"nested: ragged axes differ: got {value!r} beside {first!r}. Make both with the same "
        "offsets() and the same jagged_dim."
    )


def names_axes(op: Op | None, args: Sequence, kwargs: dict[str, Any]) -> bool:
    """Whether a call names axes; without them it reduces all elements."""
    words = dict(zip(op.words, args, strict=False)) | kwargs if op else kwargs
    return any(words.get(word) is not None for word in AXES)


def ragged_results(made: Any, traced: Any, known: FollowedCall) -> Any:
    """A function's results as ragged tensors; `traced` are the results for placeholders.

    Errors: MixedAxis where the function mixes positions of the ragged axis.
    """
    if isinstance(made, (tuple, list)):
        parts = [ragged_results(*pair, known) for pair in zip(made, traced, strict=True)]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
    if not isinstance(made, Tensor) or made is known.first._values:
        return made if not isinstance(made, Tensor) else known.first
    axis = axis_in(raw(traced), dict.fromkeys(known.known, known.axis))
    if axis is None:  # made of sizes alone
        axis = traced.shape.index(PLACES) if PLACES in traced.shape else None
    return made if axis is None else like(known.first, made, axis + 1)


def found_in(values: Iterable[Any]) -> list[RaggedBatch]:
    """The ragged tensors among values and in lists of them."""
    return [x for x in overriding(values) if isinstance(x, RaggedBatch)]


def with_value_axes(
    op: Op, x: RaggedBatch, args: Sequence, kwargs: dict[str, Any]
) -> tuple[Sequence, dict[str, Any]]:
    """Arguments with the axes of a ragged tensor renumbered for its values."""
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


def axes_of(x: RaggedBatch, value: Any, op: Op) -> Any:
    """Axes renumbered for the values; the axis of items is refused."""
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
