"""Regions of any operation in chunks: it says its own; partial sums join as their tree says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.chunks import Chunk, ChunkBuilder, PartialSums, ValuePart
from gnomon.ops.primitives import reduce
from gnomon.ops.registry import REGIONS, asks_for_chunks, internal
from tests.compiled import execute, program

ROWS, WIDTH = 6, 5


def pairs_of_rows(node: Node, results: Sequence[Node | None]) -> Iterator[Chunk]:
    """Sums and products of rows, two at a time."""
    (x,), held = node.inputs, node.arena.input((2, WIDTH), float32, "chunks")
    for row in range(0, ROWS, 2):
        piece = ChunkBuilder()
        rows = piece.take(x, (2, WIDTH), row * WIDTH)
        yield piece.chunk((rows * rows, ValuePart(held)))
        piece = ChunkBuilder()
        squares = piece.take(held, (2, WIDTH))
        found = [reduce(f, squares, (1,)) for f in ("add", "mul")]
        asked = zip(found, results, strict=True)
        yield piece.chunk(*((y, ValuePart(at, row)) for y, at in asked if at is not None))


@pytest.fixture
def squares(monkeypatch):
    """An operation of this test alone."""

    @internal(chunked=pairs_of_rows)
    def squares_of_a_test(x: Node, *, cut: int | None) -> tuple[Node, ...]:
        return tuple(reduce(f, x * x, (1,)) for f in ("add", "mul"))

    monkeypatch.delitem(REGIONS, "squares_of_a_test")
    monkeypatch.setitem(REGIONS, "squares_of_a_test", squares_of_a_test)
    return squares_of_a_test


@pytest.mark.parametrize("wanted", [slice(0, 2), slice(0, 1), slice(1, 2)], ids=str)
def test_an_operation_says_its_own_chunks(squares, wanted, rng: np.random.Generator):
    x = Arena().input((ROWS, WIDTH), float32)
    cut, whole = (Graph([x], list(squares(x, cut=c))[wanted]) for c in (2, None))
    array = rng.standard_normal((ROWS, WIDTH)).astype(np.float32)

    made = program(cut)

    assert [y.tobytes() for y in execute(made, cut, [array])] == [
        y.tobytes() for y in execute(program(whole), whole, [array])
    ]
    assert len(made.kernels) == 6
    assert len({k.code.symbol for k in made.kernels}) == 2


def test_only_a_cut_asks_for_chunks(squares):
    x = Arena().input((ROWS, WIDTH), float32)

    assert [asks_for_chunks(squares(x, cut=c)[0]) for c in (2, None)] == [True, False]


def test_partial_sums_join_as_a_tree():
    arena = Arena()
    result = arena.input((24,), float32)
    sums = PartialSums(8, 12, lambda size: arena.input((size,), float32))
    held: dict[tuple[Node, int], object] = {}

    for start in (0, 12):
        for number in range(8):
            piece = ChunkBuilder()
            part = piece.take(arena.input((4,), float32), (4,))
            chunk = sums.chunk(piece, number, part, ValuePart(result, start + 4))
            tree: object = number
            for place in chunk.inputs[1:]:
                tree = held[place.node, place.start], tree
            (place,) = chunk.outputs
            held[place.node, place.start] = tree

    tree = (((0, 1), (2, 3)), ((4, 5), (6, 7)))
    assert [held[result, start] for start in (4, 16)] == [tree, tree]
    assert len(sums.spaces) == 2
