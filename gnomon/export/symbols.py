"""Dynamic sizes in a recorded graph: find the numbers that depend on them from four recordings.

A number that differs between recordings is expressed by a size, by a multiple of one plus a
constant, or by a product or sum of two; any other dependence is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Container, Iterator, Sequence
from itertools import combinations, combinations_with_replacement
from random import Random
from typing import Any, NamedTuple

import numpy as np

from gnomon.errors import TraceError
from gnomon.export.captured import DynamicSize
from gnomon.export.recording import RecordedGraph
from gnomon.fx.graph import as_text
from gnomon.fx.node import Node, map_aggregate
from gnomon.tensor.tensor import array_of

__all__ = ["Expression", "expression_of", "general_rows", "with_symbols"]

RECORDINGS = 4
TRIES = 1000
"""The number of random tries to find sizes in general position."""


class Expression(NamedTuple):
    """A number: factor · (the product, or the sum, of sizes) + offset."""

    sizes: tuple[int, ...]
    factor: int
    offset: int
    is_sum: bool = False


def general_rows(
    pools: Sequence[Sequence[int]], taken: Container[int], count: int = RECORDINGS
) -> list[tuple[int, ...]] | None:
    """Choose sizes for each recording, such that no expression of them equals another; or None.

    >>> general_rows([range(4, 16)], ())
    [(10,), (15,), (4,), (8,)]
    """
    draw = Random(0)
    pools = [[n for n in pool if n not in taken] for pool in pools]
    for _ in range(TRIES if all(len(pool) >= count for pool in pools) else 0):
        columns = [draw.sample(pool, count) for pool in pools]
        rows = [*zip(*columns, strict=True)]
        if all(len(set(row)) == len(row) for row in rows) and is_general(columns):
            return rows
    return None


def is_general(columns: Sequence[Sequence[int]]) -> bool:
    """Whether no size, product or sum of two sizes is a linear function of another.

    Each size must be even in one recording and odd in another.
    """
    if any(len({n % 2 for n in column}) == 1 for column in columns):
        return False
    pairs = [*combinations_with_replacement(columns, 2)]
    made = [list(map(operator.mul, *pair)) for pair in pairs]
    made += [list(map(operator.add, *pair)) for pair in combinations(columns, 2)]
    every = [np.array(x) - x[0] for x in (*columns, *made)]
    return all(np.any(np.outer(x, y) != np.outer(y, x)) for x, y in combinations(every, 2))


def expression_of(numbers: Sequence[int], sizes: Sequence[Sequence[int]]) -> Expression | None:
    """The expression of sizes that gives a number in all recordings, or None.

    >>> expression_of([14, 20, 26], [(3, 5), (5, 7), (7, 11)])
    Expression(sizes=(0,), factor=3, offset=5, is_sum=False)
    >>> expression_of([15, 35, 77], [(3, 5), (5, 7), (7, 11)])
    Expression(sizes=(0, 1), factor=1, offset=0, is_sum=False)
    """
    for found in candidates(numbers, sizes):
        if [value_of(found, row) for row in sizes] == list(numbers):
            return found
    return None


def candidates(numbers: Sequence[int], sizes: Sequence[Sequence[int]]) -> Iterator[Expression]:
    """Yield expressions that fit the first two recordings."""
    places = range(len(sizes[0]))
    yield from (Expression((k,), 1, 0) for k in places)
    for k in places:
        step = sizes[1][k] - sizes[0][k]
        factor = (numbers[1] - numbers[0]) // step if step else 0
        yield Expression((k,), factor, numbers[0] - factor * sizes[0][k])
    for pair in combinations_with_replacement(places, 2):
        product = sizes[0][pair[0]] * sizes[0][pair[1]]
        yield Expression(pair, numbers[0] // product, 0)
        yield Expression(pair, 1, numbers[0] - sizes[0][pair[0]] - sizes[0][pair[1]], True)


def value_of(found: Expression, sizes: Sequence[int]) -> int:
    """The value of an expression at given sizes."""
    parts = [sizes[k] for k in found.sizes]
    whole = sum(parts) if found.is_sum else int(np.prod(parts))
    return found.factor * whole + found.offset


def with_symbols(
    records: Sequence[RecordedGraph],
    sizes: Sequence[DynamicSize],
    rows: Sequence[Sequence[int]],
    name: str,
) -> RecordedGraph:
    """The first recording, with numbers that depend on sizes replaced by expressions.

    rows: the sizes of each recording; name: the module's, for messages.
    """
    graphs = [[*record.graph.nodes] for record in records]
    if len({tuple((x.op, as_text(x.target)) for x in nodes) for nodes in graphs}) > 1:
        raise refused(name, sizes, "calls other functions")
    check_constants(records, sizes, name)
    writer = SizeWriter(records[0], sizes)
    for same in zip(*graphs, strict=True):
        places = [argument_leaves((x.args, x.kwargs)) for x in same]
        if len(set(map(len, places))) > 1:
            raise refused(name, sizes, f"gives {same[0]} other arguments", same[0])
        changed: list[Any] = []
        for values in zip(*places, strict=True):
            if isinstance(values[0], Node) or all(are_equal(v, values[0]) for v in values[1:]):
                changed.append(values[0])
                continue
            whole = all(type(v) is int for v in values)
            found = expression_of(values, rows) if whole else None
            if found is None:
                raise refused(
                    name, sizes, f"gives {same[0]} {values[0]!r} or {values[1]!r}", same[0]
                )
            changed.append(writer.node(found))
        fill_arguments(same[0], changed)
    return records[0]


def are_equal(value: Any, other: Any) -> bool:
    """Whether two arguments are equal; tensors and arrays are equal only to themselves."""
    return value is other or (type(value) is type(other) and (value == other) is True)


def fill_arguments(node: Node, leaves: Sequence[Any]) -> None:
    """Replace all leaves of a node's arguments, in order."""
    filled = iter(leaves)
    node.args, node.kwargs = map_aggregate((node.args, node.kwargs), lambda _: next(filled))


