"""The registry of operations: each that users call is one decorated function over nodes.

Calling it builds one `region` node whose body is the function's graph, built once per combination
of shapes, dtypes and settings. Gradient, sharding and fusion use the body; profiler and
hand-written kernels use the name.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gnomon.dtypes import DType, default_float
from gnomon.errors import ArgumentError
from gnomon.forking import cached_property, held
from gnomon.ir.node import (
    Arena,
    Graph,
    Node,
    Primitive,
    Shape,
    Signature,
    kind_of,
    pattern_of,
    primitive,
)
from gnomon.ir.provenance import inherit
from gnomon.lazy import fitting
from gnomon.ops.documentation import with_shapes
from gnomon.ops.facts import NOTHING, Facts
from gnomon.ops.older_words import OLDER, by_position, factors_in_words, in_one_word
from gnomon.ops.op_calls import TUPLES, OpCall, add_to_key, fill, plain_call, strip_nodes

MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError)
"""The exceptions of Python for unsuitable arguments, which are explained to the user."""
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
    "elements": ("x",),
    "element": ("x",),
    "test_elements": ("y",),
    "test_element": ("y",),
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
"""PyTorch's keyword -> the array API's, for every operation that has one of the latter."""


CAPTURED = ".compiled"
"""The suffix of the name of a captured function's region."""


class Traced:
    """The graph of a call, which can be emitted in any arena as region nodes."""

    __slots__ = ("body", "only", "results", "several")

    def __init__(self, name: str, body: Graph, call: OpCall, several: bool) -> None:
        self.body, self.several = body, several
        places = {leaf: k for k, leaf in enumerate(body.inputs)}
        params: list[dict[str, Any]] = [
            {"name": name, "body": body, "call": call, "index": k} for k in range(len(body.outputs))
        ]
        pairs = zip(body.outputs, params, strict=True)
        self.results = tuple(
            places.get(out, pattern_of(kind_of("region", p), "region", p, out)) for out, p in pairs
        )
        """Per result: the index of the input that it is, or a pattern node to repeat."""
        first = self.results[0] if self.results and not several else None
        self.only = first if isinstance(first, Node) else None
        """The pattern node of the only result; None if it is an input or there are several."""

    def emit(self, nodes: Sequence[Node]) -> Any:
        """Create the region nodes, one per result; a returned argument stays that argument."""
        inputs = tuple(nodes)
        arena = inputs[0].arena
        if self.only is not None:
            return arena.repeat(self.only, inputs)
        made = [
            inputs[like] if isinstance(like, int) else arena.repeat(like, inputs, k > 0)
            for k, like in enumerate(self.results)
        ]
        return tuple(made) if self.several else made[0]


Reference = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
)
"""A function of arrays or gradients; a lambda's types are those of the one with as many arguments.
"""
OPS: dict[str, Op] = {}
"""All operations that users can call, by name and alias."""
REGIONS: dict[str, Op] = {}
"""All operations by the name of their regions, those that users do not call included."""
_tracing = held(threading.RLock())


