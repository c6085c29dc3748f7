"""Styles of tensor parallel modules: how parameters, inputs and outputs lie."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from gnomon.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from gnomon.errors import ArgumentError, LayoutError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

X = np.random.default_rng(0).normal(size=(2, 8, 32)).astype(np.float32)


class Block(nn.Module):
    """A norm, and two layers with a function between."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return self.down(nn.functional.gelu(self.up(self.norm(x))))


def tp(ranks: int) -> DeviceMesh:
    """All ranks in a row."""
    return init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))


def test_a_layer_split_by_columns_gives_each_rank_its_outputs():
    def work(rank: int, ranks: int) -> None:
        gn.manual_seed(rank)  # all begin with the first one's
        block = Block()
        mesh = tp(ranks)
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
        assert block.up(gn.tensor(X)).shape == (2, 8, 32)
        assert block.up.weight.placements == block.up.bias.placements == (Shard(0),)
        assert block.down.weight.placements == (Shard(1),)
        assert block.down.bias.placements == (Replicate(),)
        gn.manual_seed(0)
        assert block(gn.tensor(X)).tolist() == Block()(gn.tensor(X)).tolist()

    on_threads(work, 2)


def test_a_sequence_is_split_between_the_layers():
    def work(rank: int, ranks: int) -> None:
        gn.manual_seed(0)
        block = Block()
        alone = block(gn.tensor(X)).tolist()
        plan = {
            "norm": SequenceParallel(),
            "up": ColwiseParallel(input_layouts=Shard(1)),
            "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        }
        parallelize_module(block, tp(ranks), plan)
        made = block(gn.tensor(X[:, 4 * rank : 4 * rank + 4]))
        assert made.placements == (Shard(1),)
        assert made.full_tensor().tolist() == alone
        made.square().sum().backward()
        assert block.norm.weight.grad.placements == (Replicate(),)

    on_threads(work, 2)


def test_a_table_is_split_by_rows_or_by_columns():
    def work(rank: int, ranks: int) -> None:
        gn.manual_seed(0)
        table, ids = nn.Embedding(6, 4), gn.tensor([[0, 5], [3, 2]])
        alone = table(ids).tolist()
        columns, rows = (nn.Embedding.from_pretrained(table.weight.detach()) for _ in range(2))
        parallelize_module(columns, tp(ranks), ColwiseParallel(use_local_output=False))
        parallelize_module(rows, tp(ranks), RowwiseParallel(input_layouts=Replicate()))
        assert columns(ids).placements == (Shard(2),)
        assert columns(ids).full_tensor().tolist() == alone
        assert rows(ids).tolist() == alone

    on_threads(work, 2)


def test_inputs_and_outputs_lie_as_is_asked():
    class Sum(nn.Module):
        def forward(self, x: gn.Tensor, y: gn.Tensor, scale: gn.Tensor) -> tuple:
            assert isinstance(x, DTensor)
            assert not isinstance(y, DTensor)
            assert scale.placements == (Replicate(),)
            return x * scale, y

    def work(rank: int, ranks: int) -> None:
        mesh, model = tp(ranks), Sum()
        into = PrepareModuleInput(
            (Shard(0), None),
            (Replicate(), None),
            {"scale": Replicate()},
            {"scale": Replicate()},
        )
        out = PrepareModuleOutput(
            output_layouts=(Replicate(), None), desired_output_layouts=(Shard(0), None)
        )
        parallelize_module(model, mesh, into)
        parallelize_module(model, mesh, out)
        own = gn.full((1, 2), float(rank))
        made, y = model(own, gn.ones(2), scale=gn.tensor(2.0))
        assert made.tolist() == [[2.0 * rank] * 2]
        assert y.tolist() == [1.0, 1.0]
        whole = distribute_tensor(gn.ones(2, 2), mesh, [Shard(1)])
        assert model(whole, gn.ones(2), scale=gn.tensor(2.0))[0].shape == (1, 2)

    on_threads(work, 2)


def test_what_fits_no_module_is_refused():
    def work(rank: int, ranks: int) -> None:
        with pytest.raises(ArgumentError, match="no module is named 'layers"):
            parallelize_module(Block(), tp(1), {"layers.*": ColwiseParallel()})
        with pytest.raises(ArgumentError, match="expected a Linear or an Embedding: got LayerNorm"):
            parallelize_module(Block(), tp(1), {"norm": RowwiseParallel()})
        with pytest.raises(LayoutError, match="a mesh of one axis"):
            parallelize_module(Block(), init_device_mesh("cpu", (1, 1)), SequenceParallel())
        with pytest.raises(ArgumentError, match="should have same length"):
            PrepareModuleInput((Shard(0),), ())
        with pytest.raises(ArgumentError, match="should have same length"):
            PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=())
        for words in ({"input_layouts": 0}, {"output_layouts": 0}):
            with pytest.raises(LayoutError, match="expected Shard, Replicate or Partial: got 0"):
                ColwiseParallel(**words)

    on_threads(work, 1)


def test_a_plan_divides_a_model_that_has_no_memory_yet():
    """TorchTitan divides, gives memory, and then sets values."""

    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))
        with gn.device("meta"):
            model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4))
        parallelize_module(model, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
        assert all(p.is_meta for p in model.parameters())
        model.to_empty(device="cpu")
        gn.manual_seed(0)
        for layer in model:
            layer.reset_parameters()
        return model(gn.ones(2, 4)).tolist()

    gn.manual_seed(0)
    alone = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4))
    gn.manual_seed(0)
    for layer in alone:
        layer.reset_parameters()
    assert on_threads(work, 2) == [alone(gn.ones(2, 4)).tolist()] * 2


def test_cross_entropy_of_divided_classes_is_that_of_one_process():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 8)).astype(np.float32)
    places = gn.tensor(rng.integers(0, 8, 6))

    def alone() -> tuple[float, list]:
        x = gn.tensor(scores).requires_grad_()
        loss = nn.functional.cross_entropy(x, places)
        loss.backward()
        return loss.item(), x.grad.tolist()

    def work(rank: int, ranks: int) -> tuple[float, list]:
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))
        x = distribute_tensor(gn.tensor(scores).requires_grad_(), mesh, [Shard(1)])
        with loss_parallel():
            loss = nn.functional.cross_entropy(x, places)
            loss.backward()
        assert x.grad.placements == (Shard(1),)
        return loss.item(), x.grad.full_tensor().tolist()

    assert on_threads(work, 2) == [alone()] * 2
