"""Embeddings with max_norm and scale_grad_by_freq: results, tables and gradients are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("max_norm", [None, 0.5, 2.0])
@pytest.mark.parametrize("norm_type", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
def test_embedding(rng, max_norm, norm_type, by_frequency: bool, padding):
    table, places = rng.standard_normal((5, 3)), rng.integers(0, 5, (2, 4))
    results = []
    for library in (gn, torch):
        weight = library.tensor(table, requires_grad=True)
        rest = (padding, max_norm, norm_type, by_frequency)
        rows = library.nn.functional.embedding(library.tensor(places), weight, *rest)
        (rows * rows).sum().backward()
        results.append([x.detach().numpy() for x in (rows, weight, weight.grad)])

    for mine, its in zip(*results, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-12)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags(rng, mode: str, padding):
    table, places = rng.standard_normal((5, 3)), rng.integers(0, 5, (2, 4))
    results = []
    for library in (gn, torch):
        weight = library.tensor(table, requires_grad=True)
        call = library.nn.functional.embedding_bag
        rows = call(
            library.tensor(places), weight, None, 0.7, 2.0, False, mode, padding_idx=padding
        )
        (rows * rows).sum().backward()
        results.append([x.detach().numpy() for x in (rows, weight, weight.grad)])

    for mine, its in zip(*results, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-12)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags_by_frequency(rng, mode: str):
    """As folds of torch's embedding: its bags divide by the counts of other rows (2.13, CPU)."""
    table, places = rng.standard_normal((5, 3)), rng.integers(0, 5, (2, 4))
    mine, its = (library.tensor(table, requires_grad=True) for library in (gn, torch))
    options = {"scale_grad_by_freq": True}
    rows = gn.nn.functional.embedding_bag(gn.tensor(places), mine, mode=mode, **options)
    (rows * rows).sum().backward()
    each = torch.nn.functional.embedding(torch.tensor(places), its, **options)
    folded = getattr(each, mode)(1)
    (folded * folded).sum().backward()

    np.testing.assert_allclose(mine.grad.numpy(), its.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("padding", [None, 0, 4])
@pytest.mark.parametrize("ends", [False, True])
def test_largest_of_bags_that_begin_at_offsets(rng, padding, ends: bool):
    table, places = rng.integers(-2, 2, (6, 3)) / 2, np.array([1, 2, 4, 4, 1, 0, 5])
    results = []
    for library in (gn, torch):
        weight = library.tensor(table, requires_grad=True)
        rows = library.nn.functional.embedding_bag(
            library.tensor(places),
            weight,
            library.tensor([0, 0, 3, 3, 6]),
            mode="max",
            padding_idx=padding,
            include_last_offset=ends,
        )
        (rows * library.arange(rows.numel()).reshape(rows.shape)).sum().backward()
        results.append([x.detach().numpy() for x in (rows, weight.grad)])

    for mine, its in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, its)
