"""The one registry: an operation that users call is one decorated function over nodes.

Calling it builds one `region` node whose body is the function's graph, made once per shapes, dtypes
and settings. Gradient, sharding, fusion see the body; profiler and hand-written kernels see the name.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError
from gnomon.ir.node import Arena, Graph, Node, Primitive, Shape, Signature, primitive, typed
from gnomon.ir.provenance import inherit

SPELLINGS = {
    "dim": ("axis",),
    "dims": ("axis", "axes", "repetitions"),
    "dim0": ("axis1",),
    "dim1": ("axis2",),
    "keepdim": ("keepdims",),
    "input": ("x", "index"),
    "other": ("y",),
    "exponent": ("y",),
    "tensor": ("x",),
    "tensors": ("xs",),
    "arrays": ("xs",),
    "self": ("x",),
    "a": ("x",),
    "size": ("shape",),
    "src": ("values",),
    "source": ("values",),
    "indices": ("index",),
}
"""PyTorch's word -> the array API's, for every operation that has one of the latter."""


class Leaf(NamedTuple):
    """Stands for the k-th node among a call's arguments."""

    number: int


@dataclass(frozen=True)
class Call:
    """The arguments of an operation, nodes replaced by leaves: what a region remembers of its call."""

    args: tuple
    kwargs: tuple

    def __hash__(self) -> int:
        return hash((typed(self.args), typed(self.kwargs)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and (typed(self.args), typed(self.kwargs)) == (
            typed(other.args),
            typed(other.kwargs),
        )


OPS: dict[str, Op] = {}
"""Every operation that users can call, by name and by alias."""


class Op:
    """An operation: the function that defines it, and what is said about it."""

    def __init__(
        self,
        function: Callable,
        inline: bool,
        reference: Callable | None,
        gradient: Callable | None,
    ) -> None:
        self.function, self.inline = function, inline
        self.reference, self.gradient = reference, gradient
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._bodies: dict[tuple, tuple[Graph, bool]] = {}
        self._lock = threading.RLock()

    @cached_property
    def signature(self) -> inspect.Signature:
        """The parameters of the defining function."""
        return inspect.signature(self.function)

    def __repr__(self) -> str:
        return f"<op {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the operation's nodes; see the function's own documentation."""
        if kwargs:
            kwargs = self.respell(kwargs)
        if self.inline:
            return self.function(*args, **kwargs)
        nodes: list[Node] = []
        call = Call(
            strip(args, nodes), tuple((k, strip(v, nodes)) for k, v in sorted(kwargs.items()))
        )
        if not nodes:
            raise ArgumentError(f"{self.__name__}: needs a tensor: got {args!r}.")
        body, several = self.body(call, [(x.shape, x.dtype) for x in nodes])
        return emit(self.__name__, body, call, nodes, several)

    def respell(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keywords in the array API's words."""
        known = self.signature.parameters
        renamed = {}
        for word, value in kwargs.items():
            name = next((n for n in (word, *SPELLINGS.get(word, ())) if n in known), None)
            if name is None:
                allowed = ", ".join(known)
                raise ArgumentError(f"{self.__name__}: no argument {word!r}. It takes {allowed}.")
            renamed[name] = value
        return renamed

    def body(self, call: Call, kinds: Sequence[tuple[Shape, DType]]) -> tuple[Graph, bool]:
        """The graph of a call, made once, and whether it has several results."""
        key = (call, tuple(kinds))
        found = self._bodies.get(key)
        if found is None:
            with self._lock, inherit(()):
                found = self._bodies[key] = self._trace(call, kinds)
        return found

    def _trace(self, call: Call, kinds: Sequence[tuple[Shape, DType]]) -> tuple[Graph, bool]:
        arena = Arena()
        leaves = [arena.input(shape, dtype) for shape, dtype in kinds]
        result = self.function(
            *fill(call.args, leaves), **{k: fill(v, leaves) for k, v in call.kwargs}
        )
        several = isinstance(result, tuple)
        return Graph(leaves, result if several else (result,)), several


def emit(name: str, body: Graph, call: Call, nodes: Sequence[Node], several: bool) -> Any:
    """The region nodes of a call: one per result. A result that is an argument stays that argument."""
    places = {leaf: k for k, leaf in enumerate(body.inputs)}
    results = tuple(
        nodes[places[out]]
        if out in places
        else nodes[0].arena.node("region", tuple(nodes), name=name, body=body, call=call, index=k)
        for k, out in enumerate(body.outputs)
    )
    return results if several else results[0]


def strip(value: Any, nodes: list[Node]) -> Any:
    """An argument with its nodes taken out into the list."""
    if isinstance(value, Node):
        nodes.append(value)
        return Leaf(len(nodes) - 1)
    if isinstance(value, (list, tuple)) and not isinstance(value, Leaf):
        return tuple(strip(v, nodes) for v in value)
    return value


def fill(value: Any, nodes: Sequence[Node]) -> Any:
    """An argument with its nodes put back."""
    if isinstance(value, Leaf):
        return nodes[value.number]
    if isinstance(value, tuple):
        return tuple(fill(v, nodes) for v in value)
    return value


def op(
    function: Callable | None = None,
    *,
    inline: bool = False,
    reference: Callable | None = None,
    gradient: Callable | None = None,
    aliases: Sequence[str] = (),
) -> Any:
    """Declare an operation.

    inline: build its nodes in place, without a region (for what is one or two primitives).
    reference: the same by numpy, for the tests.
    gradient: (gradients of results, results, *arguments) -> one gradient per node argument, when the
    derived one is not wanted.
    aliases: other names that users know it by.
    """

    def declare(function: Callable) -> Op:
        made = Op(function, inline, reference, gradient)
        for name in (function.__name__, *aliases):
            assert name not in OPS, f"two operations are called {name}"
            OPS[name] = made
        return made

    return declare if function is None else declare(function)


@primitive("region")
class Region(Primitive):
    """One result of a named graph; the others of the same call share its inputs and body."""

    def infer(self, inputs, params) -> tuple[Shape, DType]:
        out = params["body"].outputs[params["index"]]
        return out.shape, out.dtype

    def signature(self, node: Node) -> Signature:
        raise AssertionError("a region's sharding is its body's: inline it first")
