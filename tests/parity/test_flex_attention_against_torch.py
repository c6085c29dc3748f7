"""flex_attention is PyTorch's: results, gradients, what is given beside them, and blocks."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.nn import flex_attention as ours

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
theirs = pytest.importorskip("torch.nn.attention.flex_attention")
pytestmark = pytest.mark.parity

B, H, Q, K, D = 2, 4, 7, 9, 3
DOCUMENTS = np.array([[0, 0, 0, 1, 1, 2, 2, 2, 2], [0, 1, 1, 1, 1, 1, 3, 3, 3]])
SLOPES = np.array([1.0, 0.5, 0.25, 0.125])


def masks(library, flex):
    """Masks by name."""
    documents = library.tensor(DOCUMENTS)
    causal = lambda b, h, q, kv: q >= kv  # noqa: E731
    return {
        "none": None,
        "all": flex.noop_mask,
        "causal": causal,
        "documents": lambda b, h, q, kv: documents[b, q] == documents[b, kv],
        "rows of documents": lambda b, h, q, kv: documents[b][q] == documents[b][kv],
        "window": flex.and_masks(causal, lambda b, h, q, kv: q - kv <= 2),
        "prefix": flex.or_masks(causal, lambda b, h, q, kv: kv < 3),
        "heads": lambda b, h, q, kv: kv % (h + 1) == 0,
        "nothing seen": lambda b, h, q, kv: (q != 3) & (kv > 2),
    }


def scores(library, slopes):
    """Functions of scores by name."""
    where = library.where
    return {
        "none": None,
        "bias": lambda s, b, h, q, kv: s + slopes[h] * (kv - q),
        "soft cap": lambda s, b, h, q, kv: 2.0 * library.tanh(s / 2.0),
        "causal": lambda s, b, h, q, kv: where(q >= kv, s, -float("inf")),
        "all": lambda s, b, h, q, kv: s * (b + 1) + h * 0.5,
    }


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """PyTorch's functions run as they are, and not compiled."""
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def run(library, flex, arrays, mask: str, score: str, **asked):
    """A call's result, and the inputs."""
    inputs = [library.tensor(x, requires_grad=library is gn) for x in arrays]
    q, k, v, slopes = inputs
    chosen = masks(library, flex)[mask]
    batch = None if mask in ("causal", "window") else B
    blocks = None
    if chosen is not None:
        blocks = flex.create_block_mask(chosen, batch, H, Q, K, device="cpu", BLOCK_SIZE=(2, 4))
    modified = scores(library, slopes)[score]
    return flex.flex_attention(q, k, v, modified, blocks, **asked), inputs[:3]


def by_hand(arrays, mask: str, score: str):
    """What PyTorch's flex_attention refuses on a CPU: sums, largest scores, and gradients."""
    q, k, v, slopes = (torch.tensor(x, requires_grad=True) for x in arrays)
    places = [torch.arange(n).reshape(-1, *(1,) * (3 - j)) for j, n in enumerate((B, H, Q, K))]
    found = q @ k.mT / D**0.5
    modified, chosen = scores(torch, slopes)[score], masks(torch, theirs)[mask]
    found = found if modified is None else modified(found, *places)
    if chosen is not None:
        within = theirs.create_mask(chosen, B, H, Q, K, device="cpu")
        found = torch.where(within, found, -float("inf"))
    seen = (found > -float("inf")).any(-1, keepdim=True)
    shares = torch.where(seen, torch.where(seen, found, 0.0).softmax(-1), 0.0)
    (shares @ v * q.detach()[..., :1]).sum().backward()
    return [found.logsumexp(-1), found.amax(-1), q.grad, k.grad, v.grad]


def agree(ours_of, theirs_of) -> None:
    """Each result equals its counterpart."""
    for mine, its in zip(ours_of, theirs_of, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), its.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("score", sorted(scores(gn, None)))
@pytest.mark.parametrize("mask", sorted(masks(gn, ours)))
def test_results_and_gradients(rng, mask: str, score: str):
    shapes = [(B, H, Q, D), (B, H, K, D), (B, H, K, D + 2)]
    arrays = [*(rng.standard_normal(x) for x in shapes), SLOPES]
    aux = ours.AuxRequest(lse=True, max_scores=True)
    (found, more), inputs = run(gn, ours, arrays, mask, score, return_aux=aux)
    (found * inputs[0].detach()[..., :1]).sum().backward()

    agree([found], [run(torch, theirs, arrays, mask, score)[0]])
    agree([more.lse, more.max_scores, *(x.grad for x in inputs)], by_hand(arrays, mask, score))


def test_fewer_heads_of_keys_and_a_scale(rng):
    shapes = [(B, H, Q, D), (B, 2, K, D), (B, 2, K, D)]
    arrays = [*(rng.standard_normal(x) for x in shapes), SLOPES]
    asked = {"enable_gqa": True, "scale": 0.3}

    agree(
        [run(gn, ours, arrays, "causal", "bias", **asked)[0]],
        [run(torch, theirs, arrays, "causal", "bias", **asked)[0]],
    )


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("mask", sorted(set(masks(gn, ours)) - {"none"}))
def test_blocks(mask: str, separate: bool):
    found, wanted = (
        flex.create_block_mask(
            masks(library, flex)[mask],
            B,
            H,
            Q,
            K,
            device="cpu",
            BLOCK_SIZE=(2, 3),
            separate_full_blocks=separate,
        )
        for library, flex in ((gn, ours), (torch, theirs))
    )

    assert found.shape == wanted.shape
    assert found.numel() == wanted.numel()
    assert found.sparsity() == pytest.approx(wanted.sparsity())
    assert found.to_dense().tolist() == wanted.to_dense().tolist()
    for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"):
        mine, its = getattr(found, name), getattr(wanted, name)
        assert (mine is None) == (its is None)
        assert mine is None or mine.tolist() == its.tolist()
        assert mine is None or str(mine.dtype)[-5:] == str(its.dtype)[-5:]
