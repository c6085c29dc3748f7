"""Products of few columns, whose left factor is read where it lies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.codegen.emitter import Module
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.panels import emit_panels, panels_of, units_of
from gnomon.codegen.kernels.unpacked import reads_left
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import guarded, plain, stored

SIZES = [(17, 33, 64, 1), (20, 192, 65, 1), (50, 65, 1300, 1), (47, 100, 768, 4)]


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("kind", ["NN", "NT"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_rows_are_read_where_they_lie_and_nothing_beyond_them(rng, machine, kind, size):
    m, n, k, leaves = size
    _, a = stored(rng, False, m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)
    module, c = Module(), np.full((m, n), np.nan, np.float32)
    scratch = emit_matmul(module, "product", plain(kind, m, n, k, leaves), machine)

    Kernel(module.text(), "product", scratch)([c, guarded(a), guarded(b_stored)], 2)

    assert same_bits(c, product(a, b.T, [(k, leaves)]))
    assert "product.pack_a" not in module.functions


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_right_factor_may_lie_in_panels(rng, size):
    m, n, k, leaves = size
    _, a = stored(rng, False, m, k)
    b, b_stored = stored(rng, True, k, n)
    spec = plain("NT", m, n, k, leaves)
    described, pack, module = panels_of(spec, AVX2), Module(), Module()
    panels = np.full(units_of(described, AVX2), np.nan, np.float32)
    scratch = emit_panels(pack, "pack", described, AVX2)
    Kernel(pack.text(), "pack", scratch)([panels, b_stored], 2)
    scratch = emit_matmul(module, "product", replace(spec, ready=True), AVX2)
    c = np.full((m, n), np.nan, np.float32)

    Kernel(module.text(), "product", scratch)([c, a, panels], 3)

    assert same_bits(c, product(a, b.T, [(k, leaves)]))
    assert not [name for name in module.functions if ".pack" in name]


def test_what_is_copied_in_any_case_is_not_read_where_it_lies():
    assert reads_left(plain("NT", 64, 192, 77))
    assert not reads_left(plain("NT", 64, 193, 77))
    assert not reads_left(plain("NT", 15, 64, 77))
    assert not reads_left(plain("TN", 64, 64, 77))
    assert not reads_left(plain("NT", 64, 64, 77, scalar="bfloat"))
