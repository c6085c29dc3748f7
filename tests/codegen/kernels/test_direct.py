"""Products of few rows: the canonical order to the bit, from operands that are not copied."""

from __future__ import annotations

import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.direct import MOST_ROWS, layout_of
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.machine import AVX2, AVX512, NEON, Machine
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.jit import assembly
from tests.codegen.kernels.operands import compile_product, guarded, plain, stored
from tests.codegen.kernels.test_microkernel import FUSED, X86, hottest_loop
from tests.oracle.folds import sum_of_products

LAYOUTS = {"NT": "along", "NN": "across"}
HERE = [AVX2, *(replace(machine, instructions=("mxcsr",)) for machine in (AVX512, NEON))]


def run(kind: str, size: tuple[int, int, int, int], rng, **how) -> tuple[np.ndarray, ...]:
    """C, A and B of a product of floats."""
    m, n, k, leaves = size
    a, a_stored = stored(rng, kind[0] == "T", m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)
    c, threads = guarded(np.full((m, n), np.nan, np.float32)), how.pop("threads", 1)
    compile_product(plain(kind, m, n, k, leaves), **how)(
        [c, guarded(a_stored), guarded(b_stored)], threads
    )
    return c, a, b


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 2, 3, 6, 7, 12, 13, 16])
def test_every_number_of_rows_has_the_canonical_order(rng, kind, rows):
    size = (rows, 53, 96, 4)
    assert layout_of(plain(kind, *size)) == LAYOUTS[kind]

    c, a, b = run(kind, size, rng)

    assert same_bits(c, product(a, b.T, [(96, 4)]))


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("columns", [16, 17, 31, 32, 33])
def test_the_last_tile_ends_where_b_does(rng, kind, columns):
    c, a, b = run(kind, (1, columns, 24, 1), rng)

    assert same_bits(c, product(a, b.T, [(24, 1)]))


@pytest.mark.parametrize("machine", HERE, ids=lambda machine: machine.name)
@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_machine_gives_the_same_bits(rng, kind, machine):
    c, a, b = run(kind, (3, 47, 208, 2), rng, machine=machine)

    assert same_bits(c, product(a, b.T, [(208, 2)]))


@pytest.mark.parametrize("kind", LAYOUTS)
def test_random_sizes_keep_the_canonical_order(rng, kind):
    for _ in range(10):
        m, n, k = (int(rng.integers(*bounds)) for bounds in ((1, 17), (16, 71), (1, 90)))
        leaves = 2 if k % 2 == 0 else 1

        c, a, b = run(kind, (m, n, k, leaves), rng, threads=2)

        assert same_bits(c, product(a, b.T, [(k, leaves)])), (m, n, k)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_number_of_threads_changes_nothing(rng, kind, threads):
    state = rng.bit_generator.state
    alone = run(kind, (2, 300, 130, 1), rng)[0]
    rng.bit_generator.state = state

    shared = run(kind, (2, 300, 130, 1), rng, threads=threads)[0]

    assert same_bits(alone, shared)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 5, 16])
@pytest.mark.parametrize("k", [2, 47, 256])
def test_bfloats_go_in_pairs(rng, kind, rows, k):
    a, b = (rng.normal(size=shape).astype(ml_dtypes.bfloat16) for shape in ((rows, k), (k, 37)))
    c = np.zeros((rows, 37), np.float32)
    leaves = 2 if k == 256 else 1
    at = guarded(np.ascontiguousarray(b.T if kind == "NT" else b))

    compile_product(plain(kind, rows, 37, k, leaves, "bfloat"))([c, guarded(a), at])

    wide = a.astype("f4").T[:, :, None], b.astype("f4")[:, None, :]
    assert same_bits(c, sum_of_products(*wide, (leaves,), paired=True))


def test_batches_and_strides_are_walked(rng):
    # two batches, rows of B lie 40 apart and hold 33
    a, b = rng.normal(size=(2, 3, 20)).astype("f4"), rng.normal(size=(2, 20, 40)).astype("f4")
    batch = (Axis(2, a=60, b=800, c=99),)
    rows, columns = (Axis(3, a=20, c=33),), (Axis(33, b=1, c=1),)
    spec = MatmulSpec("float", batch, rows, columns, (Axis(20, a=1, b=40),), (0, 5, 0))
    c = np.zeros((2, 3, 33), np.float32)

    compile_product(spec)([c, a, b], 2)

    assert layout_of(spec) == "across"
    assert same_bits(
        c, np.stack([product(x, y[:, 5:38].T, [(20, 1)]) for x, y in zip(a, b, strict=True)])
    )


@pytest.mark.parametrize("kind", LAYOUTS)
def test_nan_stays_in_its_column(rng, kind):
    at = stored(rng, kind == "NT", 40, 37)[1]
    (at if kind == "NN" else at.T)[7, 36] = np.nan
    c = np.zeros((2, 37), np.float32)

    compile_product(plain(kind, 2, 37, 40))([c, np.ones((2, 40), "f4"), at])

    assert np.isnan(c[:, 36]).all()
    assert np.isfinite(c[:, :36]).all()


def test_other_products_are_packed():
    few, many = plain("NT", 4, 64, 64), plain("NT", MOST_ROWS + 1, 64, 64)
    nested = replace(few, columns=(Axis(8, b=640, c=8), Axis(8, b=64, c=1)))

    assert layout_of(few) == "along"
    assert layout_of(many) == layout_of(nested) == ""
    assert layout_of(plain("NT", 4, 15, 64)) == ""
    assert layout_of(plain("NT", 4, 64, 64, 1, "double")) == ""


@pytest.mark.parametrize(("kind", "rows"), [("NT", 1), ("NT", 3), ("NN", 1), ("NN", 6)])
@pytest.mark.parametrize("cpu", ["znver3", "haswell"])
def test_no_sum_leaves_its_register_inside_a_chunk(cpu: str, kind: str, rows: int):
    machine: Machine = AVX2
    emit_matmul(module := LLVMModule(), "product", plain(kind, rows, 4096, 4096, 16), machine)

    loop = hottest_loop(assembly(module.text(), cpu, triple=X86))

    assert [line for line in loop if FUSED.search(line)]
    assert not [line for line in loop if re.search(r"\(%rsp", line)]
