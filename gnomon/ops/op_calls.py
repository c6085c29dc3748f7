"""Calls of operations: their arguments as keys, with the nodes among them taken out.

Also calls that are repeated for other nodes, as a recipe of what they made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from gnomon.dtypes import DType, default_float
from gnomon.ir.memo import Keyed, Recent, memo, typed
from gnomon.ir.node import Arena, Node, topological
from gnomon.ir.operators import constant

TUPLES: tuple[type, ...] = (tuple,)
LISTS: tuple[type, ...] = (*TUPLES, list)
"""Types whose elements are looked into; what these are is not known."""
PLAIN = frozenset({int, bool, str, DType, type(None)})


class Leaf(NamedTuple):
    """Stands for the k-th node among a call's arguments."""

    number: int


class OpCall(Keyed):
    """An operation's arguments, nodes replaced by leaves: what a region remembers of its call."""

    __slots__ = ("_hash", "args", "key", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: tuple[Any, ...]) -> None:
        self.args, self.kwargs = args, kwargs
        self.key = ("call", typed(args), typed(kwargs))
        self._hash = hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, OpCall) and self.key == other.key)

    def __repr__(self) -> str:
        return f"OpCall({self.args}, {self.kwargs})"


def plain_call(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...] | None, list[Node]]:
    """A call's key and the nodes among its arguments; no key where others than plain values are.

    Nodes among keywords stand in another order where the operation is traced.
    """
    nodes: list[Node] = []
    key: list[Any] = [default_float(), len(args), *kwargs]
    if not add_to_key(args, key, nodes):
        return None, nodes
    count = len(nodes)
    if kwargs and not (add_to_key(kwargs.values(), key, nodes) and len(nodes) == count):
        return None, nodes
    return tuple(key), nodes


def add_to_key(values: Iterable[Any], key: list[Any], nodes: list[Node]) -> bool:
    """Add values to a key, with their types, and the nodes among them; False if one has no key."""
    for value in values:
        kind = value.__class__
        if kind is Node:
            nodes.append(value)
            key.append(value.shape)
            key.append(value.dtype)
        elif kind in PLAIN:
            key.append((kind, value))
        elif kind is float:
            key.append((kind, value.hex()))
        elif kind in LISTS:
            key.append(len(value))
            if not add_to_key(value, key, nodes):
                return False
        else:
            return False
    return True


def stripped(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[OpCall, list[Node]]:
    """A call's arguments, and the nodes among them."""
    nodes: list[Node] = []
    positional = strip(args, nodes)
    return OpCall(positional, tuple([(k, strip(kwargs[k], nodes)) for k in sorted(kwargs)])), nodes


def strip(value: Any, nodes: list[Node]) -> Any:
    """An argument with its nodes taken out into the list."""
    if isinstance(value, Node):
        nodes.append(value)
        return Leaf(len(nodes) - 1)
    if isinstance(value, LISTS) and not isinstance(value, Leaf):
        return tuple([strip(v, nodes) for v in value])
    return value


def fill(value: Any, nodes: Sequence[Node]) -> Any:
    """An argument with its nodes put back."""
    if isinstance(value, Leaf):
        return nodes[value.number]
    if isinstance(value, TUPLES):
        return tuple(fill(v, nodes) for v in value)
    return value


_recipes: Recent[tuple[Any, ...], Any] = memo(Recent())
"""For functions and kinds of operands: operands, what was made of them in order, and results."""


def repeated(
    key: tuple[Any, ...],
    given: Sequence[Node],
    function: Callable[..., Sequence[Node | None]],
    last: Node | None = None,
) -> Sequence[Any]:
    """The results of a function, which is called once for operands of such kinds.

    key: what it depends on beside these. last: the last operand, made of all but it and the one
    before, where the function looks at how it was made.
    """
    arena = given[0].arena
    if not arena.shared or "const" in [x.op for x in given]:  # which is folded where it is read
        return function(*given)
    key = (*key, *[x.dtype for x in given], *[x.shape for x in given])
    recipe = _recipes.get(key)
    if recipe is None:
        scratch = Arena()
        operands = [scratch.input(x.shape, x.dtype) for x in given]
        if last is not None:
            operands[-1] = scratch.with_inputs(last, tuple(operands[:-2]))
        results = function(*operands)
        order = topological([x for x in results if x is not None], operands)
        recipe = _recipes[key] = operands, sorted(order, key=attrgetter("serial")), results
    operands, order, results = recipe
    known: dict[Node | None, Any] = {None: None, **dict(zip(operands, given, strict=True))}
    for x in order:
        of = tuple([known[y] for y in x.inputs])
        known[x] = arena.repeat(x, of) if of else constant(arena, x.params["value"], x.dtype)
    return [known[x] for x in results]
