"""Files have experts one by one, models have them stacked, and both are the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.distributed.checkpoint.parts import owned
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE
from gnomon.errors import CheckpointError
from gnomon.models.expert_files import StackedArrays, by_expert, stacked
from gnomon.models.registry import kind_of
from gnomon.models.stored_parameters import load_parameters, parameter_tensors
from gnomon.ops.placements import Split
from gnomon.train.recipes import tiny_moe
from gnomon.train.state import parameter_arrays

NAME = "model.layers.0.mlp.experts.up_proj.weight"
ONE = "model.layers.0.mlp.experts.{}.up_proj.weight"


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_every_element_of_an_expert_belongs_to_one_rank(axis):
    whole = np.arange(4 * 6 * 8, dtype=np.float32).reshape(4, 6, 8)
    mesh, found = DeviceMesh.of({"data": 2, "tensor": 2}), np.full_like(whole, np.nan)

    for rank in range(4):
        half = whole.shape[axis] // 2
        where = [slice(None)] * 3
        where[axis] = slice(rank % 2 * half, (rank % 2 + 1) * half)
        part = owned(whole[tuple(where)], whole.shape, (("tensor", 2, Split(axis)),), mesh, rank)
        for expert in range(4):
            for own in by_expert({NAME: part})[ONE.format(expert)].parts:
                place = tuple(map(slice, own.offsets, np.add(own.offsets, own.array.shape)))
                assert np.isnan(found[expert][place]).all()
                found[expert][place] = own.array

    assert (found == whole).all()


def test_a_part_of_a_stack_is_that_of_its_experts(rng):
    whole = rng.normal(size=(4, 6, 8)).astype("f4")
    read = StackedArrays(list(whole))
    where = (slice(1, 3), slice(0, 6), slice(2, 5))

    assert (read.shape, read.dtype) == ((4, 6, 8), np.float32)
    assert (read[where] == whole[where]).all()
    assert list(stacked(dict(enumerate_names(whole)), {NAME: whole.shape})) == [NAME]


def enumerate_names(whole: np.ndarray):
    """The experts of a stack, by name."""
    return ((ONE.format(k), x) for k, x in enumerate(whole))


def test_a_model_is_read_from_what_it_wrote_under_hugging_faces_names():
    config = tiny_moe().model
    first, second = (kind_of(config).model(config) for _ in range(2))
    kind_of(config).initialize(first, 3)
    tensors = parameter_tensors(first, ALONE, 0)
    arrays = {name: x.parts[0].array for name, x in tensors.items()}

    load_parameters(second, arrays)

    assert arrays["model.layers.2.mlp.experts.7.down_proj.weight"].shape == (96, 96)
    assert "model.layers.2.mlp.gate.weight" in arrays
    assert NAME not in arrays
    for name, value in parameter_arrays(first).items():
        assert value.tobytes() == parameter_arrays(second)[name].tobytes()
    del arrays[ONE.format(3)]
    with pytest.raises(CheckpointError, match=r"missing \['model.layers.0.mlp.experts.up_proj"):
        load_parameters(second, arrays)
