"""Fully sharded scripts as PyTorch's are written give the losses of one process, to the bit."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    fully_shard,
)
from gnomon.distributed.tensor import Replicate, Shard
from gnomon.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from gnomon.errors import ArgumentError, CollectiveError, LayoutError
from gnomon.ir.memo import _KINDS
from gnomon.tensor import evaluate
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 16, 32)).astype(np.float32)
Y = RNG.normal(size=(3, 16, 8)).astype(np.float32)


def test_steps_that_repeat_leave_no_new_kinds_of_nodes():
    """What has a kind of its own in each step is planned anew, and stays for ever."""

    def work(rank: int, ranks: int) -> list[int]:
        model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)
        x, counts = gn.tensor(X[0]), []
        for _ in range(6):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            counts.append(loss.item() and len(_KINDS))
            dist.barrier()
        return counts

    assert all(counts[3] == counts[-1] for counts in on_threads(work, 2))


@pytest.mark.parametrize("way", ["backward", "accumulated", "asked for"])
def test_gradients_of_a_pass_are_computed_together(way: str, monkeypatch: pytest.MonkeyPatch):
    """One program for each parameter would compute all that is behind it once more."""
    runs, compute = list[int](), evaluate.compute

    def counted(*given, **named) -> None:
        runs.append(threading.get_ident())
        compute(*given, **named)

    monkeypatch.setattr(evaluate, "compute", counted)

    def work(rank: int, ranks: int) -> int:
        model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(6)])
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        for _ in range(1 + (way == "accumulated")):
            loss = model(gn.tensor(X[0])).square().mean()
            before = runs.count(threading.get_ident())
            if way == "asked for":
                gn.autograd.grad(loss, list(model.parameters()))
            else:
                loss.backward()
        return runs.count(threading.get_ident()) - before

    assert on_threads(work, 2) == [1, 1]


def trained(shape: tuple[int, int], compiled: bool) -> list[tuple[str, str]]:
    """The bits of losses and norms over a mesh of rows and of tensor parallel ranks."""
    gn.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp"))
    if shape[1] > 1:
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        parallelize_module(model, mesh["tp"], plan)
    if shape[0] > 1:
        fully_shard(model[0], mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)

    def step(x: gn.Tensor, y: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
        optimizer.step()
        return loss.detach(), norm

    step, found, each = gn.compile(step) if compiled else step, [], 16 // shape[0]
    for x, y in zip(X, Y, strict=True):
        own = slice(mesh.get_local_rank("dp") * each, (mesh.get_local_rank("dp") + 1) * each)
        loss, norm = step(gn.tensor(x[own]), gn.tensor(y[own]))
        loss = loss.clone()
        dist.all_reduce(loss, dist.ReduceOp.AVG, group=mesh.get_group("dp"))
        found.append((float(loss).hex(), float(norm).hex()))
    return found


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("shape", [(2, 1), (4, 1), (1, 2), (2, 2)], ids=str)
def test_a_script_has_the_bits_of_one_process(shape: tuple[int, int], compiled: bool):
    (alone,) = on_threads(lambda rank, ranks: trained((1, 1), compiled), 1)

    ranks = shape[0] * shape[1]

    assert on_threads(lambda rank, _: trained(shape, compiled), ranks) == [alone] * ranks


def test_parameters_are_split_along_the_first_axis_that_ranks_divide():
    def work(rank: int, ranks: int) -> None:
        model = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 4))
        assert fully_shard(model[1]) is model[1]
        mesh = init_device_mesh("cpu", (1, 2))
        fully_shard(model, mesh=mesh)
        assert isinstance(model, FSDPModule)
        assert isinstance(model[1], FSDPModule)
        assert not isinstance(model[0], FSDPModule)
        assert model[0].weight.placements == (Replicate(), Shard(1))
        assert model[0].bias.placements == (Replicate(), Replicate())
        kept, ignored = nn.Linear(4, 4), {"offload_policy": CPUOffloadPolicy(pin_memory=False)}
        ignored["ignored_params"] = {kept.bias}
        fully_shard(kept, **ignored, shard_placement_fn=lambda p: Shard(-1))
        assert kept.weight.placements == (Shard(1),)
        assert not hasattr(kept.bias, "placements")

    on_threads(work, 2)


def test_a_rank_gets_its_own_rows_of_the_result():
    def work(rank: int, ranks: int) -> None:
        gn.manual_seed(0)
        model = nn.Linear(32, 8)
        whole = model(gn.tensor(X[0])).tolist()
        fully_shard(model)
        for _ in range(2):
            found = model(gn.tensor(X[0][8 * rank : 8 * rank + 8]))
            assert not hasattr(found, "placements")
            assert found.tolist() == whole[8 * rank : 8 * rank + 8]

    on_threads(work, 2)


def test_what_has_no_meaning_here_is_refused():
    def work(rank: int, ranks: int) -> None:
        with pytest.raises(ArgumentError, match="parts of fewer ranks"):
            fully_shard(nn.Linear(2, 2), reshard_after_forward=2)
        with pytest.raises(LayoutError, match="expected Shard, Replicate or Partial: got 0"):
            fully_shard(nn.Linear(2, 2), shard_placement_fn=lambda p: 0)
        with pytest.raises(LayoutError, match=r"S\(1\) of a tensor of 1 axes"):
            fully_shard(nn.Linear(2, 2), shard_placement_fn=lambda p: Shard(1))
        with pytest.raises(ArgumentError, match="a mesh of one axis or two"):
            fully_shard(nn.Linear(2, 2), mesh=init_device_mesh("cpu", (1, 1, 1)))

    on_threads(work, 1)


class Blocks(nn.Module):
    """Tokens through an embedding, a norm, attention and a product."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 8)
        self.norm, self.heads = nn.LayerNorm(8), nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 4)

    def forward(self, tokens: gn.Tensor) -> gn.Tensor:
        x = self.norm(self.embed(tokens))
        return self.out(x + self.heads(x, x, x, need_weights=False)[0])


