"""Noise in generated code is numpy's, whatever the words and however many."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import uint32, uint64
from gnomon.ir.node import Arena, Graph
from gnomon.ops.threefry import threefry
from tests.compiled import run

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("shape", [(), (7,), (5, 33)])
def test_generated_noise_is_numpys(shape, rng):
    arena = Arena()
    key = [arena.input((), uint32) for _ in range(2)]
    leaves = [*key, arena.input(shape, uint64)]
    graph = Graph(leaves, [arena.node("map", tuple(leaves), f="threefry")])
    first, second = rng.integers(0, 2**32, 2, np.uint32)
    feeds = [first, second, rng.integers(0, 2**64, shape, np.uint64)]

    (made,) = run(graph, feeds)

    assert np.array_equal(made, threefry(*feeds))
