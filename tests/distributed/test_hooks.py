"""Values that hooks make in a backward pass over ranks are known at its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.distributed.tensor import Replicate, Shard, distribute_tensor
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

X = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)


def of_the_gradient(model: nn.Module, seen: list) -> None:
    model.weight.register_hook(lambda g: seen.append(g.norm()))


def after_gathering(model: nn.Module, seen: list) -> None:
    model.weight.register_post_accumulate_grad_hook(lambda p: seen.append((p.grad * p).sum()))


def written(model: nn.Module, seen: list) -> None:
    seen.append(gn.zeros_like(model.weight.detach()))
    model.weight.register_hook(lambda g: seen[0].add_(g))


def of_another(model: nn.Module, seen: list) -> None:
    """A hook of a leaf that computes with another one, divided over ranks."""
    weight = model.weight
    model.bias.register_hook(lambda g: seen.append((weight.detach() @ weight.detach().T).sum() * g))


def twice(model: nn.Module, seen: list) -> None:
    """A hook that changes a gradient, and one that reads it."""
    model.weight.register_hook(lambda g: g * 2)
    model.weight.register_hook(lambda g: seen.append(g.abs().max()))


def value(seen: list) -> list[float]:
    """What a hook has made, in full."""
    return [float(x.full_tensor().sum() if hasattr(x, "full_tensor") else x.sum()) for x in seen]


def hooked(hook: Callable, asked: bool, rank: int, ranks: int) -> list[float]:
    """What a hook makes, where rank 0 reads its own part first."""
    gn.manual_seed(0)
    model, seen = nn.Linear(8, 8), []
    if ranks > 1:
        fully_shard(model)
    hook(model, seen)
    for _ in range(2):
        loss = model(gn.tensor(X)).square().mean()
        if asked:
            gn.autograd.grad(loss, list(model.parameters()))
        else:
            loss.backward()
    if rank == 0:
        for each in seen:
            (each.to_local() if hasattr(each, "to_local") else each).tolist()
    dist.barrier()
    return value(seen)


HOOKS = [of_the_gradient, written, of_another, twice]
CASES = [(x, asked) for x in HOOKS for asked in (False, True)]


@pytest.mark.parametrize(("hook", "asked"), [*CASES, (after_gathering, False)])
def test_one_rank_reads_what_a_hook_has_made(hook: Callable, asked: bool):
    work = partial(hooked, hook, asked)

    (alone,) = on_threads(work, 1)
    assert alone
    for found in on_threads(work, 2, patience=30):
        assert found == pytest.approx(alone, rel=1e-5)


def test_a_hook_of_a_plain_leaf_reads_sums_over_ranks():
    """A leaf that all ranks have by themselves gets a gradient for which they meet."""

    def work(rank: int, ranks: int) -> float:
        mesh, seen = init_device_mesh("cpu", (ranks,)), []
        x = gn.tensor(X, requires_grad=True)
        x.register_hook(lambda g: seen.append(g.norm()))
        weight = distribute_tensor(gn.tensor(X.T), mesh, [Shard(0)])
        whole = dist.tensor.DTensor.from_local(x, mesh, [Replicate()])
        (whole @ weight).square().mean().backward()
        if rank == 0:
            seen[0].item()
        dist.barrier()
        return seen[0].item()

    (alone,) = on_threads(work, 1)
    assert on_threads(work, 2, patience=30) == pytest.approx([alone, alone], rel=1e-5)
