"""Pruning, one way after another, gives torch's masks, gradients and state_dict keys."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import gnomon

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")


def layer(lib, size: int, seed: int):
    """A layer with numpy's values."""
    made = lib.nn.Linear(6, size)
    values = np.random.default_rng(seed).normal(size=(size, 6)).astype(np.float32)
    with lib.no_grad():
        made.weight.copy_(lib.tensor(values))
        made.bias.copy_(lib.tensor(values[:, 0].copy()))
    return made, lib.tensor(values)


def pruned(lib) -> tuple[list[np.ndarray], list]:
    """What pruning leaves, and the names in the state."""
    prune = importlib.import_module(f"{lib.__name__}.nn.utils.prune")
    (one, x), (two, _) = layer(lib, 5, 1), layer(lib, 4, 2)
    found = []
    for way in (
        lambda: prune.l1_unstructured(one, "weight", 0.3),
        lambda: prune.ln_structured(one, "weight", 2, n=2, dim=0),
        lambda: prune.ln_structured(one, "weight", 1, n=1, dim=1),
        lambda: prune.l1_unstructured(one, "weight", 0.5),
        lambda: prune.global_unstructured(
            [(one, "weight"), (two, "weight"), (two, "bias")], prune.L1Unstructured, amount=0.5
        ),
    ):
        way()
        found.append(one.weight_mask)
    one(x).square().sum().backward()
    found += [two.weight_mask, two.bias, two.weight, one.weight_orig.grad]
    names = [list(one.state_dict()), list(two.state_dict()), [n for n, _ in two.named_buffers()]]
    prune.remove(one, "weight")
    found.append(one.weight)
    return [x.detach().numpy() for x in found], [*names, list(one.state_dict())]


def test_masks_gradients_and_names_are_torchs():
    (ours, our_names), (theirs, their_names) = pruned(gnomon), pruned(torch)

    assert our_names == their_names
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-5)
