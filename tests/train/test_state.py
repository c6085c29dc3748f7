"""A model and its optimizer go through arrays and come back to the bits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.checkpoint.parts import rectangle
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.errors import CheckpointError
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.initialization import initialize
from gnomon.models.stored_parameters import load_parameters, parameter_tensors
from gnomon.ops.placements import REPLICATED, Split
from gnomon.tensor.layouts import spread
from gnomon.train.checkpoint import fingerprint, newest, verified
from gnomon.train.checkpoint_writer import CheckpointWriter
from gnomon.train.state import (
    load_optimizer,
    optimizer_arrays,
    optimizer_tensors,
    parameter_arrays,
)
from gnomon.train.step import TrainStep, make_optimizer
from tests.train import saving


def trained(config, steps):
    """A model and its optimizer after some steps."""
    model = DecoderForCausalLM(config.model)
    initialize(model, seed=1)
    optimizer = make_optimizer(model, config)
    step = TrainStep(model, optimizer, config)
    for number in range(steps):
        step(np.arange(number, number + 34, dtype=np.int64).reshape(2, 17), 1e-3)
    return model, optimizer


def test_parameters_and_optimizer_come_back_and_go_on_alike(config):
    model, optimizer = trained(config, 2)
    copy, other = trained(config, 0)

    load_parameters(copy, parameter_arrays(model))
    load_optimizer(copy, other, optimizer_arrays(model, optimizer))

    window = np.arange(34, dtype=np.int64).reshape(2, 17)
    assert TrainStep(copy, other, config)(window, 1e-3) == TrainStep(model, optimizer, config)(
        window, 1e-3
    )
    assert fingerprint(parameter_arrays(copy)) == fingerprint(parameter_arrays(model))
    assert fingerprint(optimizer_arrays(copy, other)) == fingerprint(
        optimizer_arrays(model, optimizer)
    )


def test_optimizer_arrays_carry_their_parameters_names(config):
    names = optimizer_arrays(*trained(config, 1))

    assert names["model.norm.weight.exp_avg"].shape == (16,)
    assert names["model.embed_tokens.weight.exp_avg_sq"].shape == (300, 16)
    assert float(names["model.norm.weight.step"]) == 1


FULLY, TENSOR = DeviceMesh.of({"shard": 2}), DeviceMesh.of({"data": 2, "tensor": 2})


def lay_out(model, mesh, rank):
    """Let every matrix lie over the mesh's last axis, and every norm over all ranks alike."""
    name = mesh.axes[-1][0]
    for parameter in model.parameters():
        axis = 1 if parameter.ndim == 2 and name == "tensor" else 0 if parameter.ndim == 2 else None
        placed = {} if axis is None else {name: Split(axis)}
        layout = tuple((n, c, placed.get(n, REPLICATED)) for n, c in mesh.axes)
        if axis is not None:
            whole = parameter.detach().numpy()
            part = whole[rectangle(whole.shape, layout, mesh.place(rank))]
            parameter.data = spread(gn.from_numpy(part.copy()), layout)


@pytest.mark.parametrize("mesh", [FULLY, TENSOR], ids=["fully", "data and tensor"])
def test_what_one_process_saved_is_read_into_parts_and_saved_again_the_same(config, tmp_path, mesh):
    model, optimizer = trained(config, 2)
    arrays = {"model": parameter_arrays(model), "optimizer": optimizer_arrays(model, optimizer)}
    for name in ("one", "more"):
        (tmp_path / name).mkdir()
    alone = verified(saving.save(tmp_path / "one", saving.contents(2, arrays), 2))

    def work(team):
        other = DecoderForCausalLM(config.model)
        initialize(other, 5)
        other_optimizer = make_optimizer(other, config)
        lay_out(other, mesh, team.rank)
        place = mesh, team.rank
        stored, states = alone.parameters(), alone.optimizer()
        load_parameters(other, stored, *place)
        load_optimizer(other, other_optimizer, states, *place)
        saved = saving.contents(2, {})
        tensors = {
            "model": parameter_tensors(other, *place),
            "optimizer": optimizer_tensors(other, other_optimizer, *place),
        }
        writer = CheckpointWriter(tmp_path / "more", 2, team, print)
        writer.begin(dataclasses.replace(saved, tensors=tensors))
        writer.wait()
        return [(x.shape, x.bytes_read) for r in (stored, states) for x in r.values()]

    teams = saving.teams(mesh.size())
    read = run_ranks(mesh, lambda rank: work(teams[rank]), patience=60)

    again = newest(tmp_path / "more")[0].folder
    assert {x.name: x.read_bytes() for x in again.iterdir()} == {
        x.name: x.read_bytes() for x in alone.folder.iterdir()
    }
    for rank in read:
        for shape, count in rank:
            assert count == np.prod(shape) * 4 / (2 if len(shape) == 2 else 1)


def test_another_models_arrays_are_refused(config):
    model, optimizer = trained(config, 1)
    arrays = parameter_arrays(model)

    with pytest.raises(CheckpointError, match=r"unknown \['more'\]"):
        load_parameters(model, {**arrays, "more": np.zeros(1, np.float32)})
    with pytest.raises(CheckpointError, match=r"model\.norm\.weight must be \(16,\): got \(3,\)"):
        load_parameters(model, {**arrays, "model.norm.weight": np.zeros(3, np.float32)})
    with pytest.raises(CheckpointError, match=r"more\.step belongs to no parameter"):
        load_optimizer(model, optimizer, {"more.step": np.zeros(1, np.float32)})
