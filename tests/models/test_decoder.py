"""The decoder looks back only, has Hugging Face's names, and its cache changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gnomon as gn
from gnomon.models.config import Qwen3Config
from gnomon.models.decoder import DecoderForCausalLM, rotate
from gnomon.models.initialization import initialize
from gnomon.models.rotary import rotary_tables
from gnomon.runtime.buffer import memory
from tests.counters import settled

SMALL = Qwen3Config(
    vocab_size=260,
    hidden_size=12,
    intermediate_size=20,
    num_hidden_layers=2,
    num_attention_heads=3,
    num_key_value_heads=1,
    head_dim=4,
    max_position_embeddings=10,
)


@pytest.fixture
def model():
    """A small decoder whose weights are the same in every test."""
    made = DecoderForCausalLM(SMALL)
    initialize(made, seed=0)
    return made


def tokens(rng, *shape):
    """Random tokens."""
    return gn.from_numpy(rng.integers(0, SMALL.vocab_size, shape, dtype=np.int64))


def test_parameters_have_hugging_faces_names(model):
    names = {name: tuple(p.shape) for name, p in model.state_dict().items()}

    assert names["model.embed_tokens.weight"] == (260, 12)
    assert names["model.layers.1.self_attn.q_proj.weight"] == (12, 12)
    assert names["model.layers.1.self_attn.k_proj.weight"] == (4, 12)
    assert names["model.layers.1.self_attn.q_norm.weight"] == (4,)
    assert names["model.layers.0.mlp.down_proj.weight"] == (12, 20)
    assert names["model.layers.0.post_attention_layernorm.weight"] == (12,)
    assert names["model.norm.weight"] == (12,)
    assert len(names) == 2 + 2 * 11


def test_matrices_are_as_many_as_the_configuration_counts(model):
    matrices = sum(p.numel() for p in model.parameters() if p.ndim == 2)

    assert matrices == SMALL.matrix_parameters


def test_a_position_does_not_see_later_ones(model, rng):
    first = tokens(rng, 2, 7)
    changed = first.numpy().copy()
    changed[:, 5:] = (changed[:, 5:] + 1) % SMALL.vocab_size

    before, after = model(first).detach().numpy(), model(gn.from_numpy(changed)).detach().numpy()

    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any()


def test_losses_are_minus_the_log_of_each_tokens_probability(model, rng):
    window = tokens(rng, 2, 7)
    scores = model(window[:, :-1]).detach().numpy().astype(np.float64)

    losses = model.losses(window).detach().numpy()

    logs = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    wanted = -np.take_along_axis(logs, window.numpy()[:, 1:, None], axis=-1)[..., 0]
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)


def test_the_cache_gives_the_scores_of_the_whole_sequence(model, rng):
    row = tokens(rng, 1, 9)
    whole = model(row).detach().numpy()[0]

    cache = model.empty_cache(1)
    with gn.no_grad():
        for place in range(9):
            position = gn.from_numpy(np.array([place], np.int64))
            scores = model.extend(row[:, place : place + 1], position, cache)
            np.testing.assert_allclose(scores.numpy()[0], whole[place], rtol=2e-4, atol=2e-5)


def test_a_compiled_step_writes_into_the_cache_where_it_lies(rng):
    told = {}
    for longest in (128, 1024):
        made = DecoderForCausalLM(replace(SMALL, max_position_embeddings=longest, head_dim=32))
        initialize(made, seed=0)
        extend, cache = gn.compile(made.extend), made.empty_cache(1)
        token = tokens(rng, 1, 1)
        with gn.no_grad():
            for place in range(3):
                gn.evaluate(extend(token, gn.tensor([place]), cache))
                flat = [x for pair in cache for x in pair]
                if place < 2:
                    places, before = list(map(address, flat)), settled().allocated
                    memory.reset_peak()
        assert list(map(address, flat)) == places
        puts = [x for x in extend.kernels() if x.name == "put_rows"]
        told[longest] = len(puts), sum(x.nbytes for x in puts), memory.use().peak - before

    (count, moved, short), (_, _, long) = told.values()
    assert told[1024][:2] == (count, moved) == (4, 4 * (2 * 4 * 32 + 8))
    assert long - short < (1024 - 128) * 4 + 256  # the mask: a number per position


def address(tensor):
    """Where a tensor's bytes are."""
    return tensor._storage.node.value.address


def test_turning_keeps_lengths_and_depends_on_distance_alone(rng):
    cosines, sines = (gn.from_numpy(part) for part in rotary_tables(10, 4, 10_000.0, None))
    row = rng.standard_normal((1, 1, 1, 4)).astype(np.float32)
    same = gn.from_numpy(np.repeat(row, 10, axis=2))

    turned = rotate(same, (cosines, sines)).numpy()[0, 0]

    np.testing.assert_allclose((turned**2).sum(axis=-1), (row**2).sum(), rtol=1e-5)
    products = turned @ turned.T
    np.testing.assert_allclose(np.diag(products, 3), products[0, 3], rtol=1e-4)


def test_every_parameter_gets_a_gradient(model, rng):
    model.losses(tokens(rng, 2, 7)).mean().backward()

    assert all(np.abs(p.grad.numpy()).max() > 0 for p in model.parameters())
