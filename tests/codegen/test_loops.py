"""The code of loop kernels: what it says, and that the rows of all threads make the whole."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnomon.codegen.loops import emit_loops
from gnomon.codegen.shares import SHARES
from gnomon.dtypes import float32
from gnomon.ir.node import Graph, Node
from gnomon.ops.normalization import rms_norm
from gnomon.ops.primitives import unsqueeze
from gnomon.ops.scalars import exp
from gnomon.passes.inline import inline
from tests.compiled import execute, program, threads
from tests.conftest import Golden
from tests.oracle.graphs import exact
from tests.schedule.kernels_of import graph, kernels, leaf, softmax
from tests.strategies import same_bits

CHUNK = SHARES["contiguous"].chunk
SAME = re.compile(r"<(\w+ [^,<>]+)(?:, \1)+>")


def text_of(root: Node) -> str:
    """The code of the only kernel, with vectors of one number written once."""
    (kernel,) = kernels(root)
    code = emit_loops(kernel)
    return SAME.sub(r"splat(\1)", code.text.replace(code.symbol, "kernel"))


def norm(x: Node, weight: Node) -> Node:
    """rms_norm with its region opened."""
    made = inline(graph(rms_norm(x, x.shape[-1], weight, eps=1e-5)), lambda region: False)
    return made.outputs[0]


def check(root: Node, rng: np.random.Generator) -> None:
    """One, two and three threads give the oracle's bits."""
    made = graph(root)
    arrays = [rng.normal(size=x.shape).astype(x.dtype.numpy) for x in made.inputs]
    executable, (expected,) = program(made), exact(made, arrays)
    for count in (1, 2, 3):
        with threads(count):
            (found,) = execute(executable, made, arrays)
        assert same_bits(found, expected)


def test_an_elementwise_kernel(golden: Golden):
    x = leaf(3, 5)

    assert text_of((x * 2.0 + 1.0) * x) == golden


def test_a_softmax_kernel(golden: Golden):
    assert text_of(softmax(leaf(3, 100))) == golden


def test_an_rms_norm_kernel(golden: Golden):
    x = leaf(3, 256)

    assert text_of(norm(x, x.arena.input((256,), float32))) == golden


@pytest.mark.parametrize("n", [1, 63, 64, 65, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17])
def test_flat_loops_of_any_length(n: int, rng: np.random.Generator):
    check(leaf(n) * 2.0 + 1.0, rng)


@pytest.mark.parametrize("rows", [1, 2, 5, 33])
@pytest.mark.parametrize("n", [1, 16, 100, 256])
def test_rows_of_any_number_and_length(rows: int, n: int, rng: np.random.Generator):
    check(softmax(leaf(rows, n)), rng)


def test_rows_longer_than_a_chunk_are_cut(rng: np.random.Generator):
    x = leaf(3, CHUNK + 20)
    row = unsqueeze(x.arena.input((3,), float32), 1)

    check(exp(x * row), rng)


def test_nothing_has_no_kernel():
    made: Graph = graph(leaf(0, 3) * 2.0)

    assert program(made).kernels == ()
