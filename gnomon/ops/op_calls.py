"""Calls of operations as keys, with the nodes among their arguments replaced.

Also calls that are repeated for other nodes, as a recipe of the nodes they created.
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
"""Types of arguments whose elements may be nodes."""
PLAIN = frozenset({int, bool, str, DType, type(None)})


class Leaf(NamedTuple):
    """A reference to the k-th node among a call's arguments."""

    number: int


class OpCall(Keyed):
    """The arguments of a call with nodes replaced by leaves, as a region stores them."""

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
    """A key of a call, and the nodes among its arguments; None for calls of unusual values.

    Nodes among keywords may come in another order when the operation is traced.
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
    """Append values and their types to a key, and nodes to a list; False if a value has no key."""
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


def strip_nodes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[OpCall, list[Node]]:
    """The arguments of a call without nodes, and these nodes."""
    nodes: list[Node] = []
    positional = strip(args, nodes)
    return OpCall(positional, tuple([(k, strip(kwargs[k], nodes)) for k in sorted(kwargs)])), nodes


def strip(value: Any, nodes: list[Node]) -> Any:
    """An argument with nodes replaced by leaves; the nodes are appended to the list."""
    if isinstance(value, Node):
        nodes.append(value)
        return Leaf(len(nodes) - 1)
    if isinstance(value, LISTS) and not isinstance(value, Leaf):
        return tuple([strip(v, nodes) for v in value])
    return value


def fill(value: Any, nodes: Sequence[Node]) -> Any:
    """An argument with leaves replaced by nodes."""
    if isinstance(value, Leaf):
        return nodes[value.number]
    if isinstance(value, TUPLES):
        return tuple(fill(v, nodes) for v in value)
    return value


_recipes: Recent[tuple[Any, ...], Any] = memo(Recent())
"""Cache of recipes by function and kinds of operands: operands, nodes made of them, results."""


def repeated(
    key: tuple[Any, ...],
    given: Sequence[Node],
    function: Callable[..., Sequence[Node | None]],
    last: Node | None = None,
) -> Sequence[Any]:
    """The results of a function, which is called once per kinds of operands and then repeated.

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
