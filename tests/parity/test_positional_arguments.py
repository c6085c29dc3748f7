"""Losses take their settings by position in PyTorch's order, older words among them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.ops.registry import OPS

torch = pytest.importorskip("torch")
IGNORED = [pytest.mark.filterwarnings(f"ignore:{x}") for x in ("size_average", "Using a target")]
pytestmark = [pytest.mark.parity, *IGNORED]

rng = np.random.default_rng(5)
X, T, U, W = (rng.random((3, 4), np.float32) for _ in range(4))
SIGNS, CLASSES = np.sign(T - 0.5), np.array([0, 1, 3])
OLDER = [(None, None, "sum"), (False,), (None, False), (True, True, "sum"), ("sum",), (0, 1)]
CASES = [
    *[(name, (X, T), more) for name in ("mse_loss", "l1_loss", "smooth_l1_loss") for more in OLDER],
    *[(name, (X, T), more) for name in ("kl_div", "soft_margin_loss") for more in OLDER],
    *[("binary_cross_entropy", (X, T), (None, *more)) for more in OLDER],
    ("kl_div", (X, T), (None, None, "sum", True)),
    ("smooth_l1_loss", (X, T), (None, None, "sum", 0.5)),
    ("huber_loss", (X, T), ("sum", 0.3)),
    ("hinge_embedding_loss", (X, SIGNS), (0.3, None, None, "sum")),
    ("margin_ranking_loss", (X, T, SIGNS), (0.3,)),
    ("cosine_embedding_loss", (X, T, SIGNS[:, 0]), (0.3, None, None, "none")),
    ("triplet_margin_loss", (X, T, U), (0.3, 1.0, 1e-6, True, None, None, "sum")),
    ("gaussian_nll_loss", (X, T, U), (True, 1e-6, "sum")),
    ("poisson_nll_loss", (X, T), (False, True, None, 1e-7, None, "sum")),
    ("cross_entropy", (X, CLASSES), (None, None, 1, None, "sum", 0.1)),
    ("cross_entropy", (X, CLASSES, W[0]), (False,)),
    ("nll_loss", (X, CLASSES), (None, None, 1, None, "sum")),
    ("multi_margin_loss", (X, CLASSES), (2, 0.5, None, None, None, "sum")),
    ("multilabel_soft_margin_loss", (X, np.maximum(SIGNS, 0)), (None, None, None, "sum")),
    ("binary_cross_entropy_with_logits", (X, T), (None, None, None, "sum", None)),
]


@pytest.mark.parametrize(("name", "arrays", "more"), CASES)
def test_settings_by_position_are_torchs(name: str, arrays: tuple, more: tuple):
    theirs = getattr(torch.nn.functional, name)(*map(torch.tensor, arrays), *more)
    ours = [getattr(F, name)(*map(gn.tensor, arrays), *more) for _ in range(2)]

    for found in ours:
        np.testing.assert_allclose(found.numpy(), theirs.numpy(), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*Using a target size")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (0, 4)])
def test_weights_of_elements_are_torchs(name: str, reduction: str, shape: tuple):
    arrays = [X[: shape[0]], T, W[: shape[0]]]
    if shape[0] == 0:
        arrays[1] = T[:0]
    found = []
    for library, functional in ((torch, torch.nn.functional), (gn, F)):
        x, t, w = (library.tensor(part, requires_grad=True) for part in arrays)
        loss = getattr(functional, name)(x, t, reduction=reduction, weight=w)
        loss.sum().backward()
        found.append([part.detach().numpy() for part in (loss, x.grad, t.grad, w.grad)])

    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_weights_of_another_shape_are_refused():
    for name in ("mse_loss", "l1_loss", "huber_loss"):
        with pytest.raises(gn.errors.ShapeError, match=f"{name}: weight must have the shape of x"):
            getattr(F, name)(gn.ones(3), gn.ones(3), weight=gn.ones(1))


def theirs_by_position(name: str) -> list[str]:
    """The positional parameters of torch's function."""
    parameters = inspect.signature(getattr(torch.nn.functional, name)).parameters.values()
    return [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]


@pytest.mark.parametrize(
    "name", [x for x, op in OPS.items() if "reduction" in op.words and op.facts.functional is True]
)
def test_every_loss_takes_torchs_positions(name: str):
    op, theirs = OPS[name], theirs_by_position(name)
    own = op.function.__code__.co_argcount

    assert " ".join(theirs[own:]) == op.facts.order
    for mine, word in zip(op.words[:own], theirs, strict=False):
        assert mine == op.own_word(word)
