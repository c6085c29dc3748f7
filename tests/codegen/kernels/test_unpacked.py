"""Products of few columns, whose left factor is read where it lies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.families import Families
from gnomon.codegen.kernels.lines import Lines, Turned
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.panels import emit_panels, panels_of, units_of
from gnomon.codegen.kernels.product import store_to
from gnomon.codegen.kernels.unpacked import reader_of
from gnomon.codegen.machine import AVX2, AVX512
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import KINDS, guarded, plain, stored

SIZES = [(17, 33, 64, 1), (20, 127, 65, 1), (50, 65, 1300, 1), (47, 100, 768, 4)]


@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=lambda machine: machine.name)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_rows_are_read_where_they_lie_and_nothing_beyond_them(rng, machine, kind, size):
    m, n, k, leaves = size
    a, a_stored = stored(rng, kind[0] == "T", m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)
    spec, module, c = (
        plain(kind, m, n, k, leaves),
        LLVMModule(),
        np.full((m, n), np.nan, np.float32),
    )
    scratch = emit_matmul(module, "product", spec, machine)

    Kernel(module.text(), "product", scratch)([c, guarded(a_stored), guarded(b_stored)], 2)

    assert reader_of(spec) is (Turned if kind[0] == "T" else Lines)
    assert same_bits(c, product(a, b.T, [(k, leaves)]))
    assert "product.pack_a" not in module.functions


@pytest.mark.parametrize("size", [(400, 37, 700, 4), (300, 90, 450, 1)], ids=str)
def test_large_factors_have_the_same_bits_when_rows_are_asked_for(rng, size):
    m, n, k, leaves = size
    a, b = stored(rng, False, m, k)[0], stored(rng, True, k, n)[1]
    spec, module, c = (
        plain("NT", m, n, k, leaves),
        LLVMModule(),
        np.full((m, n), np.nan, np.float32),
    )
    scratch = emit_matmul(module, "product", spec, AVX2)

    Kernel(module.text(), "product", scratch)([c, guarded(a), guarded(b)], 2)

    assert reader_of(spec) is Lines
    assert same_bits(c, product(a, b, [(k, leaves)]))


@pytest.mark.parametrize("tile", [(12, 16), (3, 32), (1, 64), (5, 16)], ids=str)
def test_every_tile_that_may_be_measured_is_right(rng, tile):
    m, n, k = 26, 70, 90
    a, b = stored(rng, False, m, k)[0], stored(rng, False, k, n)[0]
    spec = replace(plain("NN", m, n, k), tile=tile)
    module, c = LLVMModule(), np.full((m, n), np.nan, np.float32)
    scratch = emit_matmul(module, "product", spec, AVX2)

    Kernel(module.text(), "product", scratch)([c, guarded(a), guarded(b)], 2)

    assert same_bits(c, product(a, b.T, [(k, 1)]))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_right_factor_may_lie_in_panels(rng, size):
    m, n, k, leaves = size
    _, a = stored(rng, False, m, k)
    b, b_stored = stored(rng, True, k, n)
    spec = plain("NT", m, n, k, leaves)
    described, pack, module = panels_of(spec, AVX2), LLVMModule(), LLVMModule()
    panels = np.full(units_of(described, AVX2), np.nan, np.float32)
    scratch = emit_panels(pack, "pack", described, AVX2)
    Kernel(pack.text(), "pack", scratch)([panels, b_stored], 2)
    scratch = emit_matmul(module, "product", replace(spec, ready=True), AVX2)
    c = np.full((m, n), np.nan, np.float32)

    Kernel(module.text(), "product", scratch)([c, a, panels], 3)

    assert same_bits(c, product(a, b.T, [(k, leaves)]))
    assert not [name for name in module.functions if ".pack" in name]


@pytest.mark.parametrize("kind", KINDS)
def test_epilogues_see_every_row_once(rng, kind):
    m, n, k = 29, 53, 40
    a, a_stored = stored(rng, kind[0] == "T", m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)
    spec, module, seen = plain(kind, m, n, k), LLVMModule(), np.zeros((m, n), np.float32)
    store = store_to(spec)

    def add(e, place, value):
        where = e.add(e.mul(place.row, n), place.column)
        base = e.offset(e.load(e.offset(place.buffers, 24), "ptr", 8), e.mul(where, 4))
        on = place.mask or f"<{', '.join(['i1 true'] * 16)}>"
        old = e.load_masked(base, on, "float")
        one = f"<{', '.join(['float 1.0'] * 16)}>"
        e.store_masked(e.value(f"fadd <16 x float> {old}, {one}"), base, on, "float")
        store(e, place, value)

    scratch = emit_matmul(module, "product", spec, AVX2, add)
    c = np.full((m, n), np.nan, np.float32)

    Kernel(module.text(), "product", scratch)([c, a_stored, b_stored, seen], 2)

    assert same_bits(c, product(a, b.T, [(k, 1)]))
    assert (seen == 1).all()


@pytest.mark.parametrize("kind", ["NT", "TN"])
def test_sizes_share_a_code_and_keep_their_order(rng, kind):
    families, symbols = Families(), set()
    for m, n, k, leaves in [(48 + 7 * i, 20 + 9 * i, 96 + 32 * i, 2) for i in range(6)]:
        given = families.share(emit_matmul, 3, plain(kind, m, n, k, leaves), AVX2)
        code, c = given.code, np.full((m, n), np.nan, np.float32)
        a, a_stored = stored(rng, kind[0] == "T", m, k)
        b, b_stored = stored(rng, kind[1] == "T", k, n)
        kernel = Kernel(code.text, code.symbol, code.scratch, [part.text for part in code.parts])

        kernel([c, a_stored, b_stored, *given.numbers], 2)

        symbols.add(code.symbol)
        assert same_bits(c, product(a, b.T, [(k, leaves)]))

    assert len(symbols) == 1


def test_what_is_read_too_often_is_copied():
    assert reader_of(plain("NT", 64, 128, 512)) is Lines
    assert reader_of(plain("TN", 64, 128, 512)) is Turned
    assert reader_of(plain("NT", 64, 5000, 512)) is Lines
    assert not reader_of(plain("NT", 64, 129, 513))
    assert not reader_of(plain("TN", 64, 129, 77))
    assert not reader_of(plain("TN", 512, 64, 512))
    assert not reader_of(plain("NT", 15, 64, 77))
    assert not reader_of(plain("NT", 64, 64, 77, scalar="bfloat"))
