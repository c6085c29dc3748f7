"""Modules of both libraries with the same parameters: keys, outputs, gradients, running buffers.

How parameters are drawn is compared by their spread, since the random streams differ.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import gnomon
from tests.parity.harness import first_values
from tests.parity.table.modules import LAYERS, Layer
from tests.parity.test_ops_against_torch import assert_near, kind, leaves, plain, weighed

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

ROWS = [pytest.param(layer, id=layer.name) for layer in LAYERS]


def samples(layer: Layer) -> list[np.ndarray]:
    """The layer's inputs; floats are float64."""
    random = np.random.default_rng(zlib.crc32(layer.name.encode()))
    return [np.asarray(maker(random)) for maker in layer.makers]


def filled(lib: Any, layer: Layer) -> Any:
    """The layer in float64, with parameters that depend on their names alone."""
    module = layer.build(lib.nn).to(lib.float64)
    state = module.state_dict()
    for name, parameter in module.named_parameters():
        values = first_values(name, tuple(parameter.shape), 0)
        state[name] = lib.tensor(np.asarray(values), dtype=lib.float64)
    module.load_state_dict(state)
    return module


def outcome(lib: Any, layer: Layer, training: bool) -> tuple[list[Any], list[Any]]:
    """What the layer gives, and all gradients and buffers after one backward."""
    module = filled(lib, layer).train(training)
    inputs = [lib.tensor(array) for array in samples(layer)]
    if layer.makers and inputs[0].is_floating_point():
        inputs[0].requires_grad_()
    answer = layer.call(module, *inputs)
    weighed(answer).backward()
    grads = [inputs[0].grad] + [parameter.grad for parameter in module.parameters()]
    return leaves(answer), [*(g for g in grads if g is not None), *module.buffers()]


@pytest.mark.parametrize("layer", ROWS)
def test_outputs_gradients_and_buffers_are_torchs(layer: Layer):
    at_rest = bool(list(layer.build(torch.nn).buffers()))  # without any it is as in training
    for training in (True, False) if at_rest else (True,):
        ours, theirs = outcome(gnomon, layer, training), outcome(torch, layer, training)

        for our, their in zip(ours[0] + ours[1], theirs[0] + theirs[1], strict=True):
            assert kind(our) == kind(their)
            assert_near(plain(our), plain(their), "float64", 10.0 * layer.slack)


@pytest.mark.parametrize("layer", ROWS)
def test_state_dict_keys_shapes_and_dtypes_are_torchs(layer: Layer):
    ours, theirs = (layer.build(lib.nn).state_dict() for lib in (gnomon, torch))

    assert [(key, tuple(v.shape), kind(v)) for key, v in ours.items()] == [
        (key, tuple(v.shape), kind(v)) for key, v in theirs.items()
    ]


WIDE = (
    *("Linear(300, 200)", "Embedding(300, 200)", "Conv2d(20, 30, 5)", "Conv1d(50, 60, 7)"),
    *("ConvTranspose2d(30, 20, 5)", "MultiheadAttention(160, 4)", "LayerNorm(50)"),
    *("BatchNorm2d(50)", "RMSNorm(50)", "GRUCell(200, 100)", "Bilinear(30, 30, 30)", "PReLU()"),
)


@pytest.mark.parametrize("text", WIDE)
def test_parameters_are_drawn_from_torchs_distributions(text: str):
    ours, theirs = (
        dict(eval(f"nn.{text}", {"nn": lib.nn}).named_parameters()) for lib in (gnomon, torch)
    )

    assert ours.keys() == theirs.keys()
    for key in ours:
        our, their = plain(ours[key]), plain(theirs[key])
        chance = 3 / np.sqrt(their.size)
        np.testing.assert_allclose(our.std(), their.std(), 0.05 + chance, 1e-12, err_msg=key)
        # a uniform distribution's largest value is its bound; a normal one's is near four sigma
        ours_bound, their_bound = np.abs(our).max(), np.abs(their).max()
        np.testing.assert_allclose(ours_bound, their_bound, 0.25 + chance, err_msg=key)


INITIALIZERS = (
    *("uniform_(w, -0.3, 0.2)", "normal_(w, 0.5, 0.1)", "constant_(w, 0.3)", "ones_(w)"),
    *("zeros_(w)", "eye_(w)", "xavier_uniform_(w, gain=2.0)", "xavier_normal_(w)"),
    *("kaiming_uniform_(w, a=5**0.5)", "kaiming_normal_(w, mode='fan_out')"),
    *("trunc_normal_(w, std=0.02)", "orthogonal_(w)"),
)


@pytest.mark.parametrize("text", INITIALIZERS)
def test_initializers_draw_from_torchs_distributions(text: str):
    drawn = []
    for lib in (gnomon, torch):
        weight = lib.empty(120, 150)
        eval(f"nn.init.{text}", {"nn": lib.nn, "w": weight})
        drawn.append(plain(weight))

    our, their = drawn
    np.testing.assert_allclose(our.mean(), their.mean(), atol=0.02)
    np.testing.assert_allclose(our.std(), their.std(), rtol=0.1, atol=1e-12)
    np.testing.assert_allclose(np.abs(our).max(), np.abs(their).max(), rtol=0.35)


def mixed(lib):
    """A module of many kinds, one of which saves more than tensors."""
    nn = lib.nn

    class Extra(nn.Module):
        def get_extra_state(self):
            return {"a": 1}

        def set_extra_state(self, state):
            self.taken = state

    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.extra = nn.BatchNorm1d(2), Extra()
            self.instances = nn.InstanceNorm1d(2, affine=True, track_running_stats=True)
            self.layer = nn.TransformerEncoderLayer(2, 1, 4)
            self.parts = nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU(), nn.GRU(2, 2))
            self.listed = nn.ParameterList([nn.Parameter(lib.ones(1))])

    return Holder()


def test_keys_and_notes_of_a_state_are_torchs():
    mine, theirs = (mixed(lib).state_dict() for lib in (gnomon, torch))

    assert list(mine) == list(theirs)
    assert mine._metadata == theirs._metadata


@pytest.mark.parametrize(
    "given",
    [
        (),
        ("norm.weight", "other", "parts.9.weight", "parts.0.other", "norm._extra_state"),
        ("extra._extra_state", "norm.weight.inside", "a.b.c", "layer.linear1.bias.x"),
    ],
)
def test_keys_that_are_missing_or_left_over_are_torchs(given):
    mine, theirs = (
        mixed(lib).load_state_dict({key: lib.ones(2) for key in given}, strict=False)
        for lib in (gnomon, torch)
    )

    assert mine.missing_keys == theirs.missing_keys
    assert mine.unexpected_keys == theirs.unexpected_keys
