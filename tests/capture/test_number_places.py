"""Numbers in attributes, globals, closures and entries that change from call to call."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import gnomon as gn
from gnomon import nn

BOX = SimpleNamespace(rate=0.5)
rate = 0.5


class Scaled(nn.Module):
    """A module that counts its calls and scales by a number."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.calls = 1.0, 0

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """x scaled, and the number of the call added."""
        self.calls += 1
        return x * self.scale + self.calls


def test_forty_rates_in_an_attribute_are_two_captures():
    step = gn.compile(lambda x: x - x.exp() * BOX.rate)

    for k in range(40):
        BOX.rate = 0.01 * k
        assert step(gn.ones(3)).tolist() == (gn.ones(3) - gn.ones(3).exp() * BOX.rate).tolist()
    assert step.captures == 2


def test_a_global_and_a_variable_of_a_closure_vary():
    global rate
    count = 0

    @gn.compile
    def step(x):
        nonlocal count
        count += 2
        return x * rate + count

    for k in range(6):
        rate = 0.25 * k
        assert step(gn.ones(1)).item() == 0.25 * k + 2 * (k + 1)
    assert count == 12
    assert step.captures <= 3


def test_what_is_put_there_is_put_there_where_it_was_there_before():
    def outer(x):
        made = x * BOX.rate
        BOX.rate = 1.0
        return made

    step = gn.compile(outer)
    for before in (0.5, 1.0, 0.25, 1.0, 2.0):
        BOX.rate = before
        assert step(gn.ones(1)).item() == before
        assert BOX.rate == 1.0, before
    assert step.captures == 2


def test_a_module_counts_its_calls():
    plain, model = Scaled(), Scaled()
    step = gn.compile(model)

    for k in range(8):
        plain.scale = model.scale = 0.5 * (k // 3)
        assert step(gn.ones(2)).tolist() == plain(gn.ones(2)).tolist()
        assert (model.calls, type(model.calls)) == (k + 1, int)
    assert step.captures <= 4
    other = gn.compile(lambda: gn.ones(1) * model.calls)
    assert other().item() == 8
    step(gn.ones(2))
    assert other().item() == 9


@pytest.mark.parametrize("kept", [{"n": 0, "rate": 0.5}, [0, 0.5]])
def test_entries_of_a_container_vary(kept):
    number, share = ("n", "rate") if isinstance(kept, dict) else (0, 1)

    @gn.compile
    def step(x):
        kept[number] += 1
        kept[share] = kept[share] * 0.5
        return x * kept[share] + kept[number]

    for k in range(1, 7):
        assert step(gn.ones(1)).item() == 0.5 ** (k + 1) + k
    assert (kept[number], kept[share]) == (6, 0.5**7)
    assert step.captures <= 3


def test_every_third_call_is_another_way():
    box = SimpleNamespace(n=0)

    @gn.compile
    def step(x):
        box.n += 1
        return x * 2 if box.n % 3 == 0 else x

    assert [step(gn.ones(1)).item() for _ in range(9)] == [1, 1, 2] * 3
    assert box.n == 9
    assert step.captures <= 4


def test_an_average_of_what_was_computed_is_kept_as_a_number():
    box = SimpleNamespace(mean=0.0)

    @gn.compile
    def step(x):
        box.mean = box.mean * 0.5 + x.sum().item()
        return x + box.mean

    mean = 0.0
    for k in range(8):
        mean = mean * 0.5 + 2.0 * k
        assert step(gn.ones(2) * k).tolist() == [k + mean] * 2
        assert (box.mean, type(box.mean)) == (mean, float)
    assert step.captures <= 5


def test_where_it_raises_what_was_done_before_is_done():
    box = SimpleNamespace(n=0)

    @gn.compile
    def step(x):
        box.n += 1
        if x.sum() > 2:
            raise KeyError("much")
        return x * box.n

    for k, value in enumerate((1.0, 1.0, 1.0, 3.0, 1.0, 3.0), 1):
        if value > 2:
            with pytest.raises(KeyError, match="much"):
                step(gn.ones(1) * value)
        else:
            assert step(gn.ones(1)).item() == k
        assert (box.n, type(box.n)) == (k, int)


def test_another_thread_sees_the_number_and_never_a_stand_in():
    box, seen, ended = SimpleNamespace(n=0), set(), threading.Event()

    def look():
        while not ended.is_set():
            seen.add(type(box.n + 1))

    @gn.compile
    def step(x):
        for _ in range(50):
            x = x + box.n
        return x

    watcher = threading.Thread(target=look)
    watcher.start()
    for k in range(10):
        box.n = k
        assert step(gn.zeros(1)).item() == 50 * k
    ended.set()
    watcher.join()
    assert seen == {int}


def test_a_size_is_a_constant():
    box = SimpleNamespace(n=1)
    step = gn.compile(lambda x: x * gn.ones(box.n).sum())

    for n in (1, 2, 3, 1, 2, 3):
        box.n = n
        assert step(gn.ones(1)).item() == n
    assert step.captures <= 6
