"""Schedules of several parts: phases, sequences, chains, plateaus."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError
from gnomon.optim import lr_scheduler as s
from tests.optim.walks import parameters


def optimizer(**options: float) -> optim.SGD:
    """An optimizer with a rate of 0.1."""
    return optim.SGD(parameters(), lr=0.1, **options)


def rates(scheduler: s.LRScheduler, steps: int) -> list[float]:
    """The rates of the first steps."""
    found = [scheduler.get_last_lr()[0]]
    for _ in range(steps):
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


def test_one_cycle_rises_and_falls_while_momentum_falls_and_rises():
    o = optimizer(momentum=0.9)
    scheduler = s.OneCycleLR(o, max_lr=1.0, total_steps=11, anneal_strategy="linear")

    found = rates(scheduler, 10)

    assert found[0] == 1 / 25
    assert max(found) < 1.0
    np.testing.assert_allclose(found[-1], 1 / 25 / 1e4)
    np.testing.assert_allclose(o.param_groups[0]["momentum"], 0.95)
    with pytest.raises(ArgumentError, match="Tried to step 12 times"):
        rates(scheduler, 2)


def test_a_sequence_changes_schedules_at_its_milestones():
    o = optimizer()
    parts = [s.ConstantLR(o, 0.5, total_iters=9), s.ExponentialLR(o, 0.1)]

    found = rates(s.SequentialLR(o, parts, [2]), 4)

    np.testing.assert_allclose(found, [0.05, 0.05, 0.1, 0.01, 0.001])


def test_a_chain_applies_all_its_schedules():
    o = optimizer()
    chain = s.ChainedScheduler([s.ExponentialLR(o, 0.5), s.ExponentialLR(o, 0.1)])

    np.testing.assert_allclose(rates(chain, 2), [0.1, 0.005, 0.00025])


def test_a_plateau_lowers_the_rate_after_some_patience():
    o = optimizer()
    scheduler = s.ReduceLROnPlateau(o, factor=0.5, patience=1, mode="max")
    seen = []
    for value in (1.0, 2.0, 2.0, 2.0, 2.0, 3.0):
        scheduler.step(value)
        seen.append(o.param_groups[0]["lr"])

    assert seen == [0.1, 0.1, 0.1, 0.05, 0.05, 0.05]


def test_a_schedule_of_schedules_saves_its_parts():
    one, two = optimizer(), optimizer()
    made = [
        s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=3), s.ExponentialLR(o, 0.9)], [3])
        for o in (one, two)
    ]
    rates(made[0], 4)
    made[1].load_state_dict(made[0].state_dict())
    two.load_state_dict(one.state_dict())

    assert rates(made[0], 2) == rates(made[1], 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda o: gn.optim.lr_scheduler.LambdaLR(o, lambda k: 1 / (k + 1)),
        lambda o: gn.optim.lr_scheduler.SequentialLR(
            o,
            [
                gn.optim.lr_scheduler.LinearLR(o, 0.1, total_iters=2),
                gn.optim.lr_scheduler.CosineAnnealingLR(o, 10),
            ],
            [2],
        ),
        lambda o: gn.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    ],
)
def test_a_schedule_that_steps_inside_of_a_compiled_function(make):
    def losses(compiled):
        gn.manual_seed(0)
        model = gn.nn.Linear(3, 1)
        optimizer = gn.optim.SGD(model.parameters(), lr=0.1)
        schedule = make(optimizer)

        def step(x):
            loss = (model(x) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            return loss.detach()

        run = gn.compile(step) if compiled else step
        return [(run(gn.ones(2, 3)).item(), *schedule.get_last_lr()) for _ in range(6)], run

    plain, (compiled, run) = losses(False)[0], losses(True)
    assert plain == compiled
    assert run.captures == 1


def test_what_a_compiled_function_cannot_know_of_rates_is_refused():
    parameter = gn.nn.Parameter(gn.ones(3))
    optimizer = gn.optim.SGD([parameter], lr=0.1)
    schedule = gn.optim.lr_scheduler.StepLR(optimizer, 1)

    @gn.compile
    def early():
        parameter.sum().backward()
        schedule.step()
        optimizer.step()

    with pytest.raises(gn.errors.ArgumentError, match=r"Call optimizer.step\(\) first"):
        early()
    with pytest.raises(gn.errors.ArgumentError, match="Ask for them outside"):
        gn.compile(lambda x: x * schedule.get_last_lr()[0])(gn.ones(2))


def test_a_rate_that_the_function_itself_sets_is_never_stale():
    def weights(compiled):
        parameter = gn.nn.Parameter(gn.ones(3))
        optimizer = gn.optim.SGD([parameter], lr=0.1)

        def step():
            optimizer.zero_grad()
            parameter.sum().backward()
            optimizer.step()
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
            return parameter.sum()

        run = gn.compile(step) if compiled else step
        return [run().item() for _ in range(4)]

    assert weights(False) == weights(True)


def test_a_cycle_rises_and_falls_while_momentum_falls_and_rises():
    o = optimizer(momentum=0.5)
    scheduler = s.CyclicLR(o, 0.1, 0.5, step_size_up=2, step_size_down=4)

    np.testing.assert_allclose(rates(scheduler, 6), [0.1, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(o.param_groups[0]["momentum"], 0.9)
    scheduler.step()
    np.testing.assert_allclose(o.param_groups[0]["momentum"], 0.85)


def test_tops_of_cycles_follow_a_mode_or_a_function():
    def tops(**options):
        scheduler = s.CyclicLR(optimizer(), 0.0, 1.0, 1, cycle_momentum=False, **options)
        return rates(scheduler, 5)[1::2]

    assert tops(mode="triangular2") == [1.0, 0.5, 0.25]
    np.testing.assert_allclose(tops(mode="exp_range", gamma=0.5), [0.5, 0.125, 0.03125])
    assert tops(scale_fn=lambda cycle: cycle) == [1.0, 2.0, 3.0]


def test_a_cycle_is_saved_and_taken_over_and_wrong_ones_are_refused():
    first = s.CyclicLR(optimizer(momentum=0.9), 0.1, 0.5, 4, scale_fn=lambda cycle: 1.0)
    rates(first, 3)
    second = s.CyclicLR(optimizer(momentum=0.9), 0.1, 0.5, 4)
    assert "scale_fn" not in first.state_dict()
    second.load_state_dict(first.state_dict())

    assert rates(first, 3)[1:] == rates(second, 3)[1:]
    with pytest.raises(ArgumentError, match="mode is invalid"):
        s.CyclicLR(optimizer(), 0.1, 0.5, mode="square")
    with pytest.raises(ArgumentError, match="must support momentum"):
        s.CyclicLR(optim.Adagrad(parameters()), 0.1, 0.5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"total_steps": 9, "pct_start": 1.1}, "between 0 and 1 pct_start"),
        ({"total_steps": 0}, "0"),
    ],
)
def test_a_cycle_without_its_phases_is_refused(words: dict, message: str):
    with pytest.raises(ArgumentError, match=message):
        s.OneCycleLR(optim.SGD(parameters(), lr=0.1), max_lr=1.0, **words)


def test_a_plateau_lowers_the_rates_of_groups_that_came_later():
    o = gn.optim.SGD([gn.nn.Parameter(gn.ones(2))], lr=1.0)
    plain = s.ReduceLROnPlateau(o, factor=0.5, patience=0, min_lr=0.3)
    named = s.ReduceLROnPlateau(o, factor=0.5, patience=0, min_lr=[0.3])
    o.add_param_group({"params": [gn.nn.Parameter(gn.ones(3))], "lr": 0.5})
    for value in (1.0, 2.0):
        plain.step(value)

    assert [group["lr"] for group in o.param_groups] == [0.5, 0.3]
    named.step(1.0)
    with pytest.raises(ArgumentError, match="min_lr"):
        named.step(2.0)
