"""vmap: the same functions of one sample mapped in both libraries, with their gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:There is a performance drop")]

# name -> (function of (lib, functional, x (4, 6), y (6,)), axes of samples)
CASES = {
    "pointwise": (lambda L, f, x, y: (x * y).tanh() + x.exp() / (1 + y * y), (0, 0)),
    "reductions": (lambda L, f, x, y: x.mean(dim=0) * y.sum() + x.amax(dim=-1).sum(), (0, None)),
    "statistics": (lambda L, f, x, y: x.var(dim=-1) + x.std() + x.logsumexp(dim=-1), (2, None)),
    "products": (lambda L, f, x, y: x @ y + L.einsum("ij,kj,j->ik", x, x, y).sum(dim=0), (0, 0)),
    "matrices": (lambda L, f, x, y: (x @ x.T).softmax(dim=-1) @ x, (1, None)),
    "views": (
        lambda L, f, x, y: L.cat([x.reshape(6, 4).T[:, ::2], x[1:, :3].flip(0)[:1]]).flatten(),
        (0, None),
    ),
    "padding": (lambda L, f, x, y: f.pad(x, (1, 2)).unfold(0, 2, 1).sum(dim=-1), (0, None)),
    "norms": (lambda L, f, x, y: f.layer_norm(x, (6,), y) + f.rms_norm(x, (6,)), (0, None)),
    "activations": (lambda L, f, x, y: f.gelu(x) + f.silu(x) * f.softplus(y), (0, 0)),
    "convolution": (
        lambda L, f, x, y: f.conv1d(x[None], y.reshape(1, 1, 6).expand(2, 4, 6)[..., :3]),
        (0, 0),
    ),
    "pooling": (lambda L, f, x, y: f.max_pool1d(x, 2) + f.avg_pool1d(x, 2), (0, None)),
    "order": (lambda L, f, x, y: x.sort(dim=-1)[0] * y + x.cumsum(dim=0), (0, 0)),
    "choices": (lambda L, f, x, y: L.where(x > y, x * 2, y).clamp(-1, 1), (0, None)),
    "lookups": (lambda L, f, x, y: x.gather(1, (x * 0).long() + 2) + x[:, L.tensor([1])], (0, 0)),
    "losses": (
        lambda L, f, x, y: f.cross_entropy(x, L.tensor([1, 0, 5, 2])) + f.mse_loss(x[0], y),
        (0, 0),
    ),
    "attention": (
        lambda L, f, x, y: f.scaled_dot_product_attention(x[None], x[None] * y, x[None]),
        (0, 0),
    ),
}
SAMPLES = 3


def arrays(axes):
    """Inputs whose samples stand along the axes."""
    rng = np.random.default_rng(3)
    made = []
    for shape, axis in zip(((4, 6), (6,)), axes, strict=True):
        whole = rng.standard_normal((SAMPLES, *shape)).astype(np.float32)
        made.append(whole[0] if axis is None else np.moveaxis(whole, 0, axis))
    return [np.ascontiguousarray(a) for a in made]


def told(lib, functional, name):
    """Values of all samples, and the gradients of a weighed sum of them."""
    function, axes = CASES[name]
    x, y = (lib.tensor(a, requires_grad=True) for a in arrays(axes))
    out = lib.vmap(lambda x, y: function(lib, functional, x, y), in_dims=axes)(x, y)
    weights = lib.tensor(np.cos(np.arange(out.numel(), dtype=np.float32)).reshape(tuple(out.shape)))
    (out * weights).sum().backward()
    grads = [np.zeros(tuple(t.shape)) if t.grad is None else t.grad.numpy() for t in (x, y)]
    return [out.detach().numpy(), *grads]


@pytest.mark.parametrize("name", CASES)
def test_mapped_functions_are_torchs(name):
    for mine, theirs in zip(told(gn, F, name), told(torch, torch.nn.functional, name), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)


def test_results_go_where_torch_puts_them():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    found = [
        lib.vmap(lambda a: (a.sum(dim=0), a * 2), in_dims=1, out_dims=(1, -1))(lib.tensor(x))
        for lib in (gn, torch)
    ]

    assert [t.tolist() for t in found[0]] == [t.tolist() for t in found[1]]


def test_rows_of_a_jacobian_and_slopes_of_samples_are_torchs():
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal(4).astype(np.float32), rng.standard_normal((3, 4)).astype(np.float32)
    rows = rng.standard_normal((5, 4)).astype(np.float32)
    leaf, weight = gn.tensor(x, requires_grad=True), gn.tensor(w, requires_grad=True)
    y = F.softmax(F.linear(leaf, weight), dim=0)
    mine = gn.vmap(lambda v: gn.autograd.grad(y, leaf, v, retain_graph=True)[0])(gn.eye(3))
    slopes = gn.vmap(lambda r: gn.autograd.grad((weight @ r).tanh().sum(), weight)[0])(
        gn.tensor(rows)
    )
    theirs = torch.func.jacrev(lambda a: torch.softmax(torch.tensor(w) @ a, 0))(torch.tensor(x))
    wanted = torch.vmap(torch.func.grad(lambda u, r: (u @ r).tanh().sum()), in_dims=(None, 0))(
        torch.tensor(w), torch.tensor(rows)
    )

    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-6)
    np.testing.assert_allclose(slopes.numpy(), wanted.numpy(), atol=1e-6)
