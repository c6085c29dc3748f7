"""Products whose operands are packed: test_matmul.py has most; here is what this way alone has."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.families import Families
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.product import store_to
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import KINDS, plain, stored


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 70, 61, 1), (7, 33, 64, 2), (16, 16, 1300, 1)], ids=str)
def test_few_rows_have_the_same_bits_when_they_are_packed(rng, kind, size):
    m, n, k, leaves = size
    a, a_stored = stored(rng, kind[0] == "T", m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)
    module, spec = LLVMModule(), plain(kind, m, n, k, leaves)
    scratch = PackedWriter(module, "packed", spec, AVX2, store_to(spec)).write()
    c = np.full((m, n), np.nan, np.float32)

    Kernel(module.text(), "packed", scratch)([c, a_stored, b_stored], 2)

    assert same_bits(c, product(a, b.T, [(k, leaves)]))


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("n", [17, 24, 25, 33, 65, 101])
def test_the_last_columns_have_the_same_bits_in_a_narrower_tile(rng, machine, n):
    m, k, leaves = 50, 1100, 4
    _, a = stored(rng, False, m, k)
    _, b = stored(rng, True, k, n)
    b[-1, ::7] = np.inf
    a[3, 5] = np.nan
    module, spec = LLVMModule(), plain("NT", m, n, k, leaves)
    scratch = PackedWriter(module, "packed", spec, machine, store_to(spec)).write()
    c = np.full((m, n), np.nan, np.float32)

    Kernel(module.text(), "packed", scratch)([c, a, b], 1)

    assert "packed.edge" in module.functions
    assert same_bits(c, product(a, b, [(k, leaves)]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_product_calls_is_the_same_for_every_size(kind):
    texts = set()
    for m, n, k, leaves in ((64, 65, 384, 2), (2048, 384, 1536, 4), (50, 1000, 77, 1)):
        spec = plain(kind, m, n, k, leaves)
        PackedWriter(module := LLVMModule(), "packed", spec, AVX2, store_to(spec)).write()
        own = (f.text() for name, f in module.functions.items() if name != "packed")
        texts.add("".join(own))

    assert len(texts) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_sizes_share_one_code_and_keep_their_order(rng, kind):
    depths = (128, 256, 128, 256, 640)  # one leaf, two, and more than a block of K
    sizes = [(48 + 3 * i, 17 + 5 * i, depths[i % 5] + 2 * (i % 3)) for i in range(20)]
    families, made = Families(), {}
    for m, n, k in sizes:
        leaves = 2 if k % 2 == 0 and k < 300 else 1
        given = families.share(emit_matmul, 3, plain(kind, m, n, k, leaves), AVX2)
        code = given.code
        if code.symbol not in made:
            parts = [part.text for part in code.parts]
            made[code.symbol] = Kernel(code.text, code.symbol, code.scratch, parts)
        a, a_stored = stored(rng, kind[0] == "T", m, k)
        b, b_stored = stored(rng, kind[1] == "T", k, n)
        c, kernel = np.full((m, n), np.nan, np.float32), made[code.symbol]
        kernel.scratch = code.scratch

        kernel([c, a_stored, b_stored, *given.numbers], 2)

        assert same_bits(c, product(a, b.T, [(k, leaves)])), (m, n, k)

    # leaves of one are part of the text
    assert len(made) <= 2
