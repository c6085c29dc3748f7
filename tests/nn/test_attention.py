"""Attention beside its formula; masks hide, layouts and extra positions fit."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn import functional as F
from gnomon.nn.attention import SDPBackend, sdpa_kernel

RANDOM = np.random.default_rng(0)
Q, K, V = RANDOM.standard_normal((3, 2, 2, 4, 3))


def mixed(hidden: np.ndarray) -> np.ndarray:
    """Attention of Q, K, V where `hidden` positions are not seen."""
    scores = np.where(hidden, -np.inf, Q @ K.swapaxes(-1, -2) / np.sqrt(3))
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ V


def test_causal_and_masked_attention_follow_the_formula():
    q, k, v = (gn.tensor(x) for x in (Q, K, V))
    later = ~np.tri(4, dtype=bool)

    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    masked = F.scaled_dot_product_attention(q, k, v, attn_mask=gn.tensor(~later))

    np.testing.assert_allclose(causal.numpy(), mixed(later), rtol=1e-10)
    np.testing.assert_allclose(masked.numpy(), mixed(later), rtol=1e-10)
    with pytest.raises(ArgumentError, match="cannot both be given"):
        F.scaled_dot_product_attention(q, k, v, gn.tensor(~later), is_causal=True)


def test_hidden_positions_get_no_share_and_weights_average_over_heads():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x, padding = gn.rand(2, 3, 8), gn.tensor([[False, False, True], [False, False, False]])

    made, weights = layer(x, x, x, key_padding_mask=padding)
    plain, none = layer(x, x, x, key_padding_mask=padding, need_weights=False)

    assert made.shape == (2, 3, 8)
    assert weights.shape == (2, 3, 3)
    assert weights[0, :, 2].tolist() == [0.0] * 3
    np.testing.assert_allclose(weights.sum(-1).detach().numpy(), 1.0, rtol=1e-6)
    np.testing.assert_allclose(plain.detach().numpy(), made.detach().numpy(), atol=1e-6)
    assert none is None


def test_layouts_agree():
    layer = nn.MultiheadAttention(8, 4)
    first = nn.MultiheadAttention(8, 4, batch_first=True)
    first.load_state_dict(layer.state_dict())
    x = gn.rand(5, 2, 8)

    one, _ = layer(x, x, x)
    two, _ = first(*(x.transpose(0, 1),) * 3)
    alone, _ = layer(*(x[:, 0],) * 3)

    np.testing.assert_allclose(
        one.detach().numpy(), two.transpose(0, 1).detach().numpy(), atol=1e-6
    )
    np.testing.assert_allclose(one[:, 0].detach().numpy(), alone.detach().numpy(), atol=1e-6)


def test_parameters_have_pytorchs_names():
    together = nn.MultiheadAttention(8, 2, add_bias_kv=True)
    apart = nn.MultiheadAttention(8, 2, bias=False, kdim=3, vdim=5)

    assert list(together.state_dict()) == [
        *("in_proj_weight", "in_proj_bias", "bias_k", "bias_v"),
        *("out_proj.weight", "out_proj.bias"),
    ]
    assert list(apart.state_dict()) == [
        *("q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"),
    ]
    with pytest.raises(ArgumentError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(8, 3)


def test_a_mask_does_not_make_scores_a_tensor():
    q, k, v = (gn.randn(2, 4, 40, 16, requires_grad=True) for _ in range(3))
    seen = gn.rand(2, 1, 1, 40) > 0.3

    @gn.compile
    def step(q, k, v, seen):
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return gn.autograd.grad((y * y).sum(), (q, k, v))

    step(q, k, v, seen)

    sizes = [prod(x.shape) for kernel in step.kernels() for x in kernel.buffers]
    assert max(sizes) == q.numel()


def test_any_backend_of_attention_is_the_compilers():
    x = gn.ones(1, 2, 3)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert F.scaled_dot_product_attention(x, x, x).equal(x)
    with pytest.raises(ArgumentError, match="backends are of SDPBackend"), sdpa_kernel([]):
        pass


@pytest.mark.parametrize("kind", ["truth values", "numbers", "padding"])
def test_a_query_that_sees_nothing_spoils_no_gradient_of_the_others(kind, rng):
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = gn.tensor(rng.normal(size=(2, 3, 4)).astype(np.float32))
    hidden = np.zeros((3, 3), bool)
    hidden[1] = True
    masks = {
        "truth values": {"attn_mask": gn.tensor(hidden)},
        "numbers": {"attn_mask": gn.tensor(np.where(hidden, -np.inf, 0).astype(np.float32))},
        "padding": {"key_padding_mask": gn.tensor([[False] * 3, [True] * 3])},
    }[kind]

    y, shares = layer(x, x, x, **masks)
    unseen = y.isnan().any(-1)
    y[~unseen].square().sum().backward()

    assert unseen.sum() == (3 if kind == "padding" else 2)
    assert (shares.isnan().any(-1) == unseen).all()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_dropout_goes_with_fewer_key_heads():
    q, k, v = (gn.from_numpy(RANDOM.standard_normal((2, h, 4, 3))) for h in (4, 2, 2))

    most = F.scaled_dot_product_attention(q, k, v, None, 1e-12, True, enable_gqa=True)

    whole = F.scaled_dot_product_attention(q, k, v, None, 0.0, True, enable_gqa=True)
    np.testing.assert_allclose(most.numpy(), whole.numpy(), rtol=1e-9)


@pytest.mark.parametrize(
    ("query", "key", "value", "batch"),
    [
        ((3, 2), (1, 2), (1, 2), (3, 2)),
        ((1, 2), (3, 2), (3, 2), (3, 2)),
        ((3, 1), (3, 2), (3, 2), (3, 2)),
        ((3, 2), (3, 2), (1, 2), (3, 2)),
        ((3, 2), (3, 1), (3, 2), (3, 2)),
        ((3, 2), (3, 2), (3, 1), (3, 2)),
        ((3, 4), (1, 2), (3, 1), None),
        ((), (2,), (2,), (2,)),
        ((4, 2), (2,), (1,), (4, 2)),
        ((2, 1, 2), (1, 4, 2), (2, 4, 1), (2, 4, 2)),
        ((0, 2), (1, 2), (1, 2), (0, 2)),
    ],
)
def test_batches_of_one_go_with_batches_of_many(query, key, value, batch, rng):
    q, k, v = (
        gn.tensor(rng.standard_normal((*shape, rows, 4)).astype(np.float32), requires_grad=True)
        for shape, rows in ((query, 3), (key, 5), (value, 5))
    )
    if batch is None:  # keys of two heads, which four query heads share
        wide = [x.expand(3, 2, 5, 4).repeat_interleave(2, 1) for x in (k, v)]
        whole = [q, *wide]
    else:
        whole = [x.expand(*batch, *x.shape[-2:]) for x in (q, k, v)]
    scores = (whole[0] @ whole[1].mT / 2).softmax(-1)
    wanted = scores @ whole[2]

    found = F.scaled_dot_product_attention(q, k, v)

    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(force=True), wanted.numpy(force=True), atol=1e-6)
    ours, theirs = (gn.autograd.grad(y.square().sum(), (q, k, v)) for y in (found, wanted))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=2e-5)


def test_batches_of_two_and_three_do_not_go_together():
    with pytest.raises(ShapeError, match="broadcast"):
        F.scaled_dot_product_attention(*(gn.ones(n, 2, 3, 4) for n in (2, 3, 3)))
