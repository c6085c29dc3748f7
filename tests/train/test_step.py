"""A step learns, clips, and takes its learning rate as a value."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.initialization import initialize
from gnomon.train.checkpoint import fingerprint
from gnomon.train.state import optimizer_arrays, parameter_arrays
from gnomon.train.step import TrainStep, make_optimizer

WINDOW = np.arange(34, dtype=np.int64).reshape(2, 17)


def made(config):
    """A fresh model, its optimizer and its step."""
    model = DecoderForCausalLM(config.model)
    initialize(model, seed=0)
    optimizer = make_optimizer(model, config)
    return model, optimizer, TrainStep(model, optimizer, config)


def test_the_loss_starts_near_uniform_and_falls(config):
    _, _, step = made(config)

    losses = [step(WINDOW, 1e-2)[0] for _ in range(8)]

    assert abs(losses[0] - np.log(300)) < 0.5
    assert losses[-1] < losses[0] - 0.5


def test_two_equal_runs_give_equal_bits(config):
    _, _, first = made(config)
    _, _, second = made(config)

    assert [first(WINDOW, 1e-2) for _ in range(3)] == [second(WINDOW, 1e-2) for _ in range(3)]


def test_a_rate_of_zero_changes_nothing_and_a_larger_one_more(config):
    model, _, step = made(config)
    before = {name: array.copy() for name, array in parameter_arrays(model).items()}

    step(WINDOW, 0.0)
    assert all((array == before[name]).all() for name, array in parameter_arrays(model).items())

    step(WINDOW, 1e-2)
    assert all((array != before[name]).any() for name, array in parameter_arrays(model).items())


def test_groups_are_embedding_matrices_and_norms(config):
    model, optimizer, _ = made(config)

    sizes = [len(group["params"]) for group in optimizer.param_groups]
    decays = [group["weight_decay"] for group in optimizer.param_groups]

    assert sum(sizes) == len(list(model.parameters()))
    assert sizes == [1, 2 * 7, 2 * 4 + 1]
    assert decays == [0.0, 0.1, 0.0]


def test_a_step_becomes_kernels(config):
    _, _, step = made(config)

    assert step.kernels == 0
    step(WINDOW, 1e-3)
    assert step.kernels > 10


def test_a_step_that_gives_no_numbers_leaves_parameters_and_state_as_they_were(config):
    model, optimizer, step = made(config)
    step(WINDOW, 1e-3)
    weight = model.get_parameter("model.norm.weight")
    sound = weight.detach().numpy().copy()
    before = fingerprint(parameter_arrays(model) | optimizer_arrays(model, optimizer))
    with gn.no_grad():
        weight[3] = float("inf")

    found = step(WINDOW, 1e-3)

    assert not np.isfinite(found).all()
    with gn.no_grad():
        weight.copy_(gn.tensor(sound))
    after = parameter_arrays(model) | optimizer_arrays(model, optimizer)
    assert fingerprint(after) == before
