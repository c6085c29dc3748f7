"""Panels that are packed before a product: laid out as it reads them, in any number of parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.families import Families
from gnomon.codegen.kernels.blocking import tile_of
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.panels import emit_panels, panels_of, units_of, wants_panels
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import KINDS, guarded, plain, stored


def packed(spec: MatmulSpec, b: np.ndarray, threads: int) -> np.ndarray:
    """B in panels, which end where memory does."""
    described, module = panels_of(spec, AVX2), LLVMModule()
    scratch = emit_panels(module, "pack", described, AVX2)
    panels = guarded(np.full(units_of(described, AVX2), np.nan, b.dtype))
    Kernel(module.text(), "pack", scratch)([panels, guarded(b)], threads)
    return panels


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "size",
    [(17, 33, 65, 1), (32, 100, 384, 2), (100, 65, 1300, 1), (48, 32, 2048, 16)],
    ids=str,
)
def test_a_product_reads_what_any_number_of_threads_packed(rng, kind, size):
    m, n, k, leaves = size
    a, a_stored = stored(rng, kind[0] == "T", m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)
    spec = plain(kind, m, n, k, leaves)
    panels = packed(spec, b_stored, threads=3)
    module, c = LLVMModule(), np.full((m, n), np.nan, np.float32)
    scratch = emit_matmul(module, "product", replace(spec, ready=True), AVX2)

    Kernel(module.text(), "product", scratch)([c, a_stored, panels], 2)

    assert same_bits(c, product(a, b.T, [(k, leaves)]))
    assert "product.pack_b" not in module.functions
    assert same_bits(panels, packed(spec, b_stored, threads=1))


def test_sizes_share_one_packer_and_one_product():
    families, codes = {"pack": Families(), "product": Families()}, set()
    for m, n, k in ((48, 64, 128), (50, 96, 640), (100, 33, 77)):
        spec = plain("NT", m, n, k)
        pack = families["pack"].share(emit_panels, 2, panels_of(spec, AVX2), AVX2)
        made = families["product"].share(emit_matmul, 3, replace(spec, ready=True), AVX2)
        codes.add((pack.code.symbol, made.code.symbol))

    assert len(codes) == 1


def test_products_of_other_rows_read_the_same_panels():
    found = {panels_of(plain("NT", m, 64, 128), AVX2) for m in (48, 100, 256)}

    assert len(found) == 1


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
def test_units_are_whole_panels(machine):
    spec = plain("NN", 64, 33, 77)
    wide = tile_of(machine, spec).columns

    assert units_of(panels_of(spec, machine), machine) == -(-33 // wide) * wide * 77


def test_few_rows_and_factors_of_their_own_are_not_read_from_panels():
    batch = replace(plain("NN", 64, 33, 77), batch=(Axis(2, a=4928, b=2541, c=2112),))

    assert wants_panels(plain("NN", 64, 33, 77), kept=True)
    assert not wants_panels(plain("NN", 8, 33, 77), kept=True)
    assert not wants_panels(plain("NN", 64, 33, 0), kept=True)
    assert not wants_panels(batch, kept=True)


@pytest.mark.parametrize(
    ("size", "often"),
    [
        ((512, 512, 512, 4), False),  # all rows in one span
        ((4096, 384, 384, 2), False),
        ((2048, 2048, 2048, 16), True),  # too many sums wait for all rows at once
        ((4096, 8192, 1024, 8), False),  # not in the last cache
    ],
    ids=str,
)
def test_panels_are_made_apart_where_they_would_be_made_often(size, often):
    *sizes, leaves = size

    assert wants_panels(plain("NN", *sizes, leaves), kept=False) == often
