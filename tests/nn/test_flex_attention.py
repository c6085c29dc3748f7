"""Attention with functions of scores and masks; equality with PyTorch's is in tests/parity."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nn import flex_attention as flex
from gnomon.nn.functional import scaled_dot_product_attention


def inputs(*lengths: int):
    gn.manual_seed(3)
    queries, keys = lengths or (5, 5)
    return gn.randn(2, 4, queries, 3), gn.randn(2, 4, keys, 3), gn.randn(2, 4, keys, 3)


def causal(b, h, q, kv):
    return q >= kv


def test_a_causal_mask_is_causal_attention():
    q, k, v = inputs()
    blocks = flex.create_block_mask(causal, None, None, 5, 5)

    found = flex.flex_attention(q, k, v, block_mask=blocks)

    assert gn.allclose(found, scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-6)


def test_compiled_attention_is_the_eager_one():
    q, k, v = inputs()
    blocks = flex.create_block_mask(causal, None, None, 5, 5)

    def call(q, k, v):
        return flex.flex_attention(q, k, v, lambda s, b, h, m, n: s + 0.1 * (m - n), blocks)

    assert gn.allclose(gn.compile(call)(q, k, v), call(q, k, v), atol=1e-6)


def test_parameters_of_a_score_function_have_gradients():
    q, k, v = inputs()
    bias = gn.zeros(4, requires_grad=True)

    flex.flex_attention(q, k, v, lambda s, b, h, m, n: s + bias[h] * n).square().sum().backward()

    assert bias.grad.shape == (4,)
    assert bias.grad.abs().min() > 0


def test_blocks_that_a_user_gives_leave_places_out():
    q, k, v = inputs(4, 4)
    count, places = gn.tensor([[[1, 1]]]), gn.tensor([[[[1, 0], [0, 1]]]])
    blocks = flex.BlockMask.from_kv_blocks(count, places, BLOCK_SIZE=2)

    found = flex.flex_attention(q, k, v, block_mask=blocks)

    assert blocks.to_dense().tolist() == [[[[0, 1], [1, 0]]]]
    halves = [
        scaled_dot_product_attention(q[:, :, a], k[:, :, b], v[:, :, b])
        for a, b in ((slice(0, 2), slice(2, 4)), (slice(2, 4), slice(0, 2)))
    ]
    assert gn.allclose(found, gn.cat(halves, dim=2), atol=1e-6)


def test_full_blocks_hide_what_the_mask_leaves_out():
    one, none, first = gn.tensor([[[1]]]), gn.tensor([[[0]]]), gn.tensor([[[[0]]]])
    blocks = flex.BlockMask.from_kv_blocks(
        none, first, one, first, BLOCK_SIZE=4, mask_mod=lambda b, h, q, kv: q > 99
    )
    q, k, v = inputs(4, 4)

    found = flex.flex_attention(q, k, v, block_mask=blocks)

    assert gn.allclose(found, scaled_dot_product_attention(q, k, v), atol=1e-6)


def test_masks_of_parts_are_not_known():
    blocks = flex.create_block_mask(causal, 2, 4, 5, 5)
    part = blocks[0:1, 0:1]

    assert part.shape == (1, 1, 5, 5)
    assert blocks.to("cpu") is blocks
    assert "shape=(2, 4, 5, 5)" in repr(blocks)
    with pytest.raises(ValueError, match="Set mask_mod"):
        flex.flex_attention(*inputs(), block_mask=part)


@pytest.mark.parametrize(
    ("shapes", "asked", "told"),
    [
        (((2, 4, 3), (2, 4, 3), (2, 4, 3)), {}, "needs"),
        (((1, 4, 2, 3), (1, 2, 2, 3), (1, 2, 2, 3)), {}, "enable_gqa"),
        (((1, 4, 2, 3), (1, 4, 2, 5), (1, 4, 2, 3)), {}, "do not fit"),
        (((1, 4, 2, 3),) * 3, {"block_mask": flex.create_block_mask(causal, 1, 1, 3, 2)}, "length"),
        (((1, 4, 2, 3),) * 3, {"return_aux": flex.AuxRequest(), "return_lse": True}, "alone"),
    ],
)
def test_what_does_not_fit_is_refused(shapes, asked, told: str):
    with pytest.raises(ValueError, match=told):
        flex.flex_attention(*map(gn.zeros, shapes), **asked)


def test_other_words_are_refused():
    with pytest.raises(TypeError, match="no argument 'dropout_p'"):
        flex.flex_attention(*inputs(), dropout_p=0.5)
    with pytest.raises(TypeError, match="no argument 'block'"):
        flex.create_block_mask(causal, 1, 1, 2, 2, block=3)
    with pytest.raises(TypeError, match="no argument 'q_indices'"):
        flex.BlockMask.from_kv_blocks(gn.ones(1, 1, 1), gn.ones(1, 1, 1, 1), q_indices=3)


def test_masks_are_functions():
    with pytest.raises(ValueError, match="and_masks"):
        flex.and_masks(causal, 3)
    with pytest.raises(ValueError, match="go together"):
        flex.BlockMask((4, 4), gn.zeros(1, 1, 1), gn.zeros(1, 1, 1, 1), gn.zeros(1, 1, 1))
    with pytest.raises(ValueError, match="at least 2 axes"):
        flex.BlockMask((4, 4), gn.zeros(1), gn.zeros(1))
    assert flex.create_mask(lambda s, b, h, q, kv: s + q, None, None, 2, 1).tolist() == [
        [[[0], [1]]]
    ]
