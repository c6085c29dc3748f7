"""Products that compute a factor: the bits of the same program without, in every raggedness."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import bfloat16, float32
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.primitives import contract, reduce, reshape, unsqueeze
from gnomon.ops.scalars import rsqrt, where
from gnomon.settings import override
from tests.codegen.test_epilogue import compiled, normal
from tests.compiled import threads
from tests.graphs import built
from tests.oracle.graphs import exact
from tests.processors import every

pytestmark = pytest.mark.unit


def product(x: Node, w: Node) -> Node:
    """Rows of x times columns of w."""
    return contract("ab,bc->ac", x, w)


CASES = {
    "scale and shift": (
        lambda x, s, b, w: product(x * s + b, w),
        (37, 20),
        (20,),
        (37, 1),
        (20, 33),
    ),
    "a cast": (
        lambda x, w: contract("ab,cb->ac", cast(cast(x, bfloat16), float32), w),
        (50, 41),
        (19, 41),
    ),
    "a mask": (
        lambda x, m, w: product(where(elementwise("gt", m, 0.0), x, 0.0) * 1.25, w),
        (70, 65),
        (70, 65),
        (65, 17),
    ),
    "a norm": (
        lambda x, g, w: product(x * rsqrt(unsqueeze(reduce("add", x * x, (1,)), 1)) * g, w),
        (40, 64),
        (64,),
        (64, 21),
    ),
    "rows of two axes": (
        lambda x, b, w: contract("bti,oi->bto", x + b, w),
        (5, 7, 33),
        (7, 33),
        (20, 33),
    ),
    "steps of two axes": (
        lambda x, b, w: contract("abc,bcd->ad", x + b, w),
        (30, 4, 6),
        (4, 6),
        (4, 6, 19),
    ),
    "blocks of steps": (lambda x, b, w: product(x + b, w), (20, 1100), (1100,), (1100, 18)),
    "an epilogue that reads what the factor is made of": (
        lambda x, b, w: product(x + b, w) + x,
        (40, 33),
        (33,),
        (33, 33),
    ),
    "an epilogue with another shape": (
        lambda x, b, w, z: reshape(product(x + b, w), (8, 5, 20)) * z,
        (40, 33),
        (33,),
        (33, 20),
        (8, 5, 20),
    ),
}


def case(name: str) -> tuple[list[Node], list[Node], list[np.ndarray]]:
    """A case's results, leaves and inputs, some of which are no numbers."""
    f, *shapes = CASES[name]
    arrays = [normal(*shape) for shape in shapes]
    arrays[0].flat[3], arrays[0].flat[11] = np.nan, np.inf
    roots, leaves = built(f, *arrays)
    return (list(roots) if isinstance(roots, list | tuple) else [roots]), leaves, arrays


def kernels_of_two(program) -> int:
    """How many products compute a factor."""
    told = program.explain_fusions().splitlines()
    return sum(" of " in line and "done" in line for line in told if "apart" in line)


@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_the_oracle_and_of_separate_kernels(name: str):
    roots, leaves, arrays = case(name)

    program, together = compiled(roots, leaves, arrays)
    with override(without="epilogues,prologues"):
        separate, apart = compiled(roots, leaves, arrays)

    assert kernels_of_two(program) == 1
    assert len(program.kernels) < len(separate.kernels) or name == "a norm"
    assert kernels_of_two(separate) == 0
    assert together == apart
    assert together == [x.tobytes() for x in exact(Graph(leaves, roots), arrays)]


@pytest.mark.parametrize("count", [1, 3])
def test_bits_do_not_depend_on_threads(count: int):
    roots, leaves, arrays = case("blocks of steps")
    _, expected = compiled(roots, leaves, arrays)
    with threads(count):
        assert compiled(roots, leaves, arrays)[1] == expected


def test_results_never_lie_over_what_the_factor_is_made_of():
    roots, leaves, arrays = case("an epilogue that reads what the factor is made of")
    program, _ = compiled(roots, leaves, arrays)

    (kernel,) = program.kernels

    assert kernel.over == ()


def test_few_rows_and_many_columns_are_refused_with_a_reason():
    arrays = [normal(20, 33), normal(33), normal(33, 100)]
    roots, leaves = built(lambda x, b, w: [product(x + b, w)], *arrays)

    program, _ = compiled(list(roots), leaves, arrays)

    assert "threads that share columns" in program.explain_fusions()
    assert len(program.kernels) == 2


@every
def test_one_code_serves_several_sizes():
    symbols = set()
    for rows, steps, columns in ((50, 33, 20), (70, 65, 37), (96, 48, 48)):
        arrays = [normal(rows, steps), normal(steps), normal(steps, columns)]
        roots, leaves = built(lambda x, b, w: [product(x + b, w)], *arrays)
        program, made = compiled(list(roots), leaves, arrays)
        assert made == [x.tobytes() for x in exact(Graph(leaves, list(roots)), arrays)]
        symbols.add(program.kernels[0].code.symbol)

    assert len(symbols) == 1
