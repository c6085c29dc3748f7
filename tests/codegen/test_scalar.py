"""Every scalar function on every dtype, by compiled code and by the oracle, on what is hard.

The table is walked, so a function that is added is tested by being there.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
from gnomon.codegen.scalar import TEMPLATES
from gnomon.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gnomon.errors import CompileError
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import cast
from gnomon.ops.scalars import SCALARS
from tests.compiled import run
from tests.oracle.graphs import exact
from tests.strategies import same_bits

FLOATS = (float32, float64, bfloat16, float16)
INTEGERS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
ALL = (*FLOATS, *INTEGERS, bool_)
SPECIAL = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-8),
    *(1e-40, -1e-42, 5e-324, 1e-6, 6e4, 7e4, 3e38, -3e38, 1e300, 89.0, -104.0, 255.5, 65504.0),
)


def family(dtype: DType) -> str:
    """The row of TEMPLATES that a dtype belongs to."""
    return "bool" if dtype is bool_ else "float" if dtype.is_floating_point else dtype.kind


def spelled(name: str, dtype: DType) -> bool:
    """Whether generated code has a function on a dtype."""
    return name in TEMPLATES[family(dtype)] or (dtype.is_floating_point and name in FUNCTIONS)


CASES = [
    (name, dtype)
    for name, scalar in SCALARS.items()
    for dtype in ALL
    if spelled(name, dtype) and scalar.result != "cast"
]


def operands(dtype: DType, arity: int, rng: np.random.Generator) -> list[np.ndarray]:
    """All pairs of hard numbers, and random ones."""
    if dtype is bool_:
        hard = np.array([False, True])
    elif dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        near = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 3, 7, 63, 64]
        kept = [n for n in (*near, -1, -2, -7) if limits.min <= n <= limits.max]
        hard = np.array(kept, dtype.numpy)
    else:
        hard = np.concatenate([SPECIAL, rng.normal(size=20) * 3])
    with np.errstate(over="ignore"):
        hard = hard.astype(dtype.numpy)
    return [x.reshape(-1).copy() for x in np.meshgrid(*[hard] * arity)]


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda x: getattr(x, "name", x))
def test_every_function_has_the_bits_of_the_oracle(
    name: str, dtype: DType, rng: np.random.Generator
):
    arrays = operands(dtype, SCALARS[name].arity, rng)
    arena = Arena()
    leaves = [arena.input(x.shape, dtype) for x in arrays]
    graph = Graph(leaves, [arena.node("map", tuple(leaves), f=name)])

    (found,), (expected,) = run(graph, arrays), exact(graph, arrays)

    assert same_bits(found, expected)


@pytest.mark.parametrize("result", ALL, ids=lambda x: x.name)
@pytest.mark.parametrize("given", ALL, ids=lambda x: x.name)
def test_every_cast_has_the_bits_of_the_oracle(
    given: DType, result: DType, rng: np.random.Generator
):
    arrays = operands(given, 1, rng)
    leaf = Arena().input(arrays[0].shape, given)
    graph = Graph([leaf], [cast(leaf, result)])

    (found,), (expected,) = run(graph, arrays), exact(graph, arrays)

    assert same_bits(found, expected)


@pytest.mark.parametrize(
    ("given", "result"), [(float32, int32), (int64, float64), (float32, uint32)]
)
def test_bitcast_keeps_the_bits(given: DType, result: DType, rng: np.random.Generator):
    arrays = operands(given, 1, rng)
    leaf = Arena().input(arrays[0].shape, given)
    graph = Graph([leaf], [leaf.arena.node("map", (leaf,), f="bitcast", dtype=result)])

    (found,) = run(graph, arrays)

    assert found.tobytes() == arrays[0].tobytes()


@pytest.mark.parametrize("dtype", ALL, ids=lambda x: x.name)
def test_where_chooses(dtype: DType, rng: np.random.Generator):
    a, b = operands(dtype, 2, rng)
    arena = Arena()
    leaves = [arena.input(a.shape, bool_), arena.input(a.shape, dtype), arena.input(a.shape, dtype)]
    graph = Graph(leaves, [arena.node("map", tuple(leaves), f="where")])
    arrays = [rng.random(a.shape) < 0.5, a, b]

    assert same_bits(run(graph, arrays)[0], exact(graph, arrays)[0])


def test_bfloat16_is_rounded_to_the_nearest_even_and_keeps_denormals():
    words = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x00018000, 0x7F7FFFFF], np.uint32)
    leaf = Arena().input((5,), float32)
    graph = Graph([leaf], [cast(leaf, bfloat16)])

    (found,) = run(graph, [words.view(np.float32)])

    assert found.view(np.uint16).tolist() == [0x3F80, 0x3F82, 0x3F81, 0x0002, 0x7F80]


def test_a_function_without_a_spelling_is_named():
    leaf = Arena().input((3,), float32)
    graph = Graph([leaf], [leaf.arena.node("map", (leaf, leaf), f="xor")])

    with pytest.raises(CompileError, match=r"no spelling for 'xor' on float32"):
        run(graph, [np.ones(3, np.float32)])
