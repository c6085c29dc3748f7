"""Record a module's call: each tensor function that it calls becomes a node of a graph.

The call is computed with an example's values and sizes at the same time; symbols.py finds dynamic
sizes. Reading a tensor's value is refused, since the graph would contain the example's.
"""

from __future__ import annotations

import builtins
import copy
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import TraceError
from gnomon.fx.graph import Graph
from gnomon.fx.node import Node, map_aggregate
from gnomon.fx.text import path_in_package
from gnomon.ir.provenance import current_sites
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.nn.recurrent import Layers
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import empty
from gnomon.tensor.func import functional_call
from gnomon.tensor.overrides import SHOWING, DisableTorchFunctionSubclass, watching
from gnomon.tensor.tensor import Tensor
from gnomon.utils.pytree import PyTreeSpec, tree_flatten, tree_unflatten

__all__ = ["ModuleCall", "RecordedGraph", "TensorMetadata", "recorded"]

READS = frozenset(
    {"__array__", "__bool__", "__complex__", "__contains__", "__float__", "__index__", "__int__"}
    | {"__dlpack__", "is_nonzero", "item", "numpy", "tolist"}
)
"""Functions that return values instead of tensors."""
SHOWN = {vars(Tensor)[name].fget: name for name in SHOWING}
"""Attributes that are tensors, by their getter functions."""


class TensorMetadata(NamedTuple):
    """The shape and dtype of a tensor, as in `node.meta["tensor_meta"]`."""

    shape: tuple[int, ...]
    dtype: DType


class RecordedGraph(NamedTuple):
    """A recorded call: its graph, whose placeholders are the state and then the arguments."""

    graph: Graph
    state: tuple[Node, ...]
    leaves: tuple[Node, ...]
    constants: dict[str, Tensor]
    """Tensors that are neither state nor arguments, by the names of their placeholders."""
    outputs: tuple[Any, ...]
    """The nodes of resulting tensors, and other results as values."""
    tree: PyTreeSpec


class RecordedTensor(Tensor):
    """A tensor whose functions are recorded."""

    __slots__ = ()

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: Sequence = (), kwargs: Any = None
    ) -> Any:
        """Record a call and return its result."""
        recorder = recording.get()
        if recorder is None:
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        return recorder.call(func, tuple(args), dict(kwargs or {}))


recording: ContextVar[CallRecorder | None] = ContextVar("gnomon_recording", default=None)


class CallRecorder:
    """Records calls of functions as nodes of a graph."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.constants: dict[str, Tensor] = {}
        self.known: dict[int, tuple[Tensor, Node]] = {}
        """Tensors and their nodes, by the tensor's id."""
        self.versions: list[tuple[Any, int]] = []
        self.names: set[str] = set()
        self.first: Node | None = None
        """The first placeholder after those of the state."""

    def placeholder(self, name: str, value: Any) -> Any:
        """Add a placeholder to the graph; return its value, with tensors recorded from now on."""
        node = self.graph.placeholder(name)
        if hasattr(builtins, name) and name not in self.names:  # such as `input`
            node.name = name
        self.names.add(name)
        node.target = node.name
        return value if not isinstance(value, Tensor) else self.shown(value, node)

    def node_of(self, value: Any) -> Any:
        """The node of a tensor, which becomes a constant if it is unknown; else the value."""
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self.known:
            with self.graph.inserting_before(self.first):
                node = self.graph.placeholder("c_lifted_tensor_0")
            node.target = node.name
            self.constants[node.name] = value.detach().clone()
            note_metadata(node, value)
            self.known[id(value)] = value, node
            self.versions.append((value, value._storage.version))
        return self.known[id(value)][1]

    def check_writes(self) -> None:
        """Raise TraceError if the call wrote to a tensor that is neither argument nor state."""
        if any(x._storage.version != version for x, version in self.versions):
            raise TraceError(
                "export: the call writes to a tensor that is neither an argument nor the module's. "
                "Register it as a buffer, or make it inside of the call."
            )

    def call(self, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function, and add a node if it returns tensors or writes to one."""
        name = SHOWN.get(func) or getattr(func, "__name__", type(func).__name__)
        if name in READS:
            raise reading_error(name)
        writes = name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
        given, _ = tree_flatten((args, kwargs))
        read = map_aggregate((args, kwargs), self.node_of)
        before = watching.set(None)
        try:
            with DisableTorchFunctionSubclass():
                made = func(*args, **kwargs)
        finally:
            watching.reset(before)
        leaves, _ = tree_flatten(made)
        if isinstance(made, bool) and not name.startswith("is_"):
            raise reading_error(name)
        of_array = any(isinstance(x, np.ndarray) for x in given)  # it is a constant
        if not writes and (of_array or not any(isinstance(x, Tensor) for x in leaves)):
            return made
        node = self.step(func, name, *read)
        return self.shown(made, node)

    def step(self, func: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Node:
        """Add the node of a call."""
        if func in SHOWN:
            made = self.graph.call_function(getattr, (*args, name))
        elif hasattr(operator, name.strip("_")) and name.startswith("__") and not kwargs:
            made = self.graph.call_function(getattr(operator, name), args)
        elif not path_in_package(func) and getattr(Tensor, name, None) is func:
            made = self.graph.call_method(name, args, kwargs)
        else:
            made = self.graph.call_function(func, args, kwargs)
        made.meta["site"] = current_sites()[0]
        return made

    def shown(self, made: Any, node: Node) -> Any:
        """Make a node's result recorded; tensors in tuples get nodes of their own."""
        if isinstance(made, Tensor):
            note_metadata(node, made)
            result = made if isinstance(made, RecordedTensor) else made.as_subclass(RecordedTensor)
            self.known[id(result)] = result, node
            return result
        if not isinstance(made, (tuple, list)):
            return made
        parts = [
            self.shown(part, self.graph.call_function(operator.getitem, (node, k)))
            for k, part in enumerate(made)
            if isinstance(part, (Tensor, tuple, list))
        ]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)


