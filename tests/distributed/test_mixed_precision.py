"""Units that compute in another dtype: the bits of one process that casts its parameters itself."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from gnomon.distributed.wrapping import ModuleWrapPolicy
from gnomon.errors import ArgumentError
from gnomon.utils.checkpoint import checkpoint
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 16, 32)).astype(np.float32)
LOW = MixedPrecisionPolicy(gn.bfloat16, gn.float32)


class Block(nn.Module):
    """Two layers, the second of which is computed twice for gradients; it notes its dtypes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)
        self.seen: set[gn.dtype] = set()

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        self.seen |= {x.dtype, self.up.weight.dtype, self.norm.bias.dtype}
        inner = checkpoint(lambda h: self.down(nn.functional.gelu(h)), self.up(self.norm(x)))
        return x + inner


def built() -> nn.Sequential:
    gn.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(32, 8))


def trained(model: nn.Module, run, rows, compiled: bool) -> list[str]:
    """The bits of losses, and of parameters after the last step."""
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)

    def step(x: gn.Tensor) -> gn.Tensor:
        loss = run(x).float().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step, found = gn.compile(step) if compiled else step, []
    for x in X:
        loss = step(gn.tensor(x[rows])).clone()
        if dist.is_initialized():
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        found.append(float(loss).hex())
    whole = [p.full_tensor() if hasattr(p, "placements") else p for p in model.parameters()]
    assert all(p.dtype == gn.float32 for p in model.parameters())
    return [*found, *(float(p.double().sum()).hex() for p in whole)]


def by_hand(compiled: bool) -> list[str]:
    """One process: parameters are cast before each forward."""
    model = built()

    def run(x: gn.Tensor) -> gn.Tensor:
        low = {name: p.bfloat16() for name, p in model.named_parameters()}
        return gn.func.functional_call(model, low, (x.bfloat16(),))

    return trained(model, run, slice(None), compiled)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_all_numbers_of_ranks_have_one_processs_bits(ranks: int, compiled: bool):
    def work(rank: int, ranks: int) -> list[str]:
        model = built()
        for block in model:
            fully_shard(block, mp_policy=LOW)
        fully_shard(model, mp_policy=LOW)
        own = slice(rank * (16 // ranks), (rank + 1) * (16 // ranks))
        found = trained(model, model, own, compiled)
        assert model[0].seen == {gn.bfloat16}
        return found

    assert on_threads(work, ranks) == [by_hand(compiled)] * ranks


def test_the_wrapper_has_the_same_bits():
    expected = by_hand(compiled=False)

    def work(rank: int, ranks: int) -> list[str]:
        low = dist.fsdp.MixedPrecision(gn.bfloat16, reduce_dtype=gn.bfloat16)
        model = FullyShardedDataParallel(built(), mixed_precision=low)
        return trained(model, model, slice(8 * rank, 8 * rank + 8), compiled=False)

    assert on_threads(work, 2) == [expected] * 2


def test_results_have_the_dtype_that_is_asked_for_and_inputs_may_stay():
    def work(rank: int, ranks: int) -> None:
        x = gn.ones(4, 32)
        for policy, seen, made in (
            (MixedPrecisionPolicy(gn.bfloat16, output_dtype=gn.float64), gn.bfloat16, gn.float64),
            (MixedPrecisionPolicy(output_dtype=gn.bfloat16), gn.float32, gn.bfloat16),
            (MixedPrecisionPolicy(gn.float32), gn.float32, gn.float32),
        ):
            block = fully_shard(Block(), mp_policy=policy)
            assert (block(x).dtype, block.seen) == (made, {seen})
        kept = fully_shard(Block(), mp_policy=MixedPrecisionPolicy(cast_forward_inputs=False))
        assert kept(x.double().float()).dtype == gn.float32
        pair = fully_shard(nn.Bilinear(3, 3, 2), mp_policy=LOW)
        assert pair(gn.ones(2, 3), input2=gn.ones(2, 3)).dtype == gn.bfloat16

    on_threads(work, 2)


def test_a_forward_that_fails_leaves_parameters_as_they_were():
    def work(rank: int, ranks: int) -> None:
        layer = fully_shard(nn.Linear(4, 2), mp_policy=LOW)
        before = layer.weight
        with pytest.raises(ValueError, match="linear"):
            layer(gn.ones(2, 3))
        assert layer.weight is before

    on_threads(work, 2)


def test_dtypes_that_are_no_floats_are_refused():
    def work(rank: int, ranks: int) -> None:
        for policy in (MixedPrecisionPolicy(gn.int8), MixedPrecisionPolicy("bfloat16")):
            with pytest.raises(ArgumentError, match="fully_shard: dtypes are floating-point ones"):
                fully_shard(nn.Linear(2, 2), mp_policy=policy)

    on_threads(work, 1)


class Rotated(nn.Module):
    """A buffer of floats, and one of places."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("angles", gn.ones(4))
        self.register_buffer("places", gn.arange(4))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return x[:, self.places] * self.angles


def test_the_wrapper_casts_buffers_and_leaves_batch_norms_in_float32():
    def work(rank: int, ranks: int) -> None:
        seen: list[gn.dtype] = []
        norm = nn.BatchNorm1d(4)
        norm.register_forward_hook(lambda m, given, made: seen.append(m.weight.dtype))
        low = dist.fsdp.MixedPrecision(gn.bfloat16, buffer_dtype=gn.bfloat16)
        model = FullyShardedDataParallel(
            nn.Sequential(nn.Linear(4, 4), norm, Rotated(), nn.Linear(4, 2)),
            auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
            mixed_precision=low,
        )
        assert model(gn.ones(2, 4)).dtype == gn.bfloat16
        assert seen == [gn.float32]
        rotated = model.module[2]
        assert (rotated.angles.dtype, rotated.places.dtype) == (gn.bfloat16, gn.int64)
        assert norm.running_mean.dtype == gn.float32
        plain = FullyShardedDataParallel(nn.Sequential(nn.BatchNorm1d(4)), mixed_precision=low)
        plain.module[0].register_forward_hook(lambda m, given, made: seen.append(m.weight.dtype))
        plain(gn.ones(2, 4))
        assert seen[-1] == gn.bfloat16, "without a policy all are one unit"

    on_threads(work, 2)


def test_modules_in_float32_take_named_inputs():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

        def forward(self, x: gn.Tensor) -> gn.Tensor:
            return self.norm(input=self.layer(x))

    def work(rank: int, ranks: int) -> None:
        model = FullyShardedDataParallel(
            Named(),
            auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
            mixed_precision=dist.fsdp.MixedPrecision(gn.bfloat16),
        )
        made = model(gn.ones(2, 4))
        assert made.dtype == gn.bfloat16
        made.float().sum().backward()

    on_threads(work, 2)
