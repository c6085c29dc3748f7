"""Hooks of DistributedDataParallel: averages to the bit, in fewer bits, and by users' functions."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed import comm_hooks
from gnomon.errors import ArgumentError
from gnomon.nn.parallel import DistributedDataParallel, GradBucket
from gnomon.tensor.works import Future
from tests.distributed.on_threads import on_threads


def gradients(hook=None, compiled: bool = False) -> list[list]:
    """The gradients of two ranks that have rows of their own, each rank's."""

    def work(rank: int, ranks: int) -> list:
        gn.manual_seed(0)
        model = DistributedDataParallel(nn.Linear(3, 2))
        if hook is not None:
            model.register_comm_hook(None, hook)

        def back(x: gn.Tensor) -> None:
            model(x).square().mean().backward()

        (gn.compile(back) if compiled else back)(gn.arange(12.0).reshape(4, 3) / 7 + rank)
        return [p.grad.tolist() for p in model.parameters()]

    return on_threads(work, 2)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_plain_hook_changes_no_bit(compiled: bool):
    want = gradients()

    assert want[0] == want[1]
    assert gradients(comm_hooks.allreduce_hook, compiled) == want


@pytest.mark.parametrize("dtype", [gn.float16, gn.bfloat16])
def test_gradients_travel_in_fewer_bits(dtype: gn.dtype):
    name = {gn.float16: "fp16", gn.bfloat16: "bf16"}[dtype]
    want, _ = gradients()
    wrapper = getattr(comm_hooks, f"{name}_compress_wrapper")

    for hook in (getattr(comm_hooks, f"{name}_compress_hook"), wrapper(comm_hooks.allreduce_hook)):
        found, other = gradients(hook)
        assert found == other
        for have, exact in zip(found, want, strict=True):
            assert have == gn.tensor(have).to(dtype).float().tolist()
            assert gn.allclose(gn.tensor(have), gn.tensor(exact), rtol=2e-2)


def test_a_hook_may_be_the_users():
    seen = []

    def hook(state: None, bucket: GradBucket) -> Future:
        shapes = [tuple(g.shape) for g in bucket.gradients()]
        seen.append((bucket.index(), bucket.is_last(), shapes, len(bucket.parameters())))
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda future: future.value()[0] / 4)

    want = [[(gn.tensor(g) / 2).tolist() for g in rank] for rank in gradients()]

    assert gradients(hook) == want
    assert seen == [(0, True, [(2, 3), (2,)], 2)] * 2


def test_a_second_hook_is_refused():
    def work(rank: int, ranks: int) -> None:
        model = DistributedDataParallel(nn.Linear(3, 2))
        model.register_comm_hook(None, comm_hooks.allreduce_hook)
        with pytest.raises(ArgumentError, match="expected one hook: got a second"):
            model.register_comm_hook(None, comm_hooks.allreduce_hook)

    on_threads(work, 1)
