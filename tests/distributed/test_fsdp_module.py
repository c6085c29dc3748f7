"""The settings of fully sharded modules: bounds of reductions, and what does nothing."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.distributed.fsdp import fully_shard
from gnomon.errors import ArgumentError
from gnomon.program.collectives import is_transfer, serves
from gnomon.program.liveness import values_of
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

X = np.random.default_rng(0).normal(size=(3, 16, 32)).astype(np.float32)


def bounded(bound: int | str) -> tuple[list[float], list[str], int, int]:
    """Losses of steps of six layers over two ranks; the page of the step; operands under way."""
    gn.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(6)))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    if bound:
        model.set_reduce_scatter_max_input_buffers(bound)
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)

    @gn.compile
    def step(x: gn.Tensor) -> gn.Tensor:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
        optimizer.step()
        return loss.detach()

    own = slice(8 * dist.get_rank(), 8 * dist.get_rank() + 8)
    losses = [float(step(gn.tensor(x[own]))) for x in X]
    graph = next(reversed(step.programs.values()))[-1][1].graph
    block = kernels_of(graph, context())
    sent = {k.buffers[1] for k in block.parts if is_transfer(k) and serves(k, "fold_ranks")}
    alive = [v for v in values_of(block) if v.node in sent]
    most = max(sum(v.first <= k <= v.last for v in alive) for k in range(len(block.parts)))
    return losses, dist.explain(step).splitlines(), len(sent), most


def test_reductions_under_way_are_bounded_and_no_bit_depends_on_it():
    (free, _, every, most), _ = on_threads(lambda rank, ranks: bounded(0), 2)
    assert every == 6
    assert most > 1

    for bound in (1, 2):
        (losses, _, _, most), _ = on_threads(lambda rank, ranks, n=bound: bounded(n), 2)
        assert most == bound
        assert losses == free


def test_auto_says_what_it_compared():
    (_, page, _, most), _ = on_threads(lambda rank, ranks: bounded("auto"), 2)

    told = [line for line in page if "reductions under way: " in line]
    assert told[0].startswith("1 reductions under way: ")
    assert told[-1].startswith("6 reductions under way: ")
    assert most <= len(told)


def test_settings_of_when_do_nothing_and_those_of_how_are_refused():
    def work(rank: int, ranks: int) -> None:
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        fully_shard(model[0])
        fully_shard(model)
        before = model(gn.ones(2, 4)).tolist()
        model.unshard()
        model.unshard(async_op=True).wait()
        model.reshard()
        model.set_requires_gradient_sync(False)
        model.set_requires_all_reduce(False)
        model.set_is_last_backward(False)
        model.set_reshard_after_forward(False)
        model.set_reshard_after_backward(False)
        model.set_unshard_in_backward(False)
        model.set_modules_to_forward_prefetch([model[0]])
        model.set_modules_to_backward_prefetch([model[0]])
        model.set_post_optim_event(None)
        model.set_separate_reduce_scatter_group()
        model.set_force_sum_reduction_for_comms(True)
        assert model(gn.ones(2, 4)).tolist() == before
        for name in ("set_all_reduce_hook", "set_custom_all_gather", "set_custom_reduce_scatter"):
            with pytest.raises(ArgumentError, match=name):
                getattr(model, name)(lambda x: x)
        with pytest.raises(ArgumentError, match="Multiply the loss instead"):
            model.set_gradient_divide_factor(1.0)
        with pytest.raises(ArgumentError, match="expected 1 or more"):
            model.set_reduce_scatter_max_input_buffers(0)
        with pytest.raises(ArgumentError, match=r'0 for any, or "auto": got 1\.5'):
            model.set_reduce_scatter_max_input_buffers(1.5)

    on_threads(work, 2)


def test_a_slice_of_a_sharded_container_is_a_plain_one():
    def work(rank: int, ranks: int) -> None:
        model = fully_shard(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)))
        assert type(model).__name__ == "FSDPSequential"
        assert isinstance(model, nn.Sequential)
        assert type(model[:1]) is nn.Sequential
        assert fully_shard(model[0]) is model[0]

    on_threads(work, 1)


def test_a_forward_pass_that_an_error_left_can_be_ended():
    def work(rank: int, ranks: int) -> None:
        model = fully_shard(nn.Linear(4, 4))
        with pytest.raises(gn.errors.ShapeError):
            model(gn.ones(2, 3))
        model.reset_iter_state()
        assert not hasattr(model(gn.ones(2, 4)), "placements")

    on_threads(work, 2)
