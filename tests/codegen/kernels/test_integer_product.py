"""Products of rows that are rounded to int8: the kernel has the bits of its definition."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.integer_panels import emit_integer_product
from gnomon.codegen.kernels.integer_product import IntegerProductSpec
from gnomon.codegen.machine import AVX512, NEON
from gnomon.codegen.opaque import OpaqueCall
from gnomon.ir import memo
from gnomon.ops.blocks import FORMATS
from gnomon.ops.integer_blocks import INT8, TERMS
from gnomon.settings import override
from gnomon.tensor.encoded import from_blocks
from tests.codegen.kernels.jit import Kernel, assembly
from tests.integer_oracle import product
from tests.processors import PROCESSORS, here
from tests.quantized import random_blocks

# rows of x, columns, blocks of 32 numbers: single ones, ragged sixteens and fours, many leaves
SIZES = [(1, 1, 8), (1, 40, 24), (3, 130, 40), (17, 70, 72), (2, 33, 264), (5, 3, 512)]
SHORT = [(1, 5, 1), (4, 17, 9), (33, 50, 33)]


def case(kind: str, rows: int, columns: int, blocks: int, seed: int = 0):
    """Rows of x, and blocks."""
    count = blocks * 32 // FORMATS[kind].elements
    raw = random_blocks(kind, columns, count, seed)
    steps = count * FORMATS[kind].elements
    x = np.random.default_rng(seed + 1).standard_normal((rows, steps)).astype(np.float32)
    return x * np.geomspace(1e-3, 1e3, steps, dtype=np.float32), raw


@pytest.mark.parametrize("kind", TERMS)
def test_products_have_the_bits_of_their_definition(kind: str):
    for sizes in (*SIZES, *(SHORT if FORMATS[kind].elements == 32 else ())):
        x, raw = case(kind, *sizes)
        found = F.linear(gn.tensor(x), from_blocks(gn.tensor(raw), kind, INT8))
        np.testing.assert_array_equal(found.numpy(), product(x, kind, raw), str(sizes))


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("kind", ["Q4_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "INT4_128"])
def test_every_processor_has_the_same_bits(kind: str, processor: str):
    for sizes in ((2, 19, 40), (1, 16, 16)):
        x, raw = case(kind, *sizes)
        module, leaves = LLVMModule(), 2 if sizes[2] == 16 else 1
        spec = IntegerProductSpec(kind, len(x), len(raw), x.shape[1], leaves, raw.shape[1])
        expected = Kernel(*text_of(spec, PROCESSORS["genoa"], module))
        kernel = Kernel(*text_of(spec, PROCESSORS[processor], LLVMModule()))
        results = [np.zeros((len(x), len(raw)), np.float32) for _ in range(2)]
        for each, out in zip((expected, kernel), results, strict=True):
            each([out, x, raw], threads=3)
        np.testing.assert_array_equal(*results)
        assert results[0].any()


def text_of(spec: IntegerProductSpec, machine, module: LLVMModule) -> tuple[str, str, int]:
    """A kernel's text for here, its name and its scratch."""
    size = emit_integer_product(module, "k", spec, machine)
    return here(module.text()), "k", size


@pytest.mark.parametrize("kind", TERMS)
def test_text_is_assembled_for_arm(kind: str):
    module = LLVMModule()
    count = 2048 // FORMATS[kind].elements
    spec = IntegerProductSpec(kind, 1, 64, 2048, 4, count * FORMATS[kind].nbytes)
    emit_integer_product(module, "k", spec, NEON)

    text = assembly(module.text(), "apple-m1", triple="aarch64-unknown-linux-gnu")
    assert re.search(r"\tmul\tv|\t[su]m[lu]+[al]l?2?\tv|dot\tv|\tmul\.", text)


EXTREMES = {
    "zeros": lambda x: x * 0,
    "negative zeros": lambda x: x * -0.0,
    "denormals": lambda x: x * np.float32(1e-41),
    "infinity": lambda x: np.where(np.arange(x.shape[1]) == 300, np.inf, x),
    "less than all": lambda x: np.where(np.arange(x.shape[1]) == 3, -np.inf, x),
    "NaN": lambda x: np.where(np.arange(x.shape[1]) == 300, np.nan, x),
    "largest": lambda x: np.sign(x) * np.finfo(np.float32).max,
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q5_1", "Q4_K", "Q6_K", "INT8_256", "INT4_32"])
def test_extremes_are_those_of_the_definition(kind: str, name: str):
    x, raw = case(kind, 2, 40, 24)
    x = EXTREMES[name](x).astype(np.float32)
    form = FORMATS[kind]
    raw[5:9] = 255  # NaN for a factor, -1 for scales of scales
    raw[9] = 0
    raw[10:12] = 128  # a factor of -0, numbers of -128
    raw[12] = np.tile([0, 124], (raw.shape[1] + 1) // 2)[: raw.shape[1]]  # infinite factors
    weight = from_blocks(gn.tensor(raw), kind, INT8)

    found = F.linear(gn.tensor(x), weight).numpy()

    np.testing.assert_array_equal(found, product(x, kind, raw))
    with override(without="claim"):
        np.testing.assert_array_equal(F.linear(gn.tensor(x), weight).numpy(), found)
    if name in ("infinity", "less than all", "NaN"):
        assert np.isnan(found).all()
    assert form.elements


@pytest.mark.parametrize("threads", [1, 2, 3, 40])
def test_bits_are_the_same_for_any_number_of_threads(threads: int):
    x, raw = case("Q4_K", 9, 200, 16)

    with override(num_threads=threads):
        found = F.linear(gn.tensor(x), from_blocks(gn.tensor(raw), "Q4_K", INT8)).numpy()
    np.testing.assert_array_equal(found, product(x, "Q4_K", raw))


def test_the_kernel_is_named_and_its_body_has_its_bits():
    x, raw = case("Q6_K", 3, 24, 16)
    weight = from_blocks(gn.tensor(raw), "Q6_K", INT8)
    call = gn.compile(lambda x: F.linear(x, weight).relu())

    found = call(gn.tensor(x)).numpy()
    assert " block_product_int8 " in str(call.explain())
    with override(without="claim"):
        bare = gn.compile(lambda x: F.linear(x, weight).relu())
        np.testing.assert_array_equal(bare(gn.tensor(x)).numpy(), found)
        assert " block_product_int8 " not in str(bare.explain())


def test_one_code_serves_layers_of_all_sizes():
    memo.clear()
    found = set()
    for rows, columns, steps in (
        (7, 320, 512),
        (6, 1024, 640),
        (33, 4096, 2048),
        (40, 11008, 4096),
    ):
        spec = IntegerProductSpec("Q8_0", rows, columns, steps, 4, steps // 32 * 34), AVX512
        call = OpaqueCall("integer_product", emit_integer_product, spec, (), 0)
        found.add(call.given().code.symbol)
    assert len(found) == 1
