"""Tensors over meshes: how they are laid, what operations leave, what gradients pass."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from gnomon.errors import ArgumentError, LayoutError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

FULL = np.arange(48, dtype=np.float32).reshape(8, 6)


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_leaf_is_laid_by_the_first_ranks_values(ranks: int):
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("dp",))
        x = distribute_tensor(gn.tensor(FULL + 100 * rank).requires_grad_(), mesh, [Shard(-2)])
        assert isinstance(x, DTensor)
        assert not isinstance(gn.ones(2), DTensor)
        assert (x.placements, x.device_mesh, x.requires_grad) == ((Shard(0),), mesh, True)
        assert x.full_tensor().tolist() == FULL.tolist()
        return x.to_local().tolist()

    found = on_threads(work, ranks)

    assert [row for part in found for row in part] == FULL.tolist()


def test_results_lie_as_operations_leave_them():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        x = distribute_tensor(gn.tensor(FULL), mesh, [Shard(0), Shard(1)])
        w = distribute_tensor(gn.tensor(FULL.T), mesh["tp"], [Shard(0)])
        assert (x.relu() * 2 + 1).placements == (Shard(0), Shard(1))
        assert x.sum(dim=1).placements == (Shard(0), Replicate())
        assert x.t().placements == (Shard(1), Shard(0))
        wide = distribute_tensor(gn.ones(8, 128), mesh, [Shard(0), Shard(1)])
        tall = distribute_tensor(gn.ones(128, 4), mesh["tp"], [Shard(0)])
        assert (wide @ tall).placements == (Shard(0), Replicate()), "its sum has leaves for ranks"
        assert w.placements == (Shard(0),)
        assert w.device_mesh == mesh["tp"]
        assert (x + gn.ones(6)).placements == x.placements
        assert (x @ w).full_tensor().tolist() == (FULL @ FULL.T).tolist()
        assert x.sum().item() == FULL.sum()
        assert float(x.mean()) == FULL.mean()
        with pytest.raises(LayoutError, match="is sharded"):
            x.numpy()

    on_threads(work, 4)


def test_a_part_is_the_same_memory_and_gradients_pass_it():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (2,))
        own = gn.ones(2, 3)
        whole = DTensor.from_local(own, mesh, [Shard(0)])
        own.mul_(3)
        whole.add_(1)
        whole.to_local()[0] = 7
        assert own.tolist() == [[7.0] * 3, [4.0] * 3]
        leaf = gn.ones(2, 3).requires_grad_()
        made = DTensor.from_local(leaf, mesh, [Shard(0)]) * 2
        (made.to_local() * (rank + 1)).sum().backward()
        assert leaf.grad.tolist() == [[2.0 * (rank + 1)] * 3] * 2
        leaf.grad = None
        (DTensor.from_local(leaf, mesh, [Shard(0)]).full_tensor().sum() * 5).backward()
        assert leaf.grad.tolist() == [[5.0] * 3] * 2

    on_threads(work, 2)


def test_layouts_change_by_messages_that_gradients_pass():
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(FULL).requires_grad_(), mesh, [Shard(0)])
        y = x.redistribute(placements=[Shard(1)])
        assert y.placements == (Shard(1),)
        assert y.to_local().tolist() == FULL[:, 3 * rank : 3 * rank + 3].tolist()
        (y * y).sum().backward()
        assert x.grad.placements == (Shard(0),)
        return x.grad.to_local().tolist()

    first, second = on_threads(work, 2)

    assert first + second == (2 * FULL).tolist()


def test_pending_folds_are_done_when_somebody_reads_them():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (2,))
        own = gn.tensor([1.0, -2.0]) * (rank + 1)
        added, most = (DTensor.from_local(own, mesh, [Partial(op)]) for op in ("sum", "max"))
        assert added.placements[0].reduce_op == "sum"
        assert added.placements[0].is_partial()
        assert added.full_tensor().tolist() == [3.0, -6.0]
        assert most.redistribute(placements=[Replicate()]).tolist() == [2.0, -2.0]
        assert (added + 1).tolist() == [4.0, -5.0]
        assert (
            added.redistribute(placements=[Shard(0)]).to_local().tolist() == [[3.0], [-6.0]][rank]
        )
        with pytest.raises(ArgumentError, match="no pending fold 'avg'"):
            DTensor.from_local(own, mesh, [Partial("avg")])
        with pytest.raises(ArgumentError, match="no message makes a pending fold"):
            (added + 1).redistribute(placements=[Partial()])
        with pytest.raises(LayoutError, match="still to be folded"):
            added.mul_(2)

    on_threads(work, 2)


def test_what_does_not_fit_is_refused():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (2,))
        with pytest.raises(LayoutError, match="2 ranks of mesh axis 'dim 0' do not divide axis 0"):
            distribute_tensor(gn.ones(5), mesh, [Shard(0)])
        with pytest.raises(LayoutError, match="of a tensor of 1 axes"):
            distribute_tensor(gn.ones(4), mesh, [Shard(1)])
        with pytest.raises(ArgumentError, match="expected one for each of 1 axes"):
            distribute_tensor(gn.ones(4), mesh, [Shard(0), Shard(0)])
        with pytest.raises(LayoutError, match="should be used to distribute leaf tensors"):
            distribute_tensor(gn.ones(4).requires_grad_() * 2, mesh, [Shard(0)])
        with pytest.raises(LayoutError, match="Parts must have equal sizes"):
            DTensor.from_local(gn.ones(2), mesh, [Shard(0)], shape=(3,))
        with pytest.raises(LayoutError, match="say DTensor"):
            DTensor(gn.ones(2))
        with pytest.raises(AttributeError, match="does not lie over ranks"):
            gn.ones(2).to_local()

    on_threads(work, 2)


def test_a_compiled_function_takes_tensors_over_a_mesh():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(FULL), mesh, [Shard(0)])
        double = gn.compile(lambda x: (x * 2).to_local() + 1)
        for _ in range(2):
            assert double(x).tolist() == (FULL[4 * rank : 4 * rank + 4] * 2 + 1).tolist()
        other = x.redistribute(placements=[Shard(1)])
        assert double(other).tolist() == (FULL[:, 3 * rank : 3 * rank + 3] * 2 + 1).tolist()
        assert gn.compile(lambda x: x * 2)(x).tolist() == (FULL * 2).tolist()

    on_threads(work, 2)


def test_a_modules_parameters_are_laid_as_is_said():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (2,))
        gn.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 2))
        alone = model(gn.tensor(FULL)).tolist()

        def rows(name: str, module: nn.Module, mesh: object) -> None:
            if name == "0":
                module.weight = nn.Parameter(distribute_tensor(module.weight, mesh, [Shard(0)]))

        distribute_module(
            model,
            mesh,
            rows,
            lambda module, given, mesh: (distribute_tensor(given[0], mesh, [Shard(0)]),),
            lambda module, made, mesh: made.full_tensor(),
        )
        assert model[0].weight.placements == (Shard(0),)
        assert model[1].bias.placements == (Replicate(),)
        assert model(gn.tensor(FULL)).tolist() == alone

    on_threads(work, 2)


def test_a_tensor_over_a_mesh_shows_its_part():
    def work(rank: int, ranks: int) -> str:
        mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
        return repr(DTensor.from_local(gn.ones(1), mesh, [Shard(0)]))

    assert on_threads(work, 2) == ["DTensor(Tensor([1.]), tp=S(0))"] * 2


def test_complex_tensors_are_sharded_as_real_ones():
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))
        whole = gn.view_as_complex(gn.tensor(FULL.reshape(4, 6, 2)) + 100 * rank)
        x = distribute_tensor(whole, mesh, [Shard(0)])
        assert isinstance(x, DTensor)
        assert (x.placements, x.device_mesh, x.dtype) == ((Shard(0),), mesh, gn.complex64)
        assert (x.shape, x.to_local().shape) == ((4, 6), (4 // ranks, 6))
        moved = x.redistribute(placements=[Shard(-1)])
        assert (moved.placements, moved.to_local().shape) == ((Shard(1),), (4, 6 // ranks))
        assert moved.full_tensor().tolist() == x.full_tensor().tolist()
        again = DTensor.from_local(x.to_local(), mesh, [Shard(0)])
        assert (again * x).placements == (Shard(0),)
        with pytest.raises(AttributeError, match="placements: this tensor does not lie over ranks"):
            _ = whole.placements
        return (again * x).full_tensor().tolist()

    expected = FULL.view(np.complex64).reshape(4, 6) ** 2
    assert on_threads(work, 2) == [expected.tolist()] * 2


def test_gradients_pass_complex_dtensors():
    """A table of rotations is complex, and is replicated where heads are divided."""
    turns = gn.view_as_complex(gn.tensor(FULL[:4].reshape(4, 3, 2)))

    def loss(x: gn.Tensor, turns: gn.Tensor) -> gn.Tensor:
        return gn.view_as_real(gn.view_as_complex(x) * turns).square().sum()

    alone = gn.tensor(FULL[4:].reshape(4, 3, 2)).requires_grad_()
    loss(alone, turns).backward()

    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))
        x = distribute_tensor(alone.detach().clone().requires_grad_(), mesh, [Shard(0)])
        loss(x, DTensor.from_local(turns, mesh, [Replicate()])).backward()
        assert x.grad.placements == (Shard(0),)
        return x.grad.full_tensor().tolist()

    assert on_threads(work, 2) == [alone.grad.tolist()] * 2
