"""NEON's machine code, run by QEMU, gives the bits that this machine's gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.ir.node import Graph
from gnomon.nn import functional as F
from tests import emulated
from tests.blocks import block, block_shapes, inputs_of, mlp, mlp_shapes, step
from tests.compiled import run
from tests.processors import planted, unlinked
from tests.strategies import same_bits
from tests.test_same_choices import MATMUL
from tests.test_shapes import KERNELS, LOOPS, fresh, gradient

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(
        not emulated.is_there(), reason="needs qemu-user-static and gcc-aarch64-linux-gnu"
    ),
]

UNARY = (
    *("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sinh", "atan", "asin"),
    *("erf", "erfc", "lgamma", "sqrt", "rsqrt", "sigmoid", "round", "floor"),
)
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 88.7, -103.9], "f4")
STEPS = {
    "mlp": (mlp, mlp_shapes(48, 130, 96)),
    "block": (block(heads=3), block_shapes(2, 33, 48, 70)),
    "block of leaves": (block(heads=4), block_shapes(2, 256, 64, 64)),
}
CONVOLUTIONS = {
    "convolution": lambda x, w: F.conv2d(x, w, padding=1),
    "its gradient": lambda x, w: gradient(lambda x: F.conv2d(x, w, stride=2))(x),
}


def captured(function: Callable, arrays: list[np.ndarray]) -> Graph:
    """The graph that a function becomes."""
    with fresh(vary=False), unlinked():
        compiled = gn.compile(function)
        compiled(*map(gn.from_numpy, arrays))
        (program,) = compiled.captured()
        return program.graph


def check(graph: Graph, arrays: list[np.ndarray], folder: Path) -> None:
    """Both processors give the same bits."""
    with planted("apple"):
        found = emulated.run(graph, arrays, folder)
    expected = run(graph, arrays)

    assert len(found) == len(expected) > 0
    assert all(map(same_bits, found, expected))


@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str, rng, tmp_path: Path):
    x = np.concatenate([SPECIAL, rng.standard_normal(500, "f4") * 30])
    for array in (x, x.astype("f8")):
        check(captured(lambda x: getattr(gn, name)(x), [array]), [array], tmp_path)


@pytest.mark.parametrize("name", {**LOOPS, **KERNELS})
def test_loops_and_kernels(name: str, rng, tmp_path: Path):
    arrays = [rng.standard_normal((34, 70), "f4")]

    check(captured({**LOOPS, **KERNELS}[name], arrays), arrays, tmp_path)


@pytest.mark.parametrize("sizes", [(70, 256, 53), (3, 80, 49), (17, 33, 20)], ids=str)
@pytest.mark.parametrize("name", MATMUL)
def test_products(name: str, sizes: tuple[int, int, int], rng, tmp_path: Path):
    m, k, n = sizes
    arrays = [rng.standard_normal(shape, "f4") for shape in ((m, k), (k, n), (n,))]
    function = MATMUL[name]

    graph = captured(function, arrays)

    check(graph, arrays[: len(graph.inputs)], tmp_path)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str, rng, tmp_path: Path):
    arrays = [rng.standard_normal(shape, "f4") for shape in ((2, 16, 12, 9), (24, 16, 3, 3))]

    check(captured(CONVOLUTIONS[name], arrays), arrays, tmp_path)


@pytest.mark.parametrize("name", STEPS)
def test_training_steps(name: str, tmp_path: Path):
    function, shapes = STEPS[name]

    check(step(function, shapes), inputs_of(shapes), tmp_path)
