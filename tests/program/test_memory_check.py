"""A program that does not fit is refused before it runs; its largest buffers name their lines."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, OutOfMemory
from gnomon.nn import functional as F
from gnomon.program.memory_check import live_at_peak
from gnomon.runtime.buffer import memory
from tests.counters import settled

HERE = __file__


@pytest.fixture
def limit():
    """Sets a limit of so many bytes beside what is in use, for the length of a test."""
    before = gn.get_memory_limit()
    yield lambda more: gn.set_memory_limit(settled().allocated + more)
    gn.set_memory_limit(before)


def training_step():
    """A step whose logits are large."""
    x, w = gn.rand(64, 32), gn.rand(3000, 32, requires_grad=True)
    y = gn.randint(0, 3000, (64,))
    gn.evaluate(x, w, y)

    @gn.compile
    def step(x, y):
        logits = x @ w.T  # logits
        loss = F.cross_entropy(logits * 2.0, y)
        loss.backward()
        return loss.detach()

    return lambda: step(x, y).item(), w


def test_what_does_not_fit_is_refused_before_it_runs(limit):
    step, w = training_step()
    limit(1 << 18)
    used = settled().allocated

    with pytest.raises(OutOfMemory) as refused:
        step()

    text = str(refused.value)
    assert w.grad is None
    assert memory.use().allocated <= used + (1 << 18)
    rows = [row for row in text.splitlines() if row.startswith("  ")]
    assert 3 <= len(rows) <= 10
    sizes = [float(row.split()[0]) * {"kB": 1e3, "MB": 1e6, "B": 1}[row.split()[1]] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert f"{HERE}:" in text
    assert "Nothing was run." in text
    assert "What would help: nn.functional.linear_cross_entropy" in text
    assert "gn.accumulate" in text
    assert isinstance(refused.value, MemoryError)


def test_the_same_step_runs_where_it_fits(limit):
    step, w = training_step()
    limit(1 << 28)

    assert step() > 0
    assert w.grad is not None


def test_eager_values_are_refused_too(limit):
    x = gn.rand(300, 300)
    gn.evaluate(x)
    limit(1000)

    with pytest.raises(OutOfMemory, match=r"float32\[300, 300\]  result.*check\.py:\d+"):
        (x * 3).tolist()
    limit(1 << 24)
    assert (x * 3).shape == (300, 300)


def test_results_that_take_an_inputs_place_need_no_room(limit):
    x = gn.rand(400, 400)
    gn.evaluate(x)
    double = gn.compile(lambda x: x.mul_(2))
    double(x)
    limit(400 * 400)

    double(x)


def test_inputs_results_and_values_between_are_live():
    f = gn.compile(lambda x: (x @ x).sort()[0] @ x)
    f(gn.rand(9, 9))
    ((_, program),) = next(iter(f.programs.values()))
    live = live_at_peak(program.executable.block)

    assert {each.role for each in live} == {"input", "between", "result"}


def test_a_limit_is_a_number_of_bytes():
    with pytest.raises(ArgumentError, match="expected bytes or None"):
        gn.set_memory_limit(-1)
    gn.set_memory_limit(None)
    assert gn.get_memory_limit() > 1 << 28
