"""Products of float32 whose operands were widened from 16 bits read those, with the same bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gnomon.dtypes import DType, bfloat16, float16, float32
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.primitives import contract
from gnomon.ops.view_primitives import permute
from tests.compiled import execute, program

NARROW = (bfloat16, float16)
KINDS = [pair for pair in itertools.product((float32, *NARROW), repeat=2) if {*pair} & {*NARROW}]
SIZES = [(5, 7, 9), (64, 48, 130), (40, 600, 33), (1, 64, 80), (300, 256, 20)]


def product(
    sizes: tuple[int, int, int],
    kinds: tuple[DType, DType],
    turned: tuple[bool, bool] = (False, False),
    more: bool = False,
) -> Graph:
    """A product of two operands as they are stored, each widened, perhaps transposed."""
    rows, steps, columns = sizes
    arena, operands, leaves = Arena(), [], []
    for shape, kind, turn in zip(((rows, steps), (steps, columns)), kinds, turned, strict=True):
        leaves.append(arena.input(shape[::-1] if turn else shape, kind))
        wide = cast(leaves[-1], float32)
        operands.append(permute(wide, (1, 0)) if turn else wide)
    made = contract("ab,bc->ac", *operands)
    return Graph(leaves, [elementwise("tanh", made) if more else made])


def arrays_of(graph: Graph, rng: np.random.Generator) -> list[np.ndarray]:
    """Random values of the inputs."""
    return [rng.standard_normal(x.shape).astype(x.dtype.numpy) for x in graph.inputs]


@pytest.mark.share(2)
@pytest.mark.parametrize("kinds", KINDS, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_bits_are_those_of_operands_that_were_widened_before(sizes, kinds, rng):
    for *turned, more in itertools.product((False, True), repeat=3):
        graph = product(sizes, kinds, tuple(turned), more)
        arrays = arrays_of(graph, rng)
        whole = product(sizes, (float32, float32), tuple(turned), more)

        (found,) = execute(program(graph), graph, arrays)
        (wanted,) = execute(program(whole), whole, [x.astype(np.float32) for x in arrays])

        assert found.tobytes() == wanted.tobytes(), (turned, more)


@pytest.mark.parametrize("kinds", KINDS, ids=str)
def test_no_widened_copy_is_stored(kinds):
    graph = product((64, 48, 130), kinds)
    made = program(graph)

    assert [k.name for k in made.kernels] == ["contract"]
    assert not made.memory.total


def test_a_widened_operand_that_lies_otherwise_is_still_right(rng):
    arena = Arena()
    x, y = arena.input((3, 40, 5), bfloat16), arena.input((40, 7), float32)
    wide = cast(permute(x, (0, 2, 1)), float32)
    graph = Graph([x, y], [contract("abc,ce->abe", wide, y)])
    a, b = arrays_of(graph, rng)

    (found,) = execute(program(graph), graph, [a, b])

    np.testing.assert_allclose(
        found, a.astype(np.float32).transpose(0, 2, 1) @ b, rtol=1e-5, atol=1e-5
    )
