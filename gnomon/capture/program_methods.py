"""Captured programs as methods of a program file: where inputs come from and where outputs go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnomon.capture.inputs import storage_tensor
from gnomon.dtypes import DType
from gnomon.errors import TraceError
from gnomon.ir.node import Graph
from gnomon.ir.provenance import user_site
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec
from gnomon.tensor.state import Storage
from gnomon.tensor.tensor import Tensor, array_of

if TYPE_CHECKING:
    from gnomon.capture.replay import CapturedProgram
    from gnomon.compiler.sized_tables import MethodSizes

__all__ = [
    "CONTAINERS",
    "HeldTensor",
    "HeldTensors",
    "MethodCall",
    "ProgramMethod",
    "method_of",
    "refused",
]

CONTAINERS = {kind.__name__: kind for kind in (dict, list, tuple)}
"""The containers of arguments and results, by name."""
VALUES = (type(None), bool, int, float, str)
LARGEST = 1 << 63

InputPlaces = tuple[tuple[int, int], ...]
InputShapes = tuple[tuple[int, ...], ...]


class MethodCall(NamedTuple):
    """The interface of a method: the structure of a call, the names and dtypes of its tensors.

    shapes: of arguments; a symbolic size is -1 less its number.
    """

    name: str
    tree: Any
    arguments: tuple[tuple[str, DType], ...]
    shapes: InputShapes
    sizes: MethodSizes | None = None


class ProgramMethod(NamedTuple):
    """A method: its call, its graph, and the mapping of inputs and outputs.

    call, result: structures as rows. given, held: inputs of the graph, each with an argument or a
    tensor of the file. results: for each returned tensor an output, or an argument as -1 - k.
    writes: outputs, each with the tensor of the file that it replaces. lasting: inputs that may be
    prepacked.
    """

    name: str
    graph: Graph
    arguments: tuple[tuple[str, DType], ...]
    shapes: InputShapes
    sizes: MethodSizes | None
    call: Any
    result: Any
    results: tuple[int, ...]
    given: InputPlaces
    held: InputPlaces
    writes: InputPlaces
    lasting: tuple[int, ...]


class HeldTensor(NamedTuple):
    """A tensor of the file: its name and its bytes.

    written: methods write it. begins_as_zeros: they do, and all of its first bytes are 0.
    """

    name: str
    tensor: Tensor
    content: bytes
    written: bool
    begins_as_zeros: bool


class HeldTensors:
    """The tensors that methods read beside their arguments, each once."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._found: list[tuple[str, Tensor]] = []
        self.written: set[int] = set()

    def number(self, name: str, tensor: Tensor) -> int:
        """The number of a tensor in the file, which gets a new one when first met."""
        one = tensor if tensor._view else tensor._storage
        number = self._numbers.setdefault(id(one), len(self._found))
        if number == len(self._found):
            self._found.append((name, tensor))
        return number

    def content(self) -> list[HeldTensor]:
        """The contents of all tensors, with their current values."""
        found = []
        for k, (name, x) in enumerate(self._found):
            content, written = array_of(x).tobytes(), k in self.written
            is_zero = written and not np.frombuffer(content, np.uint8).any()
            found.append(HeldTensor(name, x, content, written, is_zero))
        return found


def method_of(
    call: MethodCall, made: CapturedProgram, tensors: HeldTensors, names: Mapping[Storage, str]
) -> ProgramMethod:
    """The method of a captured program. names: of tensors, by their memory."""
    held = tuple(
        (k, tensors.number(names.get(x._storage, f"constant_{k}"), x))
        for k, x in enumerate(made.constant)
        if x is not None
    )
    count = len(made.results.nodes)
    writes = tuple(
        (count + k, tensors.number(names.get(storage, f"constant_{k}"), storage_tensor(storage)))
        for k, storage in enumerate(made.own)
    )
    tensors.written.update(x for _, x in writes)
    return ProgramMethod(
        call.name,
        made.graph,
        call.arguments,
        call.shapes,
        call.sizes,
        row_of(call.name, call.tree),
        row_of(call.name, made.outcome.tree),
        tuple(made.results.places()),
        tuple((k, read.number) for k, read in made.varying),
        held,
        writes,
        made.lasting,
    )


def row_of(name: str, tree: Any) -> Any:
    """The structure of nested tensors as plain data: a tensor's number, a value, a container."""
    if isinstance(tree, TreeLeaf):
        return tree.number
    if isinstance(tree, Constant):
        return ["", plain_value(name, tree.value)]
    kind = tree.kind if isinstance(tree, TreeSpec) else type(tree)
    if CONTAINERS.get(kind.__name__) is not kind:
        raise unkept(name, kind)
    names = [plain_value(name, x.value) for x in tree.names]
    return [tree.kind.__name__, names, [row_of(name, part) for part in tree.parts]]


def plain_value(name: str, value: Any) -> Any:
    """A plain value that a file can hold; refused otherwise."""
    if type(value) not in VALUES or (type(value) is int and not -LARGEST <= value < LARGEST):
        raise unkept(name, type(value))
    return value


def unkept(name: str, kind: type) -> TraceError:
    """The error of an argument or a result of a kind that no file holds."""
    remedy = "Pass and give back tensors, numbers, strings, and tuples, lists or dicts of them."
    return refused(name, f"takes or gives back a {kind.__name__}", remedy)


def refused(name: str, why: str, remedy: str, line: object = "") -> TraceError:
    """The error of a function that does something that no file holds."""
    return TraceError(
        f"precompile: {name} {why}, which no file can hold. {remedy}   [{line or user_site()}]"
    )


def arguments_of(
    words: Mapping[int, str], tensors: Sequence[Tensor]
) -> tuple[tuple[str, DType], ...]:
    """The names and dtypes of a call's tensors."""
    return tuple((words[k], x.dtype) for k, x in enumerate(tensors))
