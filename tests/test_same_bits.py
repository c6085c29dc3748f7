"""Code for processors that are not here gives the bits of this one's, run on this machine.

LLVM makes wide vectors of narrow ones, and tests/processors.py writes out what is missing. So the
tiles, panels and pairs of each description are checked, not a processor's own instructions; those
of NEON run in test_emulated.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.ir.node import Graph
from gnomon.runtime import device, worker
from tests.blocks import inputs_of, step
from tests.codegen.kernels.operands import plain
from tests.compiled import run
from tests.processors import PROCESSORS, here, planted
from tests.strategies import same_bits
from tests.test_emulated import CONVOLUTIONS, STEPS, captured
from tests.test_same_choices import MATMUL
from tests.test_shapes import KERNELS

SIZES = [(70, 256, 53), (3, 80, 49), (17, 33, 20)]


def check(graph: Graph, arrays: list[np.ndarray], name: str) -> None:
    """A description's code gives the bits of this machine's."""
    with planted(name):
        found = run(graph, arrays)
    expected = run(graph, arrays)

    assert len(found) == len(expected) > 0
    assert all(map(same_bits, found, expected))


def check_product(name: str, processor: str, sizes: tuple[int, int, int], rng) -> None:
    """The same of one of the products."""
    m, k, n = sizes
    arrays = [rng.standard_normal(shape, "f4") for shape in ((m, k), (k, n), (n,))]
    graph = captured(MATMUL[name], arrays)
    check(graph, arrays[: len(graph.inputs)], processor)


@pytest.mark.parametrize("processor_name", ["sapphire", "apple"])
@pytest.mark.parametrize("name", ["bfloats", "bytes", "both"])
def test_products_have_the_same_bits(name: str, processor_name: str, rng):
    check_product(name, processor_name, SIZES[0], rng)


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize("processor_name", PROCESSORS)
@pytest.mark.parametrize("name", MATMUL)
def test_all_products_have_the_same_bits(name: str, processor_name: str, rng):
    for sizes in SIZES:
        check_product(name, processor_name, sizes, rng)


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize("processor_name", PROCESSORS)
@pytest.mark.parametrize("name", {**CONVOLUTIONS, **KERNELS})
def test_kernels_have_the_same_bits(name: str, processor_name: str, rng):
    shapes = [(2, 16, 12, 9), (24, 16, 3, 3)] if name in CONVOLUTIONS else [(34, 70)]
    arrays = [rng.standard_normal(shape, "f4") for shape in shapes]

    check(captured({**CONVOLUTIONS, **KERNELS}[name], arrays), arrays, processor_name)


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize("processor_name", PROCESSORS)
@pytest.mark.parametrize("name", STEPS)
def test_training_steps_have_the_same_bits(name: str, processor_name: str):
    function, shapes = STEPS[name]

    check(step(function, shapes), inputs_of(shapes), processor_name)


@pytest.mark.unit
@pytest.mark.parametrize("scalar", ["bfloat", "i8"])
@pytest.mark.parametrize("processor_name", PROCESSORS)
def test_what_is_missing_is_written_out_where_it_is_missing(processor_name: str, scalar: str):
    module, machine = LLVMModule(), PROCESSORS[processor_name]
    emit_matmul(module, "product", plain("NT", 60, 60, 256, 2, scalar), machine)
    text = module.text()

    foreign = device.foreign("avx2")
    own = here(text, foreign)

    assert (own != text) == any(part in text for part in (".avx512", ".aarch64."))
    assert worker.compile_text(own, foreign.triple, foreign.cpu, foreign.features, 1, 0)
