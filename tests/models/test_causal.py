"""Every kind of decoder has the losses of its scores, and a cache that changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.models.causal import token_losses
from gnomon.models.registry import MODELS

SIZES = dict(
    vocab_size=300,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    max_position_embeddings=12,
)


def made(name: str):
    """A small model of a kind."""
    kind = MODELS[name]
    model = kind.model(kind.config(**SIZES))
    kind.initialize(model, 0)
    return model


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_those_of_scores_and_the_objective_is_near_their_mean(name: str, rng):
    model = made(name)
    window = gn.from_numpy(rng.integers(0, 300, (2, 8), np.int64))

    with gn.no_grad():
        losses = model.losses(window)
        loss, *_ = model.objective(window)
        scores = model(window[:, :-1])

    assert losses.numpy().tobytes() == token_losses(scores, window).numpy().tobytes()
    assert abs(loss.item() - losses.mean().item()) < 0.05


@pytest.mark.parametrize("name", MODELS)
def test_one_token_after_the_other_gives_the_scores_of_a_whole_text(name: str, rng):
    model = made(name)
    tokens = rng.integers(0, 300, (1, 7), np.int64)
    whole = model(gn.from_numpy(tokens)).detach().numpy()[0]
    cache = model.empty_cache(1)

    with gn.no_grad():
        found = [
            model.extend(gn.from_numpy(tokens[:, k : k + 1]), gn.tensor([k]), cache).numpy()[0]
            for k in range(7)
        ]

    np.testing.assert_allclose(found, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_the_configuration_counts_the_parameters_of_the_model(name: str):
    model = made(name)

    assert sum(p.numel() for p in model.parameters()) == model.config.parameters
