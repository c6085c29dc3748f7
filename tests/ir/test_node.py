"""Nodes are interned by all that matters and nothing else; graphs are keyed by structure."""

from __future__ import annotations

import gc
import weakref

import pytest

from gnomon.dtypes import float32, float64, int32
from gnomon.ir.memo import digest, typed
from gnomon.ir.node import PRIMITIVES, Arena, Graph, copy_into, topological
from gnomon.ir.operators import constant
from gnomon.ir.provenance import Site, inherit
from gnomon.ir.sizes import ShapeEnv, is_symbolic
from gnomon.ops.primitives import expand, reduce, reshape

pytestmark = pytest.mark.unit


def test_the_same_operation_is_the_same_node():
    arena = Arena()
    x, y = arena.input((2, 3), float32), arena.input((2, 3), float32)

    assert (x + y) is (x + y)
    assert (x + y) is not (y + x)
    assert x is not y


def test_a_node_has_the_shape_of_its_inputs_and_not_of_inputs_that_are_decided_to_be_equal():
    arena, sizes = Arena(), ShapeEnv()
    x, y = arena.input((sizes.symbol(5), 3), float32), arena.input((5, 3), float32)
    total = reduce("add", x, (1,))

    assert arena.with_inputs(total, (y,)).shape == (5,)
    assert not is_symbolic(arena.with_inputs(total, (y,)).shape[0])
    assert not sizes.guards


def test_constants_differ_by_their_bits_and_types():
    arena = Arena()

    assert constant(arena, 0.0, float32) is constant(arena, 0.0, float32)
    assert constant(arena, 0.0, float32) is not constant(arena, -0.0, float32)
    assert constant(arena, 1.0, float32) is not constant(arena, 1.0, float64)
    assert len({typed(1), typed(True), typed(1.0)}) == 3


def test_two_arenas_share_nothing():
    one, other = Arena(), Arena()
    x, y = one.input((2,), float32), other.input((2,), float32)

    with pytest.raises(AssertionError, match="another arena"):
        one.node("map", (x, y), f="add")


def test_programs_that_share_an_arena_lend_no_lines_to_equal_constants():
    def ones(arena, line):
        with inherit((Site("model.py", line, "f"),)):
            return expand(reshape(constant(arena, 1.0, float32), (1,)), (2,))

    own, shared = Arena(), Arena(shared=True)
    assert ones(own, 1) is ones(own, 2)
    here, there = ones(shared, 1), ones(shared, 2)
    assert here is ones(shared, 1)
    assert [[site.line for site in x.sites] for x in (here, there)] == [[1], [2]]


def test_nodes_that_nobody_holds_are_forgotten():
    arena = Arena()
    x = arena.input((2,), float32)

    forgotten = weakref.ref(x * 3.0)
    gc.collect()

    assert forgotten() is None


def test_inputs_come_before_what_needs_them_however_deep():
    arena = Arena()
    x = start = arena.input((2,), float32)
    for _ in range(5000):
        x = -x

    order = topological([x])

    assert order[0] is start
    assert order[-1] is x
    assert len(order) == 5001


def test_a_graphs_key_is_its_structure():
    def graph(size, dtype=float32, swapped=False):
        arena = Arena()
        x, y = arena.input((size,), dtype), arena.input((size,), dtype)
        return Graph((y, x) if swapped else (x, y), [x - y * 2.0])

    assert graph(3) == graph(3)
    assert len({graph(3), graph(5), graph(3, float64), graph(3, swapped=True)}) == 4


def test_a_graphs_key_counts_a_shared_node_once():
    def graph(shared):
        arena = Arena()
        x = arena.input((3,), float32)
        first = -x
        second = first if shared else arena.node("barrier", (first,))
        return Graph([x], [first + second])

    assert graph(True) != graph(False)


def test_copying_keeps_structure_and_lines():
    arena, other = Arena(), Arena()
    x = arena.input((2, 3), float32)
    y = reduce("add", reshape(x, (3, 2)), (0,))

    leaf = other.input((2, 3), float32)
    (image,) = copy_into(other, [y], {x: leaf})

    assert image.arena is other
    assert Graph([leaf], [image]) == Graph([x], [y])


def test_the_digest_tells_a_string_from_a_number():
    assert digest(("1",)) != digest((1,))
    assert digest((int32.name,)) == digest(("int32",))


def test_the_shape_of_a_rebuilt_node_is_asked_only_where_it_may_be_another(
    monkeypatch: pytest.MonkeyPatch,
):
    arena, asked = Arena(), list[str]()
    x, y, z = (arena.input(shape, float32) for shape in ((2, 3), (2, 3), (5, 3)))
    total = x + x
    kind = type(PRIMITIVES["map"])
    infer = kind.infer
    monkeypatch.setattr(kind, "infer", lambda *given: asked.append("map") or infer(*given))

    alike, other = arena.with_inputs(total, (y, x)), arena.with_inputs(total, (z, z))

    assert (alike.shape, other.shape, asked) == ((2, 3), (5, 3), ["map"])
    assert arena.with_inputs(total, (y, x)) is alike
