"""A model and its optimizer go through arrays and come back to the bits."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import CheckpointError
from gnomon.models.initialization import initialize
from gnomon.models.qwen3 import Qwen3ForCausalLM
from gnomon.train.checkpoint import fingerprint
from gnomon.train.state import (
    load_optimizer,
    load_parameters,
    optimizer_arrays,
    parameter_arrays,
)
from gnomon.train.step import Step, make_optimizer


def trained(config, steps):
    """A model and its optimizer after some steps."""
    model = Qwen3ForCausalLM(config.model)
    initialize(model, seed=1)
    optimizer = make_optimizer(model, config)
    step = Step(model, optimizer, config)
    for number in range(steps):
        step(np.arange(number, number + 34, dtype=np.int64).reshape(2, 17), 1e-3)
    return model, optimizer


def test_parameters_and_optimizer_come_back_and_go_on_alike(config):
    model, optimizer = trained(config, 2)
    copy, other = trained(config, 0)

    load_parameters(copy, parameter_arrays(model))
    load_optimizer(copy, other, optimizer_arrays(model, optimizer))

    window = np.arange(34, dtype=np.int64).reshape(2, 17)
    assert Step(copy, other, config)(window, 1e-3) == Step(model, optimizer, config)(window, 1e-3)
    assert fingerprint(parameter_arrays(copy)) == fingerprint(parameter_arrays(model))
    assert fingerprint(optimizer_arrays(copy, other)) == fingerprint(
        optimizer_arrays(model, optimizer)
    )


def test_optimizer_arrays_carry_their_parameters_names(config):
    names = optimizer_arrays(*trained(config, 1))

    assert names["model.norm.weight.exp_avg"].shape == (16,)
    assert names["model.embed_tokens.weight.exp_avg_sq"].shape == (300, 16)
    assert float(names["model.norm.weight.step"]) == 1


def test_another_models_arrays_are_refused(config):
    model, optimizer = trained(config, 1)
    arrays = parameter_arrays(model)

    with pytest.raises(CheckpointError, match=r"unknown \['more'\]"):
        load_parameters(model, {**arrays, "more": np.zeros(1, np.float32)})
    with pytest.raises(CheckpointError, match=r"model\.norm\.weight must be \(16,\): got \(3,\)"):
        load_parameters(model, {**arrays, "model.norm.weight": np.zeros(3, np.float32)})
    with pytest.raises(CheckpointError, match=r"more\.step belongs to no parameter"):
        load_optimizer(model, optimizer, {"more.step": np.zeros(1, np.float32)})
