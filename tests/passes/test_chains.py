"""Products of few terms as chains of fused multiply-adds."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32, float64
from gnomon.ir.node import Arena, Graph
from gnomon.ir.sizes import ShapeEnv
from gnomon.ops.convolution import convolution
from gnomon.ops.primitives import contract
from gnomon.passes.chains import is_short_chain
from tests.compiled import program, run
from tests.oracle.graphs import exact
from tests.strategies import same_bits

AROUND = (((1, 1), (2, 0)), ((1, 2), (1, 1), 6))


def product_of(spec: str, left: tuple[int, ...], right: tuple[int, ...], dtype=float32):
    """A contract of two inputs."""
    arena = Arena()
    return contract(spec, arena.input(left, dtype), arena.input(right, dtype))


@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda x: x.name)
def test_a_depthwise_convolution_is_maps_with_the_products_bits(dtype, rng):
    arena = Arena()
    x, w = arena.input((2, 6, 5, 9), dtype), arena.input((6, 1, 3, 3), dtype)
    graph = Graph([x, w], [convolution(x, w, None, *AROUND)])
    arrays = [rng.standard_normal(v.shape).astype(dtype.numpy) for v in (x, w)]

    (found,), (expected,) = run(graph, arrays), exact(graph, arrays)

    assert same_bits(found, expected)
    assert all(node.op != "contract" for k in program(graph).kernels for node in k.nodes)


def test_only_products_that_share_nothing_are_chains():
    assert is_short_chain(product_of("ngkx,gok->ngox", (2, 6, 9, 5), (6, 1, 9)))
    assert not is_short_chain(product_of("ngkx,gok->ngox", (2, 6, 9, 5), (6, 2, 9)))
    assert not is_short_chain(product_of("ngkx,gok->ngox", (2, 6, 64, 5), (6, 1, 64)))
    assert not is_short_chain(product_of("ngxk,gok->ngox", (2, 6, 5, 9), (6, 1, 9)))
    assert not is_short_chain(product_of("kx,ok->ox", (9, 5), (1, 9)))


def test_one_term_is_a_product_whose_zeros_keep_their_signs():
    node = product_of("nkg,gk->ng", (2, 1, 3), (3, 1))
    graph = Graph(node.inputs, [node])
    x = np.array([[[-0.0, 2.0, -1.0]], [[0.0, -0.0, 1.0]]], np.float32)
    arrays = [x, np.array([[0.0], [-3.0], [-0.0]], np.float32)]

    assert is_short_chain(node)
    assert same_bits(run(graph, arrays)[0], exact(graph, arrays)[0])


def test_steps_that_vary_are_no_chain_and_ask_no_guard():
    sizes = ShapeEnv()
    k = sizes.symbol(9)

    assert not is_short_chain(product_of("ngkx,gok->ngox", (2, 6, k, 5), (6, 1, k)))
    assert not [text for text in sizes.guards if "<=0" in text]
