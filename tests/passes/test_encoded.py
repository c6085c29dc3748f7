"""Products and lookups read blocks; what else is done with decoded values keeps its bits."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon.ir.node import Arena, Graph, topological
from gnomon.ops.blocks import decode_blocks, is_decoding
from gnomon.ops.embedding import embedding
from gnomon.ops.linalg import linear
from gnomon.passes.encoded import read_blocks
from gnomon.passes.inline import inline
from gnomon.tensor.encoded import from_blocks
from gnomon.tensor.tensor import raw
from tests.quantized import numbers_of, random_blocks, same

RAW = random_blocks("Q8_0", 20, 8)
NUMBERS = numbers_of("Q8_0", RAW)


def names_in(function, *shapes) -> list[str]:
    """The operations of a graph that has read blocks, given what it does with x and a weight."""
    arena = Arena()
    blocks = arena.input((20, 272), gn.uint8)
    given = [arena.input(shape, dtype) for shape, dtype in shapes]
    made = function(decode_blocks(blocks, kind="Q8_0"), *given)
    flat = inline(Graph([blocks, *given], [made]), is_decoding)
    return [x.params["name"] if x.op == "region" else x.op for x in read_blocks(flat).nodes]


@pytest.mark.parametrize("shape", [(4, 256), (2, 3, 256), (256,)])
def test_a_linear_layer_is_a_product_of_blocks(shape):
    names = names_in(lambda w, x: linear(x, w), (shape, gn.float32))

    assert "block_product" in names
    assert not {"decode_blocks", "contract"} & {*names}


def test_a_lookup_decodes_the_rows_that_it_finds():
    names = names_in(lambda w, index: embedding(index, w), ((2, 3), gn.int64))

    assert names.index("gather") < names.index("decode_blocks")


def test_a_product_along_rows_reads_decoded_numbers():
    names = names_in(lambda w, x: linear(x, w.arena.node("permute", (w,), order=(1, 0))),
                     ((4, 20), gn.float32))  # fmt: skip

    assert "contract" in names
    assert "block_product" not in names


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: x @ w.T,
        lambda x, w: gn.einsum("tk,nk->tn", x, w),
        lambda x, w: gn.einsum("tk,nk->nt", x, w),
        lambda x, w: w @ x.T,
        lambda x, w: F.linear(x, w[3:9]),
        lambda x, w: F.linear(x, w * 2),
        lambda x, w: F.linear(x, w) + w.sum(),
        lambda x, w: (x @ w[0], w[gn.tensor([3, 3])]),
        lambda x, w: F.linear(x[:, :20], w.t()),
        lambda x, w: F.linear(F.linear(x, w), w.t()),
    ],
)
def test_bits_are_those_of_decoded_numbers(function):
    x, weight, numbers = gn.randn(3, 256), from_blocks(gn.tensor(RAW), "Q8_0"), gn.tensor(NUMBERS)

    expected = function(x, numbers)
    for found in (function(x, weight), gn.compile(function)(x, weight)):
        pairs = (
            [(found, expected)]
            if isinstance(found, gn.Tensor)
            else zip(found, expected, strict=True)
        )
        assert all(same(a, b) for a, b in pairs)


def test_layers_of_one_input_whose_weights_are_blocks_stay_apart():
    x, rows = gn.randn(32, 256), random_blocks("Q8_0", 20, 8)
    weights = [from_blocks(gn.from_numpy(part), "Q8_0") for part in (rows, rows[:4])]
    numbers = [gn.from_numpy(numbers_of("Q8_0", part)) for part in (rows, rows[:4])]

    for call in (F.linears, gn.compile(F.linears)):
        made = call(x, weights)
        for y, w in zip(made, weights, strict=True):
            assert y.equal(F.linear(x, w))
    joined = raw(F.linears(x, numbers)[0])
    apart = raw(F.linears(x, weights)[0])
    assert any(
        each.op == "region" and each.params["name"] == "cat" for each in topological([joined])
    )
    assert not any(
        each.op == "region" and each.params["name"] == "cat" for each in topological([apart])
    )