def gradients(model: nn.Module) -> list[np.ndarray]:
    """The whole gradients of a model."""
    found = [p.grad for p in model.parameters()]
    return [(x.full_tensor() if hasattr(x, "placements") else x).numpy() for x in found]


@pytest.mark.parametrize("rows", [(3, 5), (2, 3, 3), (1, 4, 2, 3)], ids=str)
def test_ranks_may_give_any_numbers_of_rows(rows: tuple[int, ...]):
    tokens = np.random.default_rng(1).integers(0, 7, (sum(rows), 5))
    parts = np.split(tokens, np.cumsum(rows)[:-1])

    def trained_on(part: np.ndarray, sharded: bool) -> tuple[float, list[np.ndarray]]:
        gn.manual_seed(0)
        model = Blocks()
        if sharded:
            fully_shard(model.heads)
            fully_shard(model)
        loss = model(gn.tensor(part)).square().mean()
        loss.backward()
        return loss.item(), gradients(model)

    alone = [trained_on(part, sharded=False) for part in parts]
    means = [np.mean(each, axis=0) for each in zip(*(grads for _, grads in alone), strict=True)]

    found = on_threads(lambda rank, ranks: trained_on(parts[rank], sharded=True), len(rows))

    assert [loss for loss, _ in found] == [loss for loss, _ in alone]
    for _, grads in found:
        for have, want in zip(grads, means, strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


class Centred(nn.Linear):
    """Rows less their mean, of all ranks' rows."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        y = super().forward(x)
        return y - y.mean(0)


@pytest.mark.parametrize("rows", [(3, 5), (3, 5, 3)], ids=str)
def test_a_module_that_mixes_rows_takes_as_many_from_each_rank(rows: tuple[int, ...]):
    def work(rank: int, ranks: int) -> None:
        model = fully_shard(Centred(4, 4))
        lines = rf"over {3 * ranks} rows along.*\n.*over {5 * ranks} rows along"
        with pytest.raises(CollectiveError, match=lines):
            model(gn.ones(rows[rank], 4) * gn.tensor([1.0]))

    on_threads(work, len(rows))


class Doubled(nn.Linear):
    """A layer whose result's gradient a hook reads, and doubles."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        y = super().forward(x)

        def hook(g: gn.Tensor) -> gn.Tensor:
            assert (g.to_local() if hasattr(g, "placements") else g).isfinite().all()
            return g * 2.0

        y.register_hook(hook)
        return y * 1.0


def test_a_gradient_that_a_hook_read_takes_any_numbers_of_rows():
    def work(rank: int, ranks: int) -> list:
        gn.manual_seed(0)
        model = Doubled(4, 4)
        model = fully_shard(model) if ranks > 1 else model
        model(gn.ones(*((3, 5)[rank], 4) if ranks > 1 else (8, 4))).mean().backward()
        return [x.tolist() for x in gradients(model)]

    assert on_threads(work, 2) == on_threads(work, 1) * 2


@pytest.mark.parametrize("compiled", [False, True])
def test_a_forward_that_raised_leaves_nothing_behind(compiled: bool):
    class Refusing(nn.BatchNorm1d):
        refuses = True

        def forward(self, x: gn.Tensor) -> gn.Tensor:
            if self.refuses:
                raise ValueError("no")
            return super().forward(x)

    def work(rank: int, ranks: int) -> list:
        gn.manual_seed(0)
        model, other = Refusing(32), nn.BatchNorm1d(32)
        for each in (model, other) if ranks > 1 else ():
            fully_shard(each)
        x = gn.tensor(X[0, rank::2])
        if ranks > 1:
            with pytest.raises(ValueError, match="no"):
                (gn.compile(model) if compiled else model)(x)
        model.refuses = False
        return [other(x).tolist(), model(x).tolist()]

    assert on_threads(work, 2)[0] == on_threads(work, 1)[0]


class WithLoss(nn.Linear):
    """A module that computes its loss."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return super().forward(x).square().mean()


def test_gradients_of_a_loss_over_all_rows_take_as_many_from_each_rank():
    def work(rank: int, ranks: int) -> None:
        model = fully_shard(WithLoss(4, 4))

        @gn.compile
        def step(x: gn.Tensor) -> None:
            model(x).backward()

        with pytest.raises(CollectiveError, match=r"over 6 rows along.*\n.*over 10 rows along"):
            step(gn.ones(3 + 2 * rank, 4))

    on_threads(work, 2)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_loss_inside_of_the_module_has_one_processs_gradients(ranks: int, compiled: bool):
    def work(rank: int, ranks: int) -> tuple[str, list]:
        gn.manual_seed(0)
        model = WithLoss(32, 8)
        if ranks > 1:
            fully_shard(model)
        loss = (gn.compile(model) if compiled else model)(gn.tensor(np.split(X[0], ranks)[rank]))
        loss.backward()
        return loss.item().hex(), [x.tolist() for x in gradients(model)]

    assert on_threads(work, ranks) == on_threads(work, 1) * ranks


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_outside_of_a_sharded_module_are_those_of_the_ranks_loss(compiled: bool):
    def work(rank: int, ranks: int) -> tuple[list, list, list]:
        gn.manual_seed(0)
        before, *sharded = nn.Linear(32, 16), nn.Linear(16, 16), nn.Linear(16, 8)
        for each in sharded if ranks > 1 else ():
            fully_shard(each)

        def loss_of(x: gn.Tensor) -> gn.Tensor:
            return sharded[1](sharded[0](before(x))).square().mean()

        x = gn.tensor(np.split(X[0], ranks)[rank]).requires_grad_()
        (gn.compile(loss_of) if compiled else loss_of)(x).backward()
        own = [p.grad.numpy() for p in before.parameters()]
        return own, [*gradients(sharded[0]), *gradients(sharded[1])], x.grad.numpy()

    ((own, whole, rows),) = on_threads(work, 1)
    found = on_threads(work, 2)
    for k, (_, grads, x) in enumerate(found):
        assert all(np.array_equal(a, b) for a, b in zip(grads, whole, strict=True))
        assert np.array_equal(x, 2 * np.split(rows, 2)[k])
    for k, want in enumerate(own):
        np.testing.assert_allclose(
            np.mean([each[0][k] for each in found], 0), want, rtol=1e-5, atol=1e-7
        )


class Product(gn.autograd.Function):
    """A product whose gradients are products too."""

    @staticmethod
    def forward(ctx, x: gn.Tensor, w: gn.Tensor) -> gn.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx, g: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        x, w = ctx.saved_tensors
        return g @ w, g.t() @ x


class WithFunction(nn.Linear):
    """A layer by a function of the user's own."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return Product.apply(x, self.weight) + self.bias


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_function_of_the_users_own_has_the_gradients_of_its_products(ranks: int, compiled: bool):
    def work(rank: int, ranks: int) -> list[np.ndarray]:
        gn.manual_seed(0)
        model = WithFunction(32, 4)
        model = fully_shard(model) if ranks > 1 else model

        def loss_of(x: gn.Tensor) -> gn.Tensor:
            return model(x).square().mean()

        rows = gn.tensor(np.split(X[0][:12], ranks)[rank])
        (gn.compile(loss_of) if compiled else loss_of)(rows).backward()
        return gradients(model)

    (alone,) = on_threads(work, 1)
    for found in on_threads(work, ranks):
        for have, want in zip(found, alone, strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


def made_first(place: str) -> list[float]:
    """Losses of a model that is made on a device, sharded, and initialized afterwards."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    with gn.device(place):
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 6))
    for part in (model[0], model[3], model):
        fully_shard(part, mesh=mesh)
    assert model[0].weight.is_meta is (place == "meta")
    model.to_empty(device="cpu")
    gn.manual_seed(0)
    for part in (model[0], model[2], model[3]):
        part.reset_parameters()

    optimizer, found = gn.optim.AdamW(model.parameters(), 1e-2), []
    for k in range(3):
        loss = model(gn.ones(3, 8) * (1 + k + dist.get_rank())).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_model_without_elements_is_sharded_before_it_is_initialized(ranks: int):
    absent, plain = (on_threads(lambda _, __, p=p: made_first(p), ranks) for p in ("meta", "cpu"))

    assert absent == plain
    assert absent[0][2] < absent[0][0]
