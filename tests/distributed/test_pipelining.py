"""Stages over ranks have the losses, gradients and results of one that does all, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.pipelining import (
    PipelineScheduleMulti,
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
    get_schedule_class,
)
from gnomon.errors import ArgumentError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 12, 8)).astype(np.float32)
Y = RNG.normal(size=(3, 12, 5)).astype(np.float32)
SCHEDULES = [ScheduleGPipe, Schedule1F1B]
OF_SEVERAL = [ScheduleLoopedBFS, ScheduleInterleaved1F1B]


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


def scheduled(kind: type, own: list[nn.Module], rank: int, ranks: int, microbatches: int):
    """A schedule of a rank's parts of a model."""
    count = ranks * len(own)
    stages = [PipelineStage(x, rank + k * ranks, count, "cpu") for k, x in enumerate(own)]
    of_one = not issubclass(kind, PipelineScheduleMulti)
    return kind(stages[0] if of_one else stages, microbatches, loss_of)


def trained(kind: type, rank: int, ranks: int, microbatches: int, stages: int) -> tuple:
    """The bits of losses and of results on the last stage, and of the parameters of each stage."""
    own = parts(stages)[rank::ranks]
    schedule = scheduled(kind, own, rank, ranks, microbatches)
    parameters = [p for part in own for p in part.parameters()]
    optimizer = gn.optim.Adam(parameters, lr=0.05) if parameters else None
    losses, results, found = [], [], ["of an earlier step"]
    for x, y in zip(X, Y, strict=True):
        first = (gn.tensor(x),) if rank == 0 else ()
        target = gn.tensor(y) if rank == ranks - 1 else None
        made = schedule.step(*first, target=target, losses=found)
        assert (made is None) == (rank < ranks - 1)
        losses += [float(each).hex() for each in found] if rank == ranks - 1 else []
        results += [] if made is None else [made.numpy().tobytes().hex()]
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
    bits = [[p.detach().numpy().tobytes().hex() for p in part.parameters()] for part in own]
    return losses, results, bits


