"""gn.vmap: a function of one sample becomes a function of many, by one more axis.

The function runs once, on stand-ins for one sample; what it built gets the axis by
gnomon/passes/batch.py. A look at a stand-in's value is an error, as inside gn.compile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError, ComplexError
from gnomon.ir.node import Node
from gnomon.passes.batch import batch_roots
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.pytree import flatten, tensors_in, unflatten
from gnomon.tensor.random import default_generator
from gnomon.tensor.state import grads, state, strict
from gnomon.tensor.tensor import Paired, Tensor, node_of, wrap

__all__ = ["vmap"]

SampleAxes = int | None | tuple | list
"""The axis of samples, None for values that all share, or a nested structure of these."""


def vmap(
    func: Callable,
    in_dims: SampleAxes = 0,
    out_dims: SampleAxes = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """A function that maps func over an axis of its arguments; gradients pass as ever.

    in_dims and out_dims say which axis that is, None for what all samples share. With
    randomness="same" all samples see the same draws. All samples are computed in one program,
    whatever chunk_size says.

    >>> from gnomon.tensor.creation import tensor
    >>> vmap(lambda x, y: (x * y).sum(), in_dims=(0, None))(
    ...     tensor([[1, 2], [3, 4]]), tensor([1, 1])
    ... )
    Tensor([3, 7])
    """
    if randomness not in ("error", "same"):
        raise ArgumentError(
            f'vmap: randomness must be "error" or "same": got {randomness!r}. For draws that '
            "differ, draw for all samples outside and pass them in."
        )

    if chunk_size is not None and chunk_size < 1:
        raise ArgumentError(f"vmap: chunk_size should be greater than 0: got {chunk_size}.")

    @functools.wraps(func)
    def mapped(*args: Any, **named: Any) -> Any:
        return run(func, args, named, (in_dims, out_dims, randomness))

    return mapped


def run(func: Callable, args: tuple, named: dict, how: tuple[SampleAxes, SampleAxes, str]) -> Any:
    """The result of one call of a mapped function."""
    in_dims, out_dims, randomness = how
    given: list[Tensor] = []
    tree = flatten((args, named), given)
    axes = [*mapped_axes(in_dims, args, "in_dims"), *(0 for _ in real_in(named))]
    axis_of = dict(zip(map(id, real_in((args, named))), axes, strict=True))
    known: dict[Node, Node] = {}
    stand_ins = [stand_in(x, axis_of[id(x)], known) for x in given]
    size = number_of_samples(known)
    drawn = default_generator.count
    made = call_on_placeholders(func, unflatten(tree, stand_ins), known)
    if randomness == "error" and default_generator.count != drawn:
        raise ArgumentError(
            'vmap: the function draws random numbers. Give randomness="same", or draw outside.'
        )
    return with_samples(made, out_dims, known, size)


def number_of_samples(known: dict[Node, Node]) -> int:
    """The size of the mapped axis."""
    sizes = sorted({x.shape[0] for x in known.values()})
    if len(sizes) != 1:
        raise ArgumentError(
            f"vmap: tensors must have one number of samples: got {sizes}. "
            "Say by in_dims which axis has them."
        )
    return sizes[0]


def call_on_placeholders(func: Callable, given: tuple[tuple, dict], known: dict[Node, Node]) -> Any:
    """The function's results on placeholders, which cannot be evaluated."""
    args, named = given
    before = state.unknown
    with strict():
        try:
            state.unknown = [*before, *known]
            return func(*args, **named)
        finally:
            state.unknown = before


def with_samples(made: Any, out_dims: SampleAxes, known: dict[Node, Node], size: int) -> Any:
    """The function's results, for all samples."""
    found: list[Tensor] = []
    tree = flatten(made, found)
    nodes = batch_roots([node_of(x) for x in found], known, size)
    whole = [wrap(node, x.requires_grad) for node, x in zip(nodes, found, strict=True)]
    dims = dict(zip(map(id, real_in(made)), mapped_axes(out_dims, made, "out_dims"), strict=True))
    return unflatten(
        tree, [move_axis(x, y, dims[id(y)]) for x, y in zip(whole, found, strict=True)]
    )


def move_axis(whole: Tensor, sample: Tensor, axis: int | None) -> Tensor:
    """A result with its samples along the axis that was asked for."""
    if axis is None:
        raise ArgumentError("vmap: out_dims must be axes: got None.")
    rank = sample.ndim + 1
    if not -rank <= axis < rank:
        raise ArgumentError(f"vmap: no axis {axis} in a result of {rank} axes.")
    return FUNCTIONS["movedim"](whole, 0, axis) if axis % rank else whole


def stand_in(tensor: Tensor, axis: int | None, known: dict[Node, Node]) -> Tensor:
    """One sample of a tensor; the tensor itself if all samples share it."""
    if axis is None:
        return tensor
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ArgumentError(f"vmap: no axis {axis} of samples in a tensor of {tensor.ndim} axes.")
    node = node_of(FUNCTIONS["movedim"](tensor, axis, 0) if axis % tensor.ndim else tensor)
    one = state.arena.input(node.shape[1:], node.dtype)
    known[one] = node
    return wrap(one, tensor.requires_grad and grads.get())


def real_in(value: Any) -> list[Tensor]:
    """The tensors of a nested value, which must be real."""
    found = tensors_in(value)
    if any(isinstance(x, Paired) for x in found):
        raise ComplexError("vmap: complex tensors are not supported here. Map view_as_real(x).")
    return found


def mapped_axes(dims: Any, value: Any, what: str) -> list[int | None]:
    """The mapped axis of every tensor of a nested value, from axes nested as deep as given."""
    if dims is None or isinstance(dims, int):
        return [dims for _ in real_in(value)]
    if not isinstance(value, (dict, list, tuple)) or len(dims) != len(value):
        raise ArgumentError(f"vmap: {what} {dims!r} does not fit what it is about.")
    pairs = [(dims[k], part) for k, part in value.items()] if isinstance(value, dict) else None
    pairs = pairs or list(zip(dims, value, strict=True))
    return [axis for place, part in pairs for axis in mapped_axes(place, part, what)]
