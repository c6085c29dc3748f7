"""PyTorch's losses that take the two older words of a reduction mean the same by them here."""

from __future__ import annotations

import inspect
import warnings
from itertools import product

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

CLASSES = ("cross_entropy", "nll_loss", "multi_margin_loss")


def losses() -> list[str]:
    """The names of PyTorch's losses that take the older words."""
    found = vars(torch.nn.functional).items()
    return sorted(
        name
        for name, loss in found
        if inspect.isfunction(loss) and "size_average" in inspect.signature(loss).parameters
    )


def given_to(name: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Arguments that a loss takes."""
    x, y = (rng.uniform(0.1, 0.9, (4, 3)) for _ in range(2))
    signs = np.sign(rng.standard_normal((4, 3)))
    if name in CLASSES:
        return [x, rng.integers(0, 3, 4)]
    if name == "multilabel_margin_loss":
        return [x, np.array([[2, 0, -1], [1, -1, 0], [0, 1, 2], [-1, 0, 1]])]
    if name in ("margin_ranking_loss", "triplet_margin_loss"):
        return [x, y, signs]
    if name == "cosine_embedding_loss":
        return [x, y, signs[:, 0]]
    return [x, signs if name in ("hinge_embedding_loss", "soft_margin_loss") else y]


@pytest.mark.parametrize("name", losses())
def test_older_words_of_a_loss_are_torchs(name: str, rng: np.random.Generator):
    arrays = given_to(name, rng)
    for average, reduce in product((None, False, True), repeat=2):
        words = {"size_average": average, "reduce": reduce}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = getattr(torch.nn.functional, name)(*map(torch.from_numpy, arrays), **words)
        ours = getattr(gn.nn.functional, name)(*map(gn.from_numpy, arrays), **words)

        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, err_msg=str(words))


def test_a_hinge_sums_both_parts_where_a_target_is_neither_sign():
    x, y = np.array([0.25, 0.5, 3.0]), np.array([0.0, 0.5, -1.0])

    ours = gn.nn.functional.hinge_embedding_loss(gn.tensor(x), gn.tensor(y), reduction="none")
    theirs = torch.nn.functional.hinge_embedding_loss(
        torch.tensor(x), torch.tensor(y), reduction="none"
    )

    assert ours.tolist() == theirs.tolist()
