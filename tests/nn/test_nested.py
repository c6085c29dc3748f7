"""Ragged tensors: made, padded, folded along the ragged axis; attention within items."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nested import as_nested_tensor, nested_tensor, nested_tensor_from_jagged
from gnomon.nn import functional as F
from gnomon.testing import assert_close

pytestmark = pytest.mark.unit


@pytest.fixture
def parts() -> list[gn.Tensor]:
    gn.manual_seed(0)
    return [gn.randn(n, 2, 4) for n in (3, 1, 5)]


def test_ways_to_make_one(parts):
    x, y = nested_tensor(parts), as_nested_tensor(parts)
    z = nested_tensor_from_jagged(gn.cat(parts), gn.tensor([0, 3, 4, 9]), max_seqlen=5)
    for each in (x, y, z):
        assert each.shape[::2] == (3, 2)
        assert each.most() == 5
        for found, part in zip(each.unbind(), parts, strict=True):
            assert_close(found, part)
    assert as_nested_tensor(gn.ones(2, 3)).offsets().tolist() == [0, 3, 6]
    assert nested_tensor([[1], [2, 3]], dtype=gn.float64).dtype == gn.float64


def test_copies_or_not(parts):
    leaf = parts[0].requires_grad_()
    as_nested_tensor([leaf, *parts[1:]]).sum().backward()
    assert leaf.grad.tolist() == gn.ones(3, 2, 4).tolist()
    assert not nested_tensor(parts).requires_grad
    values = gn.ones(2, 1)
    nested_tensor_from_jagged(values, gn.tensor([0, 2])).values().add_(1)
    assert values.tolist() == [[2.0], [2.0]]


@pytest.mark.parametrize("fold", ["sum", "mean", "amax", "amin"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_folds_of_places(parts, fold, keepdim):
    made = getattr(nested_tensor(parts), fold)(1, keepdim)
    wanted = gn.stack([getattr(part, fold)(0, keepdim) for part in parts])
    assert_close(made, wanted)
    heads = getattr(nested_tensor(parts).transpose(1, 2), fold)(dim=2)
    assert_close(heads, gn.stack([getattr(part, fold)(0) for part in parts]))


@pytest.mark.parametrize("dtype", [gn.bool, gn.int8, gn.uint8, gn.int64, gn.float16, gn.float64])
@pytest.mark.parametrize("fold", ["sum", "prod", "amax", "amin", "any", "all", "max", "argmin"])
def test_folds_have_the_dtype_and_values_of_dense_ones(fold, dtype):
    parts = [gn.tensor(x).to(dtype) for x in ([[0.0], [100.0], [90.0]], [[1.0], [1.0]])]
    made = getattr(as_nested_tensor(parts), fold)(1)
    wanted = [getattr(part, fold)(0) for part in parts]
    for each in range(2 if fold == "max" else 1):
        found = made[each] if fold == "max" else made
        dense = gn.stack([x[each] if fold == "max" else x for x in wanted])
        assert found.dtype == dense.dtype
        assert found.tolist() == dense.tolist()


@pytest.mark.parametrize("fold", ["sum", "mean"])
def test_folds_in_another_dtype(parts, fold):
    made = getattr(nested_tensor(parts), fold)(1, dtype=gn.float64)
    wanted = gn.stack([getattr(part, fold)(0, dtype=gn.float64) for part in parts])
    assert_close(made, wanted, rtol=1e-12, atol=1e-12)


def test_means_of_numbers_that_are_no_floats_and_of_many():
    assert nested_tensor([[1, 2], [3]]).mean(1).tolist() == [1.5, 3.0]
    many = nested_tensor([gn.full((70_000,), 1.0, dtype=gn.float16)])
    assert many.mean(1).tolist() == [1.0]


def test_folds_of_an_item_without_places():
    x = nested_tensor([gn.ones(2, 1), gn.ones(0, 1)])
    assert x.sum(1).tolist() == [[2.0], [0.0]]
    assert x.mean(1).isnan().tolist() == [[False], [True]]
    assert x.amax(1).tolist() == [[1.0], [-float("inf")]]
    assert x.softmax(1).values().tolist() == [[0.5], [0.5]]


def test_gradients_of_folds(parts):
    x = nested_tensor(parts, requires_grad=True)
    (x.softmax(1) * x).sum(1).square().sum().backward()
    for found, part in zip(x.grad.unbind(), parts, strict=True):
        alone = part.clone().requires_grad_()
        (alone.softmax(0) * alone).sum(0).square().sum().backward()
        assert_close(found, alone.grad, rtol=1e-4, atol=1e-5)


def test_padding(parts):
    x = nested_tensor(parts)
    dense = x.to_padded_tensor(-1.0)
    assert dense.shape == (3, 5, 2, 4)
    for k, part in enumerate(parts):
        assert_close(dense[k, : len(part)], part)
        assert (dense[k, len(part) :] == -1).all()
    assert gn.nested.to_padded_tensor(x, 0.0, (3, 7, 2, 4)).shape == (3, 7, 2, 4)
    assert x.transpose(1, 2).to_padded_tensor(0.0).shape == (3, 2, 5, 4)
    assert nested_tensor([gn.ones(0, 2)]).to_padded_tensor(0.0).shape == (1, 0, 2)
    with pytest.raises(ValueError, match=r"to_padded_tensor: needs 5 places: got \(3, 4, 2, 4\)"):
        x.to_padded_tensor(0.0, (3, 4, 2, 4))


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_is_that_of_each_item(parts, is_causal):
    x = nested_tensor(parts, requires_grad=True)
    q = x.transpose(1, 2)
    made = F.scaled_dot_product_attention(q, q * 2, q + 1, is_causal=is_causal)
    made.square().sum().backward()
    for found, grad, part in zip(made.unbind(), x.grad.unbind(), parts, strict=True):
        alone = part.clone().requires_grad_()
        p = alone.transpose(0, 1)[None]
        wanted = F.scaled_dot_product_attention(p, p * 2, p + 1, is_causal=is_causal)[0]
        wanted.square().sum().backward()
        assert_close(found, wanted, rtol=1e-5, atol=1e-6)
        assert_close(grad, alone.grad, rtol=1e-4, atol=1e-5)


def test_layers_take_ragged_tensors():
    layer = gn.nn.Sequential(gn.nn.Embedding(9, 4), gn.nn.LayerNorm(4), gn.nn.Linear(4, 2))
    tokens = nested_tensor([[1, 2, 3], [4]])
    for found, part in zip(layer(tokens).unbind(), ([1, 2, 3], [4]), strict=True):
        assert_close(found, layer(gn.tensor(part)))


def test_dropout_draws_once():
    x = nested_tensor([gn.ones(400, 2), gn.ones(3, 2)])
    gn.manual_seed(1)
    wanted = F.dropout(x.values(), 0.5)
    after = gn.rand(1)
    gn.manual_seed(1)
    made = gn.nn.Dropout(0.5)(x)

    assert_close(made.values(), wanted)
    assert_close(gn.rand(1), after)
    assert made.offsets() is x.offsets()


def of_sizes(*sizes: int) -> gn.nested.NestedTensor:
    """An operand of attention with items of such sizes."""
    return nested_tensor([gn.ones(n, 2, 4) for n in sizes]).transpose(1, 2)


def attend(*sizes: tuple[int, ...]) -> gn.nested.NestedTensor:
    """Attention of operands of their own each."""
    return F.scaled_dot_product_attention(*[of_sizes(*each) for each in sizes])


def attend_beside(query: tuple[int, ...], key: tuple[int, ...]) -> gn.nested.NestedTensor:
    """Attention with one operand as key and value."""
    return F.scaled_dot_product_attention(of_sizes(*query), *[of_sizes(*key)] * 2)


def test_attention_of_other_keys():
    q, k = (nested_tensor([gn.randn(n, 2, 4) for n in x]).transpose(1, 2) for x in ((3, 1), (2, 5)))
    made = F.scaled_dot_product_attention(q, k, k * 2)
    for found, one, other in zip(made.unbind(), q.unbind(), k.unbind(), strict=True):
        wanted = F.scaled_dot_product_attention(one[None], other[None], other[None] * 2)[0]
        assert_close(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ends", [[0, 3], [1, 3, 4], [0, 3, 2, 4], [0, 5], [0, 3, 4]])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_offsets_are_looked_at(ends, is_compiled):
    def total(values, ends):
        return nested_tensor_from_jagged(values, ends, max_seqlen=2).sum(1)

    call = gn.compile(total) if is_compiled else total
    with pytest.raises(ValueError, match="offsets must go from 0 to 4, never down, by at most 2"):
        call(gn.ones(4, 2), gn.tensor(ends)).tolist()
    assert (gn.ones(2) + 1).tolist() == [2.0, 2.0]  # nobody else is told
    assert call(gn.ones(4, 1), gn.tensor([0, 2, 2, 4])).tolist() == [[2.0], [0.0], [2.0]]


@pytest.mark.parametrize(
    ("told", "call"),
    [
        ("ragged axes differ", lambda: attend((3, 1), (3, 1), (1, 3))),
        ("q and k share batch", lambda: attend_beside((3, 1), (4,))),
        (
            r"ragged along axis 2 of 4.*got \[NestedTensor.*, Size\(\[2, 2, 3, 4\]\)",
            lambda: F.scaled_dot_product_attention(of_sizes(3, 3), *[gn.ones(2, 2, 3, 4)] * 2),
        ),
        (
            "ragged along axis 2 of 4",
            lambda: F.scaled_dot_product_attention(*[of_sizes(3).transpose(1, 2)] * 3),
        ),
        ("a vector of integers", lambda: nested_tensor_from_jagged(gn.ones(2), gn.arange(0))),
        ("needs tensors that differ in the size of their first axis", lambda: nested_tensor([])),
        ("got \\[\\(2,\\), \\(1, 2\\)\\]", lambda: nested_tensor([[1, 2], [[1, 2]]])),
        ("a vector of integers", lambda: nested_tensor_from_jagged(gn.ones(2), gn.ones(2))),
        ("axis from 1 to 1", lambda: nested_tensor_from_jagged(gn.ones(2), gn.arange(2), None, 2)),
        ("got lengths", lambda: nested_tensor_from_jagged(gn.ones(2), gn.arange(2), gn.ones(1))),
        (
            "ragged tensors with attn_mask",
            lambda: F.scaled_dot_product_attention(*[of_sizes(1)] * 3, gn.ones(1)),
        ),
    ],
)
def test_refusals(told, call):
    with pytest.raises(ValueError, match=told):
        call()