def argument_leaves(value: Any) -> list[Any]:
    """The leaves of nested arguments."""
    found: list[Any] = []
    map_aggregate(value, found.append)
    return found


def check_constants(
    records: Sequence[RecordedGraph], sizes: Sequence[DynamicSize], name: str
) -> None:
    """Raise TraceError if a constant differs between recordings."""
    for key, tensor in records[0].constants.items():
        for other in records[1:]:
            found = other.constants[key]
            if tuple(found.shape) != tuple(tensor.shape) or not np.array_equal(
                array_of(found), array_of(tensor), equal_nan=tensor.dtype.is_floating_point
            ):
                raise refused(name, sizes, f"makes a tensor ({key}) of sizes alone")


def refused(
    name: str, sizes: Sequence[DynamicSize], why: str, node: Node | None = None
) -> TraceError:
    """The TraceError of a module whose graph depends on its sizes."""
    names = ", ".join(x.name for x in sizes)
    line = "" if node is None else f"   [{node.meta.get('site', '')}]"
    return TraceError(
        f"export: {name} {why} when {names} is another size. Export it for fixed sizes, or compute "
        f"it from the tensor's own sizes.{line}"
    )


class SizeWriter:
    """Writes nodes of sizes and expressions after the placeholders of a graph."""

    def __init__(self, record: RecordedGraph, sizes: Sequence[DynamicSize]) -> None:
        self.graph, self.sizes = record.graph, sizes
        self.leaves = [x for x in record.leaves if "tensor_meta" in x.meta]
        nodes = [*record.graph.nodes]
        self.before = next(x for x in nodes if x.op != "placeholder")
        self.made: dict[Any, Node] = {}

    def node(self, found: Expression) -> Node:
        """The node of an expression, which is added if it is new."""
        if found not in self.made:
            with self.graph.inserting_before(self.before):
                parts = [self.size(k) for k in found.sizes]
                join = operator.add if found.is_sum else operator.mul
                whole = parts[0] if len(parts) == 1 else self.graph.call_function(join, (*parts,))
                if found.factor != 1:
                    whole = self.graph.call_function(operator.mul, (whole, found.factor))
                if found.offset:
                    whole = self.graph.call_function(operator.add, (whole, found.offset))
                self.made[found] = whole
        return self.made[found]

    def size(self, k: int) -> Node:
        """The node of a size, which is added if it is new."""
        if k not in self.made:
            number, axis = self.sizes[k].places[0]
            node = self.graph.call_method("size", (self.leaves[number], axis))
            self.made[k] = node
        return self.made[k]