def check_bits(kind: type, ranks: int, microbatches: int, stages: int) -> None:
    """Compare a schedule over ranks with one stage that does all."""
    (alone,) = on_threads(lambda rank, n: trained(ScheduleGPipe, rank, n, microbatches, 1), 1)

    found = on_threads(lambda rank, n: trained(kind, rank, n, microbatches, stages), ranks)

    assert len(alone[0]) == len(X) * microbatches
    assert found[-1][:2] == alone[:2]
    in_order = [found[k % ranks][2][k // ranks] for k in range(stages)]
    assert [p for part in in_order for p in part] == alone[2][0]


@pytest.mark.parametrize("kind", SCHEDULES)
@pytest.mark.parametrize(("ranks", "microbatches"), [(2, 1), (2, 4), (4, 3), (4, 6), (4, 12)])
def test_stages_have_the_bits_of_one(kind: type, ranks: int, microbatches: int):
    check_bits(kind, ranks, microbatches, ranks)


@pytest.mark.parametrize("kind", OF_SEVERAL)
@pytest.mark.parametrize(
    ("ranks", "stages", "microbatches"),
    [(1, 1, 3), (1, 2, 4), (1, 4, 1), (2, 2, 3), (2, 4, 1), (2, 4, 2), (2, 4, 6), (2, 4, 12)],
)
def test_several_stages_on_a_rank_have_the_bits_of_one(
    kind: type, ranks: int, stages: int, microbatches: int
):
    if kind is ScheduleInterleaved1F1B and microbatches % max(1, microbatches // ranks):
        pytest.skip("such rounds are not equal")
    check_bits(kind, ranks, microbatches, stages)


class Position:
    """A group of so many ranks, and this one among them."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank, self.size = lambda: rank, lambda: ranks


def orders(kind: type, ranks: int, stages: int, microbatches: int) -> list[list]:
    """The passes of each rank, with the numbers of stages among all."""
    found = []
    for rank in range(ranks):
        numbers = range(rank, ranks * stages, ranks)
        own = [PipelineStage.__new__(PipelineStage) for _ in numbers]
        for stage, number in zip(own, numbers, strict=True):
            stage.stage_index, stage.num_stages = number, ranks * stages
            stage.group = Position(rank, ranks)
        schedule = kind(own if stages > 1 else own[0], microbatches)
        found.append([(ahead, numbers[k], number) for ahead, k, number in schedule.passes()])
    return found


def run_as_they_come(found: list[list], last: int) -> int:
    """Run the passes of ranks, each as soon as what it reads is there; the rounds that it takes."""
    done, at, rounds = set(), [0] * len(found), 0
    while any(at[k] < len(found[k]) for k in range(len(found))):
        ready = []
        for rank, passes in enumerate(found):
            if at[rank] == len(passes):
                continue
            forward, stage, number = passes[at[rank]]
            needs = {(True, stage, number)} if not forward else set()
            if forward and stage:
                needs = {(True, stage - 1, number)}
            elif not forward and stage < last:
                needs |= {(False, stage + 1, number)}
            if needs <= done:
                ready.append((rank, passes[at[rank]]))
        assert ready, "every rank waits for another one"
        for rank, each in ready:
            done.add(each)
            at[rank] += 1
        rounds += 1
    return rounds


@pytest.mark.parametrize(
    ("kind", "stages"),
    [(ScheduleGPipe, 1), (Schedule1F1B, 1), (ScheduleLoopedBFS, 3), (ScheduleInterleaved1F1B, 3)],
)
def test_no_schedule_waits_for_itself(kind: type, stages: int):
    for ranks in range(2, 6):
        for microbatches in (1, 2, ranks, 2 * ranks, 5 * ranks):
            found = orders(kind, ranks, stages, microbatches)
            for passes in found:
                assert len({*passes}) == len(passes) == 2 * stages * microbatches
                for stage in {stage for _, stage, _ in passes}:
                    back = [n for forward, s, n in passes if s == stage and not forward]
                    assert back == [*range(microbatches)], "gradients are added up in order"
            run_as_they_come(found, ranks * stages - 1)


def test_interleaved_stages_wait_less_at_the_ends_of_a_step():
    """A third of the idle time, in passes of a third of the length."""
    whole = run_as_they_come(orders(Schedule1F1B, 4, 1, 8), 3)
    thirds = run_as_they_come(orders(ScheduleInterleaved1F1B, 4, 3, 8), 11)

    assert (whole - 16, thirds - 48) == (6, 6)


def test_schedules_are_found_by_their_names():
    assert get_schedule_class("INTERLEAVED1F1B") is ScheduleInterleaved1F1B
    with pytest.raises(ArgumentError, match=r"expected one of 1F1B, .*: got 'ZB'"):
        get_schedule_class("ZB")


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
        with pytest.raises(ArgumentError, match=r"expected all stages .*: got \[.\] of 4"):
            Schedule1F1B(PipelineStage(nn.ReLU(), rank, 4, "cpu"), 2)
        with pytest.raises(ArgumentError, match=r"expected all stages .*: got \[.\] of 4"):
            ScheduleLoopedBFS([PipelineStage(nn.ReLU(), rank + 2, 4, "cpu")], 2)
        with pytest.raises(ArgumentError, match=r"3 equal rounds: got 7"):
            ScheduleInterleaved1F1B([PipelineStage(nn.ReLU(), rank, 2, "cpu")], 7)
        stage = PipelineStage(nn.ReLU(), rank, ranks, "cpu")
        with pytest.raises(ArgumentError, match="expected one microbatch or more: got 0"):
            ScheduleGPipe(stage, 0)
        with pytest.raises(TypeError, match="scale_grad"):
            ScheduleGPipe(stage, 2, scale_grad=False)
        with pytest.raises(ArgumentError, match="cut along their first axis"):
            Schedule1F1B(stage, 2, args_chunk_spec=(1,))
        with pytest.raises(ArgumentError, match=r"5 equal microbatches: got .* \(12, 8\)"):
            Schedule1F1B(stage, 5).step(gn.tensor(X[0]))

    on_threads(work, 2)
    assert not dist.is_initialized()
