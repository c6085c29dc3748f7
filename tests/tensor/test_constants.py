"""Python numbers that vary from iteration to iteration do not make a program each."""

from __future__ import annotations

import gc
import importlib

import pytest

import gnomon as gn
from gnomon.ir import memo
from gnomon.settings import current
from gnomon.tensor.state import state

evaluation = importlib.import_module("gnomon.tensor.evaluate")
plans = importlib.import_module("gnomon.tensor.autograd.backward")


@pytest.fixture(autouse=True)
def alone():
    """Programs and numbers that other tests left behind are none of these."""
    gc.collect()
    gn.evaluate()
    memo.clear()
    state.arena.constants.clear()


def counts():
    return sum(map(len, evaluation._programs.values())), len(plans._plans)


def test_a_plain_loop_with_a_changing_rate_compiles_a_few_times():
    w = gn.ones(3, requires_grad=True)
    seen, values = [], []
    for k in range(8):
        loss = ((w * w) * (0.1 + 0.01 * k)).sum()
        w.grad = None
        loss.backward()
        with gn.no_grad():
            w.sub_(w.grad * (0.5 / (k + 1)))
        values.append(loss.item())
        seen.append(counts())

    assert seen[4] == seen[7]
    w, expected = 1.0, []
    for k in range(8):
        expected.append(3 * w * w * (0.1 + 0.01 * k))
        w -= 2 * w * (0.1 + 0.01 * k) * 0.5 / (k + 1)
    assert all(abs(a - b) < 1e-6 for a, b in zip(values, expected, strict=True))


def test_a_number_that_varies_in_one_structure_stays_built_into_others():
    x = gn.tensor([1.0, 2.0, 3.0])
    other = x - 0.375
    for rate in (0.625, 0.375):
        (x * rate).tolist()
    known = list(evaluation._programs[current()].values())
    other.tolist()

    (found,) = [p for p in evaluation._programs[current()].values() if p not in known]
    assert len(found.last[1][0].source.inputs) == 1


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_number_that_somebody_looks_at_stays_built_in(shape):
    x = gn.tensor([1.0, 2.0, 3.0])
    other = (x - gn.full((), 0.4375).reshape(shape)).exp()
    assert gn.full((), 0.4375).item() == 0.4375
    known = list(evaluation._programs[current()].values())
    other.tolist()

    (found,) = [p for p in evaluation._programs[current()].values() if p not in known]
    assert len(found.last[1][0].source.inputs) == 1
