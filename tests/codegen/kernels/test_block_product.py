"""Products of blocks have the bits of products of decoded numbers."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon.codegen.kernels.block_product import BlockProductSpec, emit_block_product
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.machine import AVX512
from gnomon.codegen.opaque import OpaqueCall
from gnomon.ir import memo
from gnomon.ops.blocks import FORMATS
from gnomon.settings import override
from gnomon.tensor.encoded import from_blocks
from tests.quantized import KINDS, numbers_of, random_blocks, same

# rows of x, columns, blocks of 32 numbers: single ones, ragged panels, and sums whose leaves end
# inside a block: 288 has two of 144, 1,056 eight of 132
SIZES = [(1, 1, 8), (1, 40, 24), (3, 130, 40), (17, 70, 72), (2, 33, 264), (40, 16, 8), (5, 3, 264)]
SHORT = [(1, 5, 1), (4, 17, 9), (33, 50, 33)]


def pair(kind: str, rows: int, columns: int, blocks: int, seed: int = 0):
    """x, a tensor in blocks, and the same decoded."""
    count = blocks * 32 // FORMATS[kind].elements
    raw = random_blocks(kind, columns, count, seed)
    numbers = gn.tensor(numbers_of(kind, raw))
    x = np.random.default_rng(seed + 1).standard_normal((rows, numbers.shape[1]))
    return gn.tensor(x.astype(np.float32)), from_blocks(gn.tensor(raw), kind), numbers


@pytest.mark.parametrize("kind", KINDS)
def test_products_have_the_bits_of_decoded_numbers(kind: str):
    for sizes in (*SIZES, *(SHORT if FORMATS[kind].elements == 32 else ())):
        x, weight, numbers = pair(kind, *sizes)
        assert same(F.linear(x, weight), F.linear(x, numbers)), sizes


@pytest.mark.parametrize("kind", ["Q4_0", "Q6_K"])
def test_extremes_count_as_they_do_decoded(kind: str):
    x, weight, numbers = pair(kind, 2, 20, 8)
    raw = np.zeros((20, 8 * 32 // FORMATS[kind].elements * FORMATS[kind].nbytes), np.uint8)
    raw[5:9] = 255  # NaN for a scale, -1 for scales of scales
    raw[10:] = 128  # a scale of -0 or less than any normal half
    weight = from_blocks(gn.tensor(raw), kind)
    numbers = gn.tensor(numbers_of(kind, raw))

    np.testing.assert_array_equal(F.linear(x, weight).numpy(), F.linear(x, numbers).numpy())


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_bits_are_the_same_for_any_number_of_threads(threads: int):
    x, weight, numbers = pair("Q4_K", 9, 200, 16)
    expected = F.linear(x, numbers).numpy()

    with override(num_threads=threads):
        np.testing.assert_array_equal(F.linear(x, weight).numpy(), expected)


def test_the_kernel_is_used_and_its_body_has_its_bits():
    x, weight, numbers = pair("Q5_K", 3, 24, 8)
    call = gn.compile(lambda x: F.linear(x, weight).relu())

    assert same(call(x), F.linear(x, numbers).relu())
    assert " block_product " in str(call.explain())
    with override(without="claim"):
        bare = gn.compile(lambda x: F.linear(x, weight).relu())
        assert same(bare(x), call(x))
        assert " block_product " not in str(bare.explain())


def code_of(rows: int, columns: int, steps: int) -> str:
    """The symbol of the code of a product of these sizes."""
    axes = (Axis(rows, a=steps, c=columns),), (Axis(columns, b=steps, c=1),)
    product = MatmulSpec("float", (), *axes, (Axis(steps, a=1, b=1, leaves=1),))
    spec = BlockProductSpec(product, "Q8_0", steps // 32 * 34), AVX512
    return OpaqueCall("matmul_of_blocks", emit_block_product, spec, (), 0).given().code.symbol


def test_one_code_serves_layers_of_all_sizes():
    memo.clear()
    sizes = [(300, 320, 512), (400, 1024, 640), (512, 4096, 2048), (640, 11008, 4096)]

    assert len({code_of(*each) for each in sizes}) == 1


def test_views_of_x_are_read_where_they_lie():
    x, weight, numbers = pair("Q4_0", 12, 20, 8)
    cube = x.reshape(3, 4, 256)

    for seen in (cube, cube.transpose(0, 1), cube[:, ::2], cube[1], cube[0, 0], x.flip(0)):
        assert same(F.linear(seen, weight), F.linear(seen, numbers))
    wide = gn.tensor(np.random.default_rng(3).standard_normal((256, 5)).astype(np.float32))
    assert same(F.linear(wide.t(), weight), F.linear(wide.t(), numbers))


def test_other_dtypes_are_multiplied_decoded():
    x, weight, numbers = pair("Q4_1", 3, 20, 8)

    for dtype in (gn.bfloat16, gn.float64):
        expected = F.linear(x.to(dtype), numbers.to(dtype))
        assert same(F.linear(x.to(dtype), weight.to(dtype)), expected)
