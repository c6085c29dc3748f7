"""Products as calls: operands read through their views, and what each spec says.

Scans, sorts and scatters as calls are tested with their kernels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.codegen.calls import KERNELS, along, attention_spec, row_major
from gnomon.codegen.products import mirrored, product_of
from gnomon.dtypes import DType, bfloat16, float32, float64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast
from gnomon.ops.attention import attention, attention_forward
from gnomon.ops.facts import nothing
from gnomon.ops.primitives import contract, expand, flip, reshape, unsqueeze
from gnomon.ops.registry import REGIONS
from gnomon.ops.view_primitives import permute, slice_, window
from gnomon.schedule.nested import factors
from tests import claimed
from tests.compiled import program, run
from tests.gradients import gradients
from tests.oracle.graphs import exact
from tests.strategies import same_bits

EVERY = ((0, 3, 1), (0, 5, 1), (0, 8, 1))
STEPS = ((0, 3, 1), (4, -1, -2), (0, 8, 2))
HALF = ((0, 3, 1), (4, 8, 1), (0, 7, 1))


def turned(x: Node) -> Node:
    """Its last two axes exchanged, as a view."""
    return permute(x, (0, 2, 1))


def heads(x: Node) -> Node:
    """Two heads of four, as a view."""
    return permute(reshape(x, (3, 5, 2, 4)), (0, 2, 1, 3))


PRODUCTS: dict[str, Callable[[Node, Node], Node]] = {
    "plain": lambda a, b: contract("bti,bio->bto", a, b),
    "both turned": lambda a, b: contract("bit,boi->bto", turned(a), turned(b)),
    "columns first": lambda a, b: contract("bti,bio->bot", a, b),
    "batch innermost": lambda a, b: contract("bti,bio->tob", a, b),
    "rows and batch summed": lambda a, b: contract("bti,btz->iz", a, slice_(a, EVERY)),
    "nothing summed": lambda a, b: contract("bti,bzo->btizo", a, slice_(b, HALF)),
    "everything summed": lambda a, b: contract("bti,bti->", a, a * 2.0),
    "repeated": lambda a, b: contract("kbti,bio->kbto", expand(unsqueeze(a, 0), (2, 3, 5, 8)), b),
    "flipped": lambda a, b: contract("bti,bio->bto", flip(a, 2), b),
    "strided": lambda a, b: contract("bti,bio->bto", slice_(a, STEPS), slice_(b, HALF)),
    "windows": lambda a, b: contract("btik,biz->btkz", window(a, 1, 3), b),
    "heads": lambda a, b: contract("bhtd,bhsd->bhts", heads(a), heads(a * 2.0)),
}


@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda x: x.name)
@pytest.mark.parametrize("name", PRODUCTS)
def test_operands_are_read_through_their_views(name: str, dtype: DType, rng: np.random.Generator):
    arena = Arena()
    leaves = [arena.input((3, 5, 8), dtype), arena.input((3, 8, 7), dtype)]
    graph = Graph(leaves, [PRODUCTS[name](*leaves)])
    arrays = [rng.normal(size=x.shape).astype(dtype.numpy) for x in leaves]

    (found,), (expected,) = run(graph, arrays), exact(graph, arrays)

    assert same_bits(found, expected)


@pytest.mark.parametrize("name", ["both turned", "flipped", "repeated", "heads"])
def test_a_view_of_an_input_is_not_copied(name: str):
    arena = Arena()
    leaves = [arena.input((3, 5, 8), float32), arena.input((3, 8, 7), float32)]

    kernels = program(Graph(leaves, [PRODUCTS[name](*leaves)])).kernels

    assert len(kernels) == 1 + (name == "heads")  # a * 2.0 is one of its own


def spec_of(name: str):
    """The spec of one of the products above."""
    arena = Arena()
    y = PRODUCTS[name](arena.input((3, 5, 8), float32), arena.input((3, 8, 7), float32))
    return product_of(y, *factors(y))


def test_letters_become_batch_rows_columns_and_steps():
    spec = spec_of("plain")

    assert [[x.size for x in part] for part in (spec.batch, spec.rows, spec.columns)] == [
        [3],
        [5],
        [7],
    ]
    assert spec.letters == ((8, 1),)


def test_summed_letters_stand_outermost_first_with_their_leaves():
    assert [size for size, _ in spec_of("rows and batch summed").letters] == [3, 5]


def test_a_repeated_axis_has_stride_zero():
    assert spec_of("repeated").rows[0].a == 0


def test_a_mirrored_product_exchanges_its_operands():
    spec = spec_of("plain")
    other = mirrored(spec)

    assert [(x.size, x.a, x.b, x.c) for x in other.rows] == [
        (x.size, x.b, x.a, x.c) for x in spec.columns
    ]
    assert mirrored(other) == spec


def test_contiguous_memory_and_sizes_around_an_axis():
    assert row_major((3, 5, 7)) == (35, 7, 1)
    assert along((3, 5, 7), 1) == (3, 5, 7)
    assert along((3, 5, 7), 0) == (1, 3, 35)


CLAIMS = {name: x.facts.claim for name, x in REGIONS.items() if x.facts.claim}
WIDENING = {name for name, claim in CLAIMS.items() if claim.widens is not nothing}
SUMMING = {name for name, claim in CLAIMS.items() if claim.sums}


def test_every_claim_has_its_kernel_and_every_kernel_a_claim():
    assert {claim.kernel for claim in CLAIMS.values()} == set(KERNELS)
    assert {"attention_backward", "grouped_rows", "routed_rows", "routed_steps"} == SUMMING


@pytest.mark.parametrize("queries", [1, 3])
def test_one_query_reads_bfloat_as_it_lies(queries: int, rng: np.random.Generator):
    arena = Arena()
    leaves = [arena.input((2, 4, queries, 8), bfloat16)]
    leaves += [arena.input((2, 2, 40, 8), bfloat16) for _ in range(2)]
    graph = Graph(leaves, [attention(*leaves)])
    arrays = [rng.normal(size=x.shape).astype(bfloat16.numpy) for x in leaves]

    (found,), (expected,) = run(graph, arrays), exact(graph, arrays, claimed.CLAIMED)

    assert same_bits(found, expected)
    reads = [x for k in program(graph).kernels if k.name == "attention_forward" for x in k.buffers]
    assert sum(x.dtype is bfloat16 for x in reads) == (2 if queries == 1 else 3)


def test_attention_and_its_gradient_read_bfloat_as_it_lies(rng: np.random.Generator):
    arena = Arena()
    leaves = [arena.input((2, 4, 7, 8), bfloat16)]
    leaves += [arena.input((2, 2, 7, 8), bfloat16) for _ in range(2)]
    slope = arena.input((2, 4, 7, 8), bfloat16)
    made = attention(*leaves, causal=True)
    graph = Graph([*leaves, slope], gradients(made, slope, leaves))
    arrays = [rng.normal(size=x.shape).astype(bfloat16.numpy) for x in graph.inputs]

    found, expected = run(graph, arrays), exact(graph, arrays, claimed.CLAIMED)

    assert all(map(same_bits, found, expected))
    reads = [x for k in program(graph).kernels if k.name in WIDENING for x in k.buffers]
    assert sum(x.dtype is bfloat16 for x in reads) == 3 + 4


def test_attention_in_doubles_reads_wide_copies_of_bfloat(rng: np.random.Generator):
    arena = Arena()
    q, k = arena.input((1, 2, 1, 8), float64), arena.input((1, 2, 20, 8), bfloat16)
    graph = Graph([q, k], [attention(q, cast(k, float64), cast(k, float64))])
    arrays = [rng.normal(size=x.shape).astype(x.dtype.numpy) for x in graph.inputs]

    (found,), (expected,) = run(graph, arrays), exact(graph, arrays, claimed.CLAIMED)

    assert same_bits(found, expected)


@pytest.mark.parametrize("scale", [1 << 70, 10**30, 2])
def test_a_scale_is_a_float_in_kernels(scale: int):
    arena = Arena()
    q, k = arena.input((1, 2, 3, 4), float32), arena.input((1, 2, 5, 4), float32)
    settings = {"causal": False, "scale": scale}
    whole, exactly = (
        attention_forward(q, k, k, **{**settings, "scale": x}) for x in (scale, float(scale))
    )
    specs = [attention_spec(made[0], (0, 1, 2, 3, 4), 0) for made in (whole, exactly)]

    assert specs[0] == specs[1]
    assert type(specs[0].scale) is float