def reading_error(name: str) -> TraceError:
    """The TraceError of a function that reads a tensor's value."""
    return TraceError(
        f"export: {name} reads a tensor's value, which differs between calls. Use where(), or "
        f"cond() of a function that takes tensors.   [{current_sites()[0]}]"
    )


def note_metadata(node: Node, value: Tensor) -> None:
    """Store the shape and dtype of a node's value."""
    node.meta["tensor_meta"] = TensorMetadata(tuple(value.shape), value.dtype)


class ModuleCall:
    """A module as a function of its tensors, recorded as a single call."""

    def __init__(self, module: Module) -> None:
        self.__name__ = type(module).__name__.lower()
        tensors = dict((*module.named_parameters(), *module.named_buffers()))
        self.names = tuple(tensors)
        empties = {id(x): empty_like_kind(x) for x in tensors.values()}
        self.module = copy.deepcopy(module, empties)

    def __call__(self, tensors: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with other parameters and buffers."""
        given = dict(zip(self.names, tensors, strict=True))
        return functional_call(self.module, given, args, kwargs, tie_weights=False)


def empty_like_kind(x: Tensor) -> Tensor:
    """An empty tensor or parameter of a tensor's dtype."""
    return Parameter(empty(0, dtype=x.dtype)) if isinstance(x, Parameter) else empty(0)


def forward_as_one_call(module: Module) -> Callable:
    """A forward method that records the module as one call."""
    whole, names = ModuleCall(module), [n for n, _ in module.named_parameters()]

    def forward(*args: Any, **kwargs: Any) -> Any:
        recorder = recording.get()
        assert recorder is not None, "the module has this forward while a call is recorded"
        tensors = tuple(operator.attrgetter(name)(module) for name in names)
        return recorder.call(whole, (tensors, *args), kwargs)

    return forward


@contextmanager
def whole_modules(module: Module) -> Iterator[None]:
    """Record modules that contain compiled loops as one call each."""
    found = [x for x in module.modules() if isinstance(x, Layers)]
    for x in found:
        vars(x)["forward"] = forward_as_one_call(x)
    try:
        yield
    finally:
        for x in found:
            del vars(x)["forward"]


def recorded(
    module: Module, state: Mapping[str, tuple[str, Tensor]], names: Sequence[str], values: Any
) -> RecordedGraph:
    """Record the call of a module.

    state: its parameters and buffers by name, with the names of their placeholders; names: of the
    call's leaves; values: the leaves and their tree.
    """
    recorder = CallRecorder()
    leaves, tree = values
    with no_grad():
        held = {
            name: recorder.placeholder(own, x.detach().clone()) for name, (own, x) in state.items()
        }
        inside = [*recorder.graph.nodes]
        given = [
            recorder.placeholder(name, x) for name, x in zip(names, copies(leaves), strict=True)
        ]
        placed = [*recorder.graph.nodes]
        recorder.first = placed[len(inside)] if len(placed) > len(inside) else None
        args, kwargs = tree_unflatten(given, tree)
        before, seen = recording.set(recorder), watching.set(recorder.call)
        try:
            with whole_modules(module):
                made = functional_call(module, held, args, kwargs, tie_weights=False)
        finally:
            watching.reset(seen)
            recording.reset(before)
    recorder.check_writes()
    results, out = tree_flatten(made)
    outputs = tuple(map(recorder.node_of, results))
    recorder.graph.output(outputs)
    remove_unused_items(recorder.graph)
    ends = inside, placed[len(inside) :]
    return RecordedGraph(recorder.graph, *map(tuple, ends), recorder.constants, outputs, out)


def copies(leaves: Sequence[Any]) -> Iterator[Any]:
    """Copies of a call's tensors; other values unchanged."""
    return (x.detach().clone() if isinstance(x, Tensor) else x for x in leaves)


def remove_unused_items(graph: Graph) -> None:
    """Remove nodes of tuple elements that are not used."""
    for node in reversed(graph.nodes):
        if node.target is operator.getitem and not node.users:
            graph.erase_node(node)
