"""Stages over ranks have the losses, gradients and results of one that does all, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from gnomon.errors import ArgumentError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 12, 8)).astype(np.float32)
Y = RNG.normal(size=(3, 12, 5)).astype(np.float32)
SCHEDULES = [ScheduleGPipe, Schedule1F1B]


def layers() -> list[nn.Module]:
    gn.manual_seed(0)
    return [
        nn.Linear(8, 16),
        nn.Sequential(nn.Tanh(), nn.Linear(16, 16)),
        nn.GELU(),
        nn.Linear(16, 5),
    ]


def parts(count: int) -> list[nn.Sequential]:
    """The layers as so many stages."""
    made, each = layers(), 4 // count
    return [nn.Sequential(*made[k * each : (k + 1) * each]) for k in range(count)]


def loss_of(made: gn.Tensor, wanted: gn.Tensor) -> gn.Tensor:
    return ((made - wanted) ** 2).mean()


def trained(kind: type, rank: int, ranks: int, microbatches: int) -> tuple[list, list, list]:
    """The bits of losses and of results on the last stage, and of this stage's parameters."""
    part = parts(ranks)[rank]
    schedule = kind(PipelineStage(part, rank, ranks, "cpu"), microbatches, loss_of)
    optimizer = gn.optim.Adam(part.parameters(), lr=0.05) if [*part.parameters()] else None
    losses, results = [], []
    for x, y in zip(X, Y, strict=True):
        first = (gn.tensor(x),) if rank == 0 else ()
        target = gn.tensor(y) if rank == ranks - 1 else None
        found: list[gn.Tensor] = []
        made = schedule.step(*first, target=target, losses=found)
        assert (made is None) == (rank < ranks - 1)
        losses += [float(each).hex() for each in found]
        results += [] if made is None else [made.numpy().tobytes().hex()]
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
    return losses, results, [p.detach().numpy().tobytes().hex() for p in part.parameters()]


@pytest.mark.parametrize("kind", SCHEDULES)
@pytest.mark.parametrize(("ranks", "microbatches"), [(2, 1), (2, 4), (4, 3), (4, 6), (4, 12)])
def test_stages_have_the_bits_of_one(kind: type, ranks: int, microbatches: int):
    (alone,) = on_threads(lambda rank, n: trained(ScheduleGPipe, rank, n, microbatches), 1)

    found = on_threads(lambda rank, n: trained(kind, rank, n, microbatches), ranks)

    assert found[-1][:2] == alone[:2]
    assert [p for part in found for p in part[2]] == alone[2]


def test_gradients_are_those_of_the_batch_up_to_roundoff():
    def work(rank: int, ranks: int) -> list[np.ndarray]:
        part = parts(ranks)[rank]
        schedule = Schedule1F1B(PipelineStage(part, rank, ranks, "cpu"), 4, loss_of)
        schedule.step(*([gn.tensor(X[0])] if rank == 0 else []), target=gn.tensor(Y[0]))
        return [p.grad.numpy() for p in part.parameters()]

    whole = nn.Sequential(*layers())
    loss_of(whole(gn.tensor(X[0])), gn.tensor(Y[0])).backward()

    found = [g for part in on_threads(work, 2) for g in part]

    for g, p in zip(found, whole.parameters(), strict=True):
        np.testing.assert_allclose(g, p.grad.numpy(), rtol=1e-5, atol=1e-6)


class Two(nn.Module):
    """Results of a float and of an integer, and a factor by name."""

    def forward(self, x: gn.Tensor, factor: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        return x * factor, x.argmax(1)


class Chosen(nn.Module):
    """The elements at some places, and one that is not used."""

    def forward(self, x: gn.Tensor, places: gn.Tensor) -> gn.Tensor:
        return x.gather(1, places[:, None])[:, 0]


@pytest.mark.parametrize("kind", SCHEDULES)
def test_stages_give_several_results_and_take_arguments_by_name(kind: type):
    def work(rank: int, ranks: int) -> tuple:
        part = [Two(), Chosen()][rank]
        schedule = kind(PipelineStage(part, rank, 2, "cpu"), 3, lambda made, wanted: made.sum())
        x = gn.tensor(X[0]).requires_grad_()
        given = [x] if rank == 0 else []
        named = {"factor": gn.arange(12.0)[:, None]} if rank == 0 else {}
        made = schedule.step(*given, target=gn.tensor(Y[0]), **named)
        again = schedule.eval(*given, **named)
        if rank == 0:
            assert made is again is None
            return x.grad.tolist()
        assert made.tolist() == again.tolist()
        return made.tolist()

    gradient, made = on_threads(work, 2)

    factor, places = np.arange(12.0, dtype=np.float32), X[0].argmax(1)
    assert made == (X[0].max(1) * factor).tolist()
    expected = np.zeros_like(X[0])
    expected[np.arange(12), places] = factor
    assert gradient == expected.tolist()


def test_sums_are_not_scaled_and_losses_may_be_left_out():
    def work(rank: int, ranks: int) -> tuple:
        part = nn.Linear(8, 5)
        stage = PipelineStage(part, 0, 1, "cpu")
        ScheduleGPipe(stage, 3, loss_of).step(gn.tensor(X[0]), target=gn.tensor(Y[0]))
        mean = part.weight.grad.clone()
        part.zero_grad()
        summed = ScheduleGPipe(stage, 3, loss_of, scale_grads=False)
        assert summed.step(gn.tensor(X[0]), target=gn.tensor(Y[0]), return_outputs=False) is None
        np.testing.assert_allclose(part.weight.grad.numpy(), 3 * mean.numpy(), rtol=1e-6)
        part.zero_grad()
        made = ScheduleGPipe(stage, 3).step(gn.tensor(X[0]))
        assert made.tolist() == part(gn.tensor(X[0])).tolist()
        assert part.weight.grad is None
        losses: list[gn.Tensor] = []
        ScheduleGPipe(stage, 2, loss_of).eval(
            gn.tensor(X[0]), target=gn.tensor(Y[0]), losses=losses
        )
        assert len(losses) == 2

    on_threads(work, 1)


def test_what_does_not_fit_is_refused():
    def work(rank: int, ranks: int) -> None:
        with pytest.raises(ArgumentError, match=r"got stage 1 of 3 on rank . of 2"):
            PipelineStage(nn.ReLU(), 1, 3, "cpu")
        stage = PipelineStage(nn.ReLU(), rank, ranks, "cpu")
        with pytest.raises(ArgumentError, match="expected one microbatch or more: got 0"):
            ScheduleGPipe(stage, 0)
        with pytest.raises(ArgumentError, match="cut along their first axis"):
            Schedule1F1B(stage, 2, args_chunk_spec=(1,))
        with pytest.raises(ArgumentError, match=r"5 equal microbatches: got .* \(12, 8\)"):
            Schedule1F1B(stage, 5).step(gn.tensor(X[0]))

    on_threads(work, 2)
    assert not dist.is_initialized()
