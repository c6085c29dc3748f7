"""Tables of steps on a card: launches, loops, branches, reports, times, and nothing left behind."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DeviceLost, IndexOutOfBounds
from gnomon.runtime import events
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.cuda import program
from gnomon.runtime.cuda.driver import driver
from gnomon.runtime.cuda.kernels import load
from gnomon.runtime.cuda.memory import card_memory
from gnomon.runtime.cuda.program import CardProgram, blocks_of
from gnomon.runtime.program import Call, InputSlot, Needs, OutputSlot
from tests.cuda.cards import card, fake_card
from tests.cuda.fake_driver import FakeDriver
from tests.runtime.kernels import add_text

there = pytest.fixture(fake_card, name="there")


def summed(x: gn.Tensor, times: int) -> gn.Tensor:
    """A loop whose body reads what it carries."""
    _, made = gn.while_loop(lambda k, y: k < times, lambda k, y: (k + 1, y * 2 + x), (0 * x[0], x))
    return made


@pytest.mark.parametrize("times", [0, 1, 5])
def test_loops_and_choices_run_as_on_the_host(there, times):
    x = gn.tensor([1.0, 2.0, 3.0])

    def f(x: gn.Tensor) -> gn.Tensor:
        y = summed(x, times)
        return gn.cond(y.sum() > 100, lambda y: y - 1, lambda y: y + 1, (y,))

    assert f(x.cuda()).tolist() == f(x).tolist()


def test_scans_run_as_on_the_host(there):
    xs = gn.arange(12.0).reshape(4, 3)

    def f(xs: gn.Tensor) -> gn.Tensor:
        return gn.scan(lambda c, x: (c + x, c * x), gn.ones(3, device=xs.device), xs)[1]

    assert f(xs.cuda()).tolist() == f(xs).tolist()


def test_a_position_outside_of_its_axis_is_named(there):
    table, k = gn.arange(6.0).reshape(3, 2).cuda(), gn.tensor([0, 3]).cuda()

    with pytest.raises(IndexOutOfBounds, match="a position is outside its axis: 3"):
        table.index_select(0, k).tolist()
    assert table.index_select(0, gn.tensor([2]).cuda()).tolist() == [[4.0, 5.0]]


def test_whoever_listens_is_told_of_each_call(there):
    found = []
    stop = events.subscribe(lambda kind, fields: found.append(fields) if kind == "run" else None)
    try:
        gn.arange(6.0).cuda().sort()[0].cumsum(0).tolist()
    finally:
        stop()

    rows = np.concatenate([fields["records"][0] for fields in found])
    assert len(rows) >= 2
    assert (rows[:, 2] >= rows[:, 1]).all()


def test_ten_thousand_steps_leave_nothing():
    with card(FakeDriver(16 << 20, interprets=False)) as fake:
        memory = type(card_memory)()
        program.card_memory, before = memory, program.card_memory
        try:
            made = CardProgram(
                [Call("card_step", (OutputSlot(0), InputSlot(0), InputSlot(1)))],
                load({"card_step": add_text("card_step", 16)}),
                Needs(inputs=2, outputs=2, arena=256, scratch=128),
            )
            x, y = (DeviceBuffer(64, memory) for _ in range(2))
            for _ in range(10_000):
                made.run([x.address, y.address], [DeviceBuffer(64, memory).address, 0])
        finally:
            program.card_memory = before
        assert fake.calls["cuLaunchKernel"] == 10_000
        assert fake.calls["cuMemAlloc_v2"] == 1
        assert memory.use().allocated == 2 * 64


class StepOfATest:
    """A caller of programs."""

    def __str__(self) -> str:
        return "step of a test"

    def step_title(self, number: int) -> str:
        return f"kernel {number}"


def test_a_lost_device_names_the_call():
    with card(FakeDriver(16 << 20)) as fake:
        made = CardProgram(
            [Call("card_wild", (OutputSlot(0), InputSlot(0), InputSlot(1)))],
            load({"card_wild": add_text("card_wild", 16)}),
            Needs(inputs=2, outputs=2),
        )
        program.card_memory, before = type(card_memory)(), program.card_memory
        try:
            made.run([1 << 40, 1 << 40], [1 << 40, 0], caller=StepOfATest())
            assert fake.sticky
            with pytest.raises(DeviceLost, match=r"the device is lost.*step of a test"):
                made.run([1 << 40, 1 << 40], [1 << 40, 0])
        finally:
            program.card_memory = before


def test_the_scratch_memory_of_all_threads_is_bounded(there):
    assert blocks_of(driver(), 256) == program.BLOCKS
    assert blocks_of(driver(), 2 << 20) == 4
    assert blocks_of(driver(), 1 << 40) == 1