class Op:
    """An operation: the function that defines it, and facts about it."""

    def __init__(
        self,
        function: Callable[..., Any],
        inline: bool,
        reference: Reference | None,
        gradient: Callable[..., Any] | None,
        facts: Facts = NOTHING,
    ) -> None:
        self.function, self.inline = function, inline
        self.reference, self.gradient = reference, gradient
        self.facts = facts
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__ = with_shapes(function)
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._traced: dict[tuple[Any, ...], Traced] = {}
        self._patterns: dict[tuple[Any, ...], Node] = {}
        """Key of an inline call that created a single node -> that node, as a pattern to repeat."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The names of the function's parameters, without *names and **names."""
        code = self.function.__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def __repr__(self) -> str:
        return f"<op {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the operation's nodes; see the function's own documentation."""
        key, nodes = plain_call(args, kwargs)
        if self.inline:
            return self._inlined(key, tuple(nodes), args, kwargs)
        traced = None if key is None else self._traced.get(key)
        if traced is None:
            traced, found = self._explained(self._found, args, kwargs)
            if key is not None and list(map(id, found)) == list(map(id, nodes)):
                self._traced[key] = traced
            nodes = found
        return traced.emit(nodes)

    def with_last(self, *rest: Any) -> Callable[..., Any]:
        """A function of the first arguments of calls whose last ones are these.

        It has the results of the operation, and looks at the last arguments once.
        """
        end: list[Any] = []
        last: list[Node] = []
        known = not self.inline and add_to_key(rest, end, last)

        def call(*first: Any) -> Any:
            key: list[Any] = [default_float(), len(first) + len(rest)]
            nodes: list[Node] = []
            if known and add_to_key(first, key, nodes):
                traced = self._traced.get((*key, *end))
                if traced is not None:
                    return traced.emit((*nodes, *last))
            return self(*first, *rest)

        return call

    def _inlined(
        self,
        key: tuple[Any, ...] | None,
        nodes: tuple[Node, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The nodes of an inline operation; in eager programs by the pattern of an earlier call."""
        if key is None or not nodes or not nodes[0].arena.shared:
            return self._explained(self.function, args, kwargs)
        like = self._patterns.get(key)
        if like is not None:
            return nodes[0].arena.repeat(like, nodes)
        made = self._explained(self.function, args, kwargs)
        if type(made) is Node and made.inputs == nodes and "serial" not in made.params:
            self._patterns[key] = pattern_of(made.kind, made.op, made.params, made)
        return made

    def _explained(
        self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function with keywords respelled; an error names the argument at fault."""
        if kwargs:
            kwargs = self.respell(kwargs)
        try:
            return call(*args, **kwargs)
        except MISFITS as cause:
            count = self.function.__code__.co_argcount
            older = factors_in_words(self.words, count, args)
            older = older or by_position(self.facts.order, count, args, kwargs)
            if older is not None:
                return call(*older[0], **(kwargs | self.respell(older[1])))
            fitting.refuse(self.__name__, self.function, args, kwargs, cause)

    def _found(self, *args: Any, **kwargs: Any) -> tuple[Traced, Sequence[Node]]:
        """The graph of a call, and the nodes among its arguments."""
        call, nodes = strip_nodes(args, kwargs)
        if not nodes:
            raise ArgumentError(f"{self.__name__}: needs a tensor: got {args!r}.")
        return self.traced(call, [(x.shape, x.dtype) for x in nodes]), nodes

    def respell(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The keywords, renamed to the operation's own parameters."""
        renamed: dict[str, Any] = {}
        if "reduction" in self.words and not kwargs.keys().isdisjoint(OLDER):
            kwargs = in_one_word(kwargs)
        for word, value in kwargs.items():
            name = self.own_word(word)
            if name is None and word in self.facts.hints:
                continue
            if name is None:
                allowed = ", ".join(self.words)
                raise ArgumentError(f"{self.__name__}: no argument {word!r}. It takes {allowed}.")
            renamed[name] = value
        return renamed

    def own_word(self, word: str) -> str | None:
        """The parameter that a keyword of PyTorch means, or None."""
        for pair in self.facts.spelled.split():
            theirs, _, ours = pair.partition("=")
            if theirs == word:
                return ours
        return next((n for n in (word, *SPELLINGS.get(word, ())) if n in self.words), None)

    def traced(self, call: OpCall, kinds: Sequence[tuple[Shape, DType]]) -> Traced:
        """The graph of a call, which is traced once per structure."""
        key = (default_float(), call, *kinds)
        found = self._traced.get(key)
        if found is None:
            if self.gradient is not None:  # a rule gives one gradient for each tensor
                fitting.refuse_numbers(self.__name__, self.function, call.args)
            with _tracing, inherit(()):
                found = self._traced[key] = self._trace(call, kinds)
        return found

    def _trace(self, call: OpCall, kinds: Sequence[tuple[Shape, DType]]) -> Traced:
        """Trace the function of a call on inputs of these shapes and dtypes."""
        arena = Arena()
        leaves = [arena.input(shape, dtype) for shape, dtype in kinds]
        result: Any = self.function(
            *fill(call.args, leaves), **{k: fill(v, leaves) for k, v in call.kwargs}
        )
        several: bool = isinstance(result, TUPLES)
        results: tuple[Any, ...] = result if several else (result,)
        body = Graph(leaves, results)
        return Traced(self.__name__, body, call, several)


class GradientRule:
    """A gradient that a user wrote for one call, which is the `serial` of its results' regions.

    Such regions are never equal to others, and their gradients are derived in every pass.
    """

    calls_hooks = False
    """Whether it calls hooks of the user."""

    def gradients(self, gs: Mapping[Node, Node], needed: Sequence[bool]) -> Sequence[Node | None]:
        """The gradients of the call's inputs, given those of its results."""
        raise NotImplementedError("a rule says what its gradients are")


def rule_of(node: Node) -> GradientRule | None:
    """The user's gradient rule of a region, or None."""
    kept = node.params.get("serial")
    return kept if isinstance(kept, GradientRule) else None


def op(
    function: Callable[..., Any] | None = None,
    *,
    inline: bool = False,
    reference: Reference | None = None,
    gradient: Reference | Callable[..., Any] | None = None,
    aliases: Sequence[str] = (),
    **facts: Any,
) -> Any:
    """Declare an operation.

    inline: build its nodes in place, without a region (for operations of one or two primitives).
    reference: the same by numpy, for the tests. gradient: (gradients of results, results,
    *arguments) -> one gradient per node argument, used in place of the derived one. aliases: other
    names that users know it by. facts: further properties (gnomon/ops/facts.py).
    """
    said = Facts(**facts)

    def declare(function: Callable[..., Any]) -> Op:
        made = Op(function, inline, reference, gradient, said)
        for name in (function.__name__, *aliases):
            assert name not in OPS, f"two operations are called {name}"
            OPS[name] = made
        REGIONS[made.__name__] = made
        return made

    return declare if function is None else declare(function)


def view(
    function: Callable[..., Any] | None = None, reference: Reference | None = None, **said: Any
) -> Any:
    """Declare an operation whose results share its first argument's storage."""
    return op(function, inline=True, reference=reference, view=True, **said)


def operations() -> tuple[Op, ...]:
    """All operations, each once, in order of declaration."""
    return tuple(dict.fromkeys(OPS.values()))


def explained(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """A function whose failures are explained by its arguments; `name`: the user's name for it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except MISFITS as cause:
            fitting.refuse(name or function.__name__, function, args, kwargs, cause)

    return call


def internal(
    function: Callable[..., Any] | None = None,
    *,
    gradient: Callable[..., Any] | None = None,
    **facts: Any,
) -> Any:
    """Declare a region that operations use and users do not call; it has no entry in OPS."""
    said = Facts(**facts)

    def declare(function: Callable[..., Any]) -> Op:
        made = Op(function, inline=False, reference=None, gradient=gradient, facts=said)
        REGIONS[made.__name__] = made
        return made

    return declare if function is None else declare(function)


def own_gradient(name: str) -> Callable[..., Any] | None:
    """The gradient that the operation of a region declares, or None."""
    found = REGIONS.get(name)
    return None if found is None else found.gradient


def facts_of(node: Node) -> Facts:
    """The facts about a region's operation; NOTHING for other nodes."""
    found = REGIONS.get(node.params["name"]) if node.op == "region" else None
    return NOTHING if found is None else found.facts


def asks_for_chunks(node: Node) -> bool:
    """Whether a region is computed in chunks, since it has a cut."""
    chunked = facts_of(node).chunked
    return chunked is not None and dict(node.params["call"].kwargs)["cut"] is not None


@primitive("region")
class Region(Primitive):
    """One result of a named graph; results of one call share its inputs and body."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        out = params["body"].outputs[params["index"]]
        return out.shape, out.dtype

    def signature(self, node: Node) -> Signature:
        raise AssertionError("a region's sharding is its body's: inline it first")
