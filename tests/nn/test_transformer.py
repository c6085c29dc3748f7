"""Encoder and decoder layers: names, masks, order of norms, copies in stacks."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, ShapeError


def test_a_mask_and_the_word_causal_hide_the_same():
    layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
    x, later = gn.rand(2, 5, 8), ~gn.ones(5, 5, dtype=gn.bool).tril()

    masked, causal = layer(x, src_mask=later), layer(x, is_causal=True)
    floats = layer(x, nn.Transformer.generate_square_subsequent_mask(5))
    changed = layer(gn.cat([x[:, :3], gn.rand(2, 2, 8)], dim=1), is_causal=True)

    np.testing.assert_allclose(masked.detach().numpy(), causal.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(masked.detach().numpy(), floats.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(
        changed[:, :3].detach().numpy(), causal[:, :3].detach().numpy(), atol=1e-5
    )


def test_norms_come_after_or_before():
    x = 10 + gn.rand(1, 3, 8)

    after = nn.TransformerEncoderLayer(8, 2, 12, 0.0)(x)
    before = nn.TransformerEncoderLayer(8, 2, 12, 0.0, norm_first=True)(x)

    np.testing.assert_allclose(after.mean(-1).detach().numpy(), 0.0, atol=1e-5)
    assert before.mean().item() > 5


def test_a_stack_holds_copies():
    layer = nn.TransformerDecoderLayer(8, 2, 12, 0.0)
    stack = nn.TransformerDecoder(layer, 2, norm=nn.LayerNorm(8))

    made = stack(gn.rand(3, 1, 8), gn.rand(4, 1, 8))

    assert made.shape == (3, 1, 8)
    assert stack.layers[0].linear1.weight is not stack.layers[1].linear1.weight
    assert stack.layers[0].linear1.weight.tolist() == layer.linear1.weight.tolist()
    assert "layers.1.multihead_attn.in_proj_weight" in stack.state_dict()
    assert list(stack.state_dict())[-1] == "norm.bias"


def test_other_activations_come_as_functions():
    assert nn.TransformerEncoderLayer(8, 2, activation=gn.tanh).activation is gn.tanh
    with pytest.raises(ArgumentError, match="should be relu/gelu"):
        nn.TransformerEncoderLayer(8, 2, activation="sine")


def test_stacks_take_their_words_and_no_others():
    layer, other = nn.TransformerEncoderLayer(8, 2, 12), nn.TransformerDecoderLayer(8, 2, 12)

    encoder = nn.TransformerEncoder(encoder_layer=layer, num_layers=1, enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(decoder_layer=other, num_layers=2)

    assert (len(encoder.layers), len(decoder.layers)) == (1, 2)
    with pytest.raises(TypeError, match="dropout"):
        nn.TransformerEncoder(layer, 1, dropout=0.5)


def test_a_transformer_is_of_its_dtype_and_words_wholly():
    layer = nn.TransformerEncoderLayer(8, 2, 12)
    custom = nn.TransformerEncoder(layer, 3)

    model = nn.Transformer(8, 2, 1, 1, 12, 0.0, "gelu", custom, None, 1e-3, True, dtype=gn.float64)

    assert model.encoder is custom
    assert {p.dtype for p in model.decoder.parameters()} == {gn.float64}
    assert model.decoder.norm.eps == model.decoder.layers[0].norm1.eps == 1e-3
    assert model.batch_first
    assert model.decoder.layers[0].self_attn.batch_first


@pytest.mark.parametrize("shape", [(3, 2, 8), (3, 1, 6)])
def test_a_transformer_refuses_sequences_that_do_not_fit(shape: tuple[int, ...]):
    model = nn.Transformer(8, 2, 1, 1, 12)

    with pytest.raises(ShapeError, match="Transformer: src"):
        model(gn.ones(4, 1, 8), gn.ones(shape))
