"""What has no elements is computed by nobody, and what reads it is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.dtypes import bool_, float32, int32, int64
from gnomon.errors import IndexOutOfBounds
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast
from gnomon.ir.verify import verify
from gnomon.ops.control_primitives import call
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad
from gnomon.passes.empty import empty, touches_nothing
from tests.compiled import run
from tests.strategies import same_bits

MONOIDS = ("add", "mul", "max", "min")


def iota(x: Node, n: int) -> Node:
    """0, 1, 2, ..."""
    return x.arena.node("iota", (), size=n, dtype=int64)


def iterations(x: Node) -> Node:
    """The value that a loop over the rows of x carries."""
    arena = Arena()
    total, row = arena.input((x.shape[1],), float32), arena.input((x.shape[1],), float32)
    start = reduce("max", pad(x, (1, 0), (0, 0), 2.0), (0,))
    given = {"carried": 1, "sliced": 1, "length": x.shape[0], "reverse": False}
    return call("scan_over", (start, x), body=Graph([total, row], [total + row]), **given)[0]


OF_NOTHING: dict[str, tuple[tuple[int, ...], Callable[[Node], Node]]] = {
    **{f"{m} of lanes": ((3, 0), lambda x, m=m: reduce(m, x, (1,))) for m in MONOIDS},
    **{f"{m} of a chain": ((0, 3), lambda x, m=m: reduce(m, x, (0,))) for m in MONOIDS},
    "greatest integer": ((3, 0), lambda x: reduce("max", cast(x, int32), (1,))),
    "any": ((3, 0), lambda x: reduce("or", cast(x, bool_), (1,))),
    "all": ((3, 0), lambda x: reduce("and", cast(x, bool_), (1,))),
    "several axes": ((2, 0, 3), lambda x: reduce("add", x * x, (0, 1))),
    "product": ((3, 0), lambda x: contract("ai,bi->ab", x, x)),
    "frame": ((0, 3), lambda x: pad(x * 2.0, (1, 1), (1, 0), 0.5)),
    "lookup of no rows": ((0, 3), lambda x: gather("ad,z->zd", x, iota(x, 0))),
    **{
        f"scatter of {m}": ((0, 3), lambda x, m=m: scatter(m, "nd,n->vd", x, iota(x, 0), 4))
        for m in MONOIDS
    },
    "order": ((0, 3), lambda x: reduce("add", cast(sort_positions(x, 0), float32), (0,))),
    "running sum": ((3, 0), lambda x: reduce("add", scan("add", x, 1), (1,))),
    "running place": ((3, 0), lambda x: reduce("max", scan("argmax", x, 1), (1,))),
    "no iteration": ((0, 3), iterations),
}


def graph_of(name: str) -> Graph:
    """A program over an input without elements; what it gives is read, and is a result."""
    shape, function = OF_NOTHING[name]
    x = Arena().input(shape, float32)
    y = function(x)
    return Graph([x], [y, cast(y, float32) * 2.0 + 1.0, x * 2.0])


@pytest.mark.parametrize("name", OF_NOTHING)
def test_what_is_made_of_nothing_is_known(name: str):
    graph = graph_of(name)
    nothing = np.zeros(graph.inputs[0].shape, np.float32)

    known = empty(graph)

    verify("empty", graph, known)
    assert known.inputs[0] not in known.nodes
    assert not [x for x in known if x.size and touches_nothing(x)]
    for right, *others in zip(
        *(interpret_graph(graph, [nothing]), interpret_graph(known, [nothing])),
        run(graph, [nothing]),
        strict=True,
    ):
        assert all(same_bits(x, right) for x in others)


def test_a_graph_that_has_elements_everywhere_is_left_alone():
    x = Arena().input((2, 3), float32)
    graph = Graph([x], [reduce("add", x, (0,))])

    assert empty(graph) is graph


def test_a_lookup_where_there_is_nothing_is_reported():
    x = Arena().input((0, 3), float32)
    index = x.arena.input((2,), int64)
    graph = Graph([x, index], [gather("ad,z->zd", x, index)])
    arrays = [np.zeros((0, 3), np.float32), np.zeros(2, np.int64)]

    with pytest.raises(IndexOutOfBounds, match="a position is outside its axis"):
        run(graph, arrays)


def test_a_choice_takes_and_gives_values_without_elements():
    x, pred = (a := Arena()).input((0, 3), float32), a.input((), bool_)
    branches = []
    for factor in (2.0, 3.0):
        leaf = Arena().input((0, 3), float32)
        branches.append(Graph([leaf], [leaf * factor, reduce("add", leaf, (0,)) + factor]))
    made = call("cond", (pred, x), then=branches[0], other=branches[1])
    graph = Graph([x, pred], [*made, made[1] * 2.0])

    for taken, right in ((True, 2.0), (False, 3.0)):
        found = run(graph, [np.zeros((0, 3), np.float32), np.array(taken)])

        assert found[0].shape == (0, 3)
        np.testing.assert_array_equal(found[1], [right] * 3)
        np.testing.assert_array_equal(found[2], [2 * right] * 3)
