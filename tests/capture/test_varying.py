"""Python numbers among arguments, and from item(), that change from call to call."""

from __future__ import annotations

import gc
import warnings
from types import SimpleNamespace

import pytest

import gnomon as gn
from gnomon.errors import TraceError


def test_forty_rates_are_two_captures():
    step = gn.compile(lambda x, rate: x - x.exp() * rate)
    rates = [0.01 * k for k in range(40)]
    made = [step(gn.ones(3), rate).tolist() for rate in rates]

    assert made == [(gn.ones(3) - gn.ones(3).exp() * rate).tolist() for rate in rates]
    assert step.captures == 2
    assert "argument[0][1] is 0.01, was 0.0" in step.why_recompiled()[0]


def test_numbers_inside_of_arguments_vary_too():
    @gn.compile(breaks="error")
    def step(x, options, *, scale):
        return x * options["rate"] + scale * 2

    made = [step(gn.ones(2), {"rate": 0.5 * k}, scale=k).tolist() for k in range(9)]

    assert made == [[2.5 * k] * 2 for k in range(9)]
    assert step.captures <= 3


@pytest.mark.parametrize("breaks", ["allow", "error"])
def test_sizes_and_counts_stay_constants(breaks):
    @gn.compile(breaks=breaks)
    def step(x, count, rate):
        for _ in range(count):
            x = x * rate
        return x

    for count in (1, 2, 3, 1, 2):
        for rate in (0.5, 0.25, 2.0):
            assert step(gn.ones(1), count, rate).tolist() == [rate**count]
    assert step.captures <= 9


def test_a_number_that_is_asked_for_and_used_is_no_way_of_its_own():
    @gn.compile
    def step(x):
        scale = x.mean().item()
        if scale > 4:
            return x, scale
        return x * (scale * 2 + 1), scale

    for k in range(20):
        x = gn.ones(2) * k
        y, scale = step(x)
        assert (y.tolist(), scale, type(scale)) == (
            [float(k * (2 * k + 1) if k <= 4 else k)] * 2,
            float(k),
            float,
        )
    assert step.captures <= 4


@pytest.mark.parametrize("is_frozen", [False, True])
def test_nothing_of_a_stand_in_stays_behind(is_frozen):
    box, kept, rates = SimpleNamespace(rate=None), [], []
    box.__dict__["made"] = True  # its dictionary is there to be frozen
    if is_frozen:
        gc.freeze()

    @gn.compile
    def step(x, rate):
        if x.sum() > 2:
            box.rate = rate
            rates.append(rate)
            kept.append((rate * 2, x.mean().item()))
        return x * rate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rate, k in ((0.5, 1.0), (0.25, 1.0), (0.125, 2.0), (0.75, 2.0)):
            assert step(gn.ones(2) * k, rate).tolist() == [rate * k] * 2

    assert (type(box.rate), box.rate) == (float, 0.75)
    assert [(type(rate), rate) for rate in rates] == [(float, 0.125), (float, 0.75)]
    assert [float(a) for a, _ in kept] == [0.25, 1.5]
    assert [a + b for a, b in kept] == [2.25, 3.5]


def test_a_function_that_takes_no_stand_in_is_captured_with_numbers():
    calls = []

    @gn.compile
    def step(x, rate):
        calls.append if type(rate) is float else None
        if type(rate) is not float:
            raise TypeError("a float is needed")
        return x * rate

    assert [step(gn.ones(1), r).item() for r in (0.5, 1.5, 2.5)] == [0.5, 1.5, 2.5]


kind_of = type


@pytest.mark.parametrize(
    "factor",
    [
        lambda rate: rate if type(rate) is float else 100.0,
        lambda rate: {float: 2.0}.get(type(rate), 100.0) * rate,
        lambda rate: rate if kind_of(rate) is float else 100.0,
        lambda rate: rate if next(map(type, [rate])) is float else 100.0,
    ],
)
def test_who_asks_for_the_class_of_a_number_sees_the_number(factor):
    step = gn.compile(lambda x, rate: x * factor(rate))

    for rate in (0.5, 0.25, 2.0, 4.0):
        assert step(gn.ones(1), rate).item() == factor(rate)


def test_asking_for_a_class_where_something_is_done_is_refused():
    told = []

    def factor(rate):
        return 1.0 if type(rate) is float else 100.0

    @gn.compile
    def step(x, rate):
        if x.sum() > 1:
            told.append(1)
            return x * factor(rate)
        return x * rate

    assert [step(gn.ones(1), rate).item() for rate in (0.5, 0.25)] == [0.5, 0.25]
    with pytest.raises(TraceError, match="asked for its type"):
        step(gn.ones(2), 0.75)


def test_inside_of_a_branch_a_number_is_what_it_is():
    @gn.compile
    def step(x, rate):
        return gn.cond(x.sum() > 0, lambda x: x * rate, lambda x: x * int(rate), (x,))

    made = [step(gn.ones(2) * s, r).tolist() for r in (0.5, 1.5, 2.5) for s in (1, -1)]

    assert made == [[0.5] * 2, [0.0] * 2, [1.5] * 2, [-1.0] * 2, [2.5] * 2, [-2.0] * 2]


def test_a_call_whose_numbers_stay_is_not_searched_for_numbers():
    step = gn.compile(lambda x, options: x * options["rate"])
    for length in (1, 2, 3):
        step(gn.ones(length), {"rate": 0.5})

    assert not step.varying.lifted
    assert [step(gn.ones(1), {"rate": rate}).item() for rate in (0.5, 2.0, 3.0)] == [0.5, 2.0, 3.0]
    assert len(step.varying.lifted) == 1
