"""Inputs of a captured program: how a replay reads each of them, and their buffers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from gnomon.dtypes import DType
from gnomon.ir.node import Arena, Node, Shape
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.state import Storage
from gnomon.tensor.tensor import Tensor, from_array, from_buffer, node_of, raw

__all__ = [
    "Always",
    "Apart",
    "GivenInput",
    "Ids",
    "InputReader",
    "Read",
    "StoredInput",
    "Wholes",
    "constant_input",
    "number_of",
    "pattern",
    "storage_tensor",
    "tracked_nodes",
    "values_of",
    "without_grad",
]

Read = Callable[[Sequence[Tensor]], Tensor]
"""A function from a replay's arguments to the tensor of an input."""
Ids = dict[int, "ref[Any]"]
"""Id -> a weak reference to its object: an id alone may be another object's later."""


class Always:
    """An input that is the same tensor for all arguments."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __call__(self, _: Sequence[Tensor]) -> Tensor:
        """Return the tensor."""
        return self.tensor


class GivenInput:
    """An input that is an argument."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, arguments: Sequence[Tensor]) -> Tensor:
        """Return the argument's tensor."""
        return arguments[self.number]


class StoredInput:
    """An input that is an earlier segment's result, which follows the arguments."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, values: Sequence[Tensor]) -> Tensor:
        """Return the result."""
        return values[self.number]


class InputReader:
    """Reader of several inputs at once."""

    def __init__(self, reads: Sequence[Read]) -> None:
        self.reads, given = reads, (GivenInput, StoredInput)
        self.numbers = [x.number for x in reads if isinstance(x, given)]
        """The numbers of inputs that follow from their place alone."""
        self.is_numbered = len(self.numbers) == len(reads)

    def __call__(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        """The tensors of all inputs, in order."""
        if self.is_numbered:
            return list(map(arguments.__getitem__, self.numbers))
        return [read(arguments) for read in self.reads]


def number_of(read: Callable[[], float], dtype: DType) -> Read:
    """An input that calls `read` each time, and makes a new tensor only if the number changed."""
    kept: tuple[Hashable, Tensor | None] = (None, None)

    def reads(_: Sequence[Tensor]) -> Tensor:
        nonlocal kept
        value, (known, tensor) = read(), kept
        key = value or str(value)  # zeros differ by their sign
        if tensor is None or key != known:
            tensor = from_array(np.asarray(value, dtype.numpy))
            kept = (key, tensor)
        return tensor

    return reads


def constant_input(node: Node) -> Read:
    """The input for a value that the function made of Python values, constant in the program."""
    return Always(from_buffer(node.value, node.shape, node.dtype))


def pattern(x: Node, shape: Shape | None = None) -> Node:
    """A node without a value, with the dtype and shape of x or with another shape."""
    return Arena().leaf(x.shape if shape is None else shape, x.dtype, None, x.sites)


def storage_tensor(storage: Storage) -> Tensor:
    """A tensor over a whole storage."""
    made = Tensor.__new__(Tensor)
    made._storage, made._view, made._rare, made._requires = storage, None, None, False
    return made


value_there, view_of = map(operator.attrgetter, ("_storage.node.value", "_view"))


def values_of(tensors: Sequence[Tensor]) -> list[Any]:
    """The buffers of tensors; pending ones are computed in one program."""
    values = list(map(value_there, tensors))
    if all(values) and not any(map(view_of, tensors)):
        return values
    nodes = [raw(t) for t in tensors]
    evaluate([node for node in nodes if node.value is None])
    return [node.value for node in nodes]


def tracked_nodes(tensors: Sequence[Tensor]) -> list[Node]:
    """The differentiable nodes of tensors."""
    return [node_of(t) for t in tensors]


def without_grad(tensors: Sequence[Tensor]) -> Callable[[], list[bool]]:
    """A function that returns for each tensor whether it has no gradient at present."""
    return lambda: [t._rare is None or t._rare.grad is None for t in tensors]


# arguments that are needed as parts of their storages, where they were passed by value


class Apart(Exception):
    """Raised when an argument that was passed by value must be passed as a view of its storage."""

    def __init__(self, places: frozenset[int]) -> None:
        super().__init__(places)
        self.places = places
        """The arguments that show such memory."""


class Wholes:
    """Mixin of captures that records which views were passed by value."""

    def __init__(self) -> None:
        self.by_value: set[Storage] = set()
        """Storages that stand for views without gradients; their views have none either."""
        self.parts: dict[Storage, int] = {}
        """Storage that stands for the value of a view -> the argument that it is."""
        self.needs_whole: set[int] = set()
        """Arguments to pass as views of their storage: the function asks for their strides."""

    def need_whole(self, storage: Storage) -> None:
        """Raise Apart for the argument of this storage."""
        if storage in self.parts:
            self.needs_whole.add(self.parts[storage])
            raise Apart(frozenset(self.needs_whole))
