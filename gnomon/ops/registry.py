"""The one registry: an operation that users call is one decorated function over nodes.

Calling it builds one `region` node whose body is the function's graph, made once per shapes, dtypes
and settings. Gradient, sharding and fusion see the body; profiler and written kernels the name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError
from gnomon.ir.node import (
    Arena,
    Graph,
    Node,
    Primitive,
    Shape,
    Signature,
    kind_of,
    primitive,
    typed,
)
from gnomon.ir.provenance import inherit

SPELLINGS = {
    "dim": ("axis",),
    "dims": ("axis", "axes", "repetitions"),
    "shifts": ("shift",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "axis0": ("dim0",),
    "axis1": ("dim1",),
    "diagonal": ("k",),
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


class Call:
    """An operation's arguments, nodes replaced by leaves: what a region remembers of its call."""

    __slots__ = ("_hash", "_key", "args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: tuple[Any, ...]) -> None:
        self.args, self.kwargs = args, kwargs
        self._key = (typed(args), typed(kwargs))
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Call) and self._key == other._key)

    def __repr__(self) -> str:
        return f"Call({self.args}, {self.kwargs})"


class Traced:
    """A graph made for a call, ready to be put into any arena as region nodes."""

    __slots__ = ("body", "results", "several")

    def __init__(self, name: str, body: Graph, call: Call, several: bool) -> None:
        self.body, self.several = body, several
        places = {leaf: k for k, leaf in enumerate(body.inputs)}
        self.results = tuple(
            (places.get(out), {"name": name, "body": body, "call": call, "index": k})
            for k, out in enumerate(body.outputs)
        )
        self.results = tuple((at, p, kind_of("region", p)) for at, p in self.results)

    def emit(self, nodes: Sequence[Node]) -> Any:
        """The region nodes, one per result. A result that is an argument stays that argument."""
        inputs = tuple(nodes)
        arena = inputs[0].arena
        made = tuple(
            inputs[at] if at is not None else arena.intern(kind, "region", inputs, params)
            for at, params, kind in self.results
        )
        return made if self.several else made[0]


Reference = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
)
"""A function of arrays, or of gradients; a lambda takes its types from the one that has as many."""
OPS: dict[str, Op] = {}
"""Every operation that users can call, by name and by alias."""
WHOLE: set[str] = set()
"""Regions whose bits are those of the kernel that claims them: parts of them stay regions too."""


class Op:
    """An operation: the function that defines it, and what is said about it."""

    def __init__(
        self,
        function: Callable[..., Any],
        inline: bool,
        reference: Reference | None,
        gradient: Callable[..., Any] | None,
        whole: bool = False,
    ) -> None:
        self.function, self.inline = function, inline
        self.reference, self.gradient = reference, gradient
        if whole:
            WHOLE.add(function.__name__)
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._traced: dict[tuple[Any, ...], Traced] = {}
        self._lock = threading.RLock()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The names of the defining function's parameters; *names and **names left out."""
        code = self.function.__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

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
        return self.traced(call, [(x.shape, x.dtype) for x in nodes]).emit(nodes)

    def respell(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keywords in the array API's words."""
        renamed = {}
        for word, value in kwargs.items():
            name = next((n for n in (word, *SPELLINGS.get(word, ())) if n in self.words), None)
            if name is None:
                allowed = ", ".join(self.words)
                raise ArgumentError(f"{self.__name__}: no argument {word!r}. It takes {allowed}.")
            renamed[name] = value
        return renamed

    def traced(self, call: Call, kinds: Sequence[tuple[Shape, DType]]) -> Traced:
        """The graph of a call, made once."""
        key = (call, *kinds)
        found = self._traced.get(key)
        if found is None:
            with self._lock, inherit(()):
                found = self._traced[key] = self._trace(call, kinds)
        return found

    def _trace(self, call: Call, kinds: Sequence[tuple[Shape, DType]]) -> Traced:
        arena = Arena()
        leaves = [arena.input(shape, dtype) for shape, dtype in kinds]
        result = self.function(
            *fill(call.args, leaves), **{k: fill(v, leaves) for k, v in call.kwargs}
        )
        several = isinstance(result, tuple)
        body = Graph(leaves, result if several else (result,))
        return Traced(self.__name__, body, call, several)


class Rule:
    """A gradient that a user wrote for one call: the `serial` of the regions that are its results.

    Such regions are never equal to others, and their gradients are asked for in every pass.
    """

    def gradients(self, gs: Mapping[Node, Node], needed: Sequence[bool]) -> Sequence[Node | None]:
        """The gradients of the call's inputs, given those of its results."""
        raise NotImplementedError("a rule says what its gradients are")


def rule_of(node: Node) -> Rule | None:
    """The user's gradient of a region, if there is one."""
    kept = node.params.get("serial")
    return kept if isinstance(kept, Rule) else None


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
    function: Callable[..., Any] | None = None,
    *,
    inline: bool = False,
    reference: Reference | None = None,
    gradient: Callable[..., Any] | None = None,
    whole: bool = False,
    aliases: Sequence[str] = (),
) -> Any:
    """Declare an operation.

    inline: build its nodes in place, without a region (for what is one or two primitives).
    reference: the same by numpy, for the tests.
    gradient: (gradients of results, results, *arguments) -> one gradient per node argument, where
    the derived one is not wanted.
    whole: a hand-written kernel's bits are its bits, the body's are only close to them.
    aliases: other names that users know it by.
    """

    def declare(function: Callable[..., Any]) -> Op:
        made = Op(function, inline, reference, gradient, whole)
        for name in (function.__name__, *aliases):
            assert name not in OPS, f"two operations are called {name}"
            OPS[name] = made
        return made

    return declare if function is None else declare(function)


def internal(function: Callable[..., Any] | None = None, *, whole: bool = False) -> Any:
    """A region that operations are made of and users do not call; it has no entry in OPS."""

    def declare(function: Callable[..., Any]) -> Op:
        return Op(function, inline=False, reference=None, gradient=None, whole=whole)

    return declare if function is None else declare(function)


@primitive("region")
class Region(Primitive):
    """One result of a named graph; the others of the same call share its inputs and body."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        out = params["body"].outputs[params["index"]]
        return out.shape, out.dtype

    def signature(self, node: Node) -> Signature:
        raise AssertionError("a region's sharding is its body's: inline it first")
