"""Tensors that are sent to other processes keep their memory."""

from __future__ import annotations

import gc
import os
import pickle
from multiprocessing.reduction import ForkingPickler

import pytest

import gnomon as gn
import gnomon.multiprocessing as mp
from gnomon.errors import GradientError


def sent(value):
    """A value as another process gets it, here in this one."""
    return pickle.loads(bytes(ForkingPickler.dumps(value)))


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x[1:, 2],
        lambda x: x.permute(2, 0, 1),
        lambda x: x.flatten()[3:20:2],
        lambda x: x[:, None].expand(3, 2, 4, 5),
        lambda x: x.unfold(2, 2, 2),
    ],
)
def test_views_show_the_same_places(view):
    x = gn.arange(60.0).reshape(3, 4, 5) + 0
    mine = view(x)
    its = sent(mine)

    assert (its.shape, its.stride(), its.dtype) == (mine.shape, mine.stride(), mine.dtype)
    assert its.tolist() == mine.tolist()
    assert its.is_shared()
    assert mine.is_shared()
    x.zero_()
    assert its.flatten().tolist() == [0] * its.numel()
    assert its._storage is x._storage


def test_formats_of_memory_arrive():
    x = gn.rand(2, 3, 4, 5).to(memory_format=gn.channels_last)

    assert sent(x).stride() == x.stride()
    assert sent(x).is_contiguous(memory_format=gn.channels_last)


def test_classes_and_attributes_arrive():
    weight = gn.nn.Parameter(gn.ones(2, 3))
    weight.label = "w"
    its = sent(weight)

    assert type(its) is gn.nn.Parameter
    assert (its.requires_grad, its.is_leaf, its.label) == (True, True, "w")
    its.sum().backward()
    assert its.grad.tolist() == [[1] * 3] * 2
    assert weight.grad is None
    assert not sent(gn.nn.Parameter(gn.ones(2), requires_grad=False)).requires_grad
    assert sent(gn.tensor([1 + 2j])).tolist() == [1 + 2j]
    assert sent(gn.zeros(0, 3)).shape == (0, 3)


def test_tied_weights_stay_tied():
    first, second = gn.nn.Linear(2, 2, bias=False), gn.nn.Linear(2, 2, bias=False)
    second.weight = first.weight
    one, two = sent(gn.nn.Sequential(first, second))

    assert one.weight is two.weight
    with gn.no_grad():
        one.weight.fill_(3)
    assert first.weight.tolist() == [[3, 3], [3, 3]]


def test_a_result_that_wants_gradients_stays_here():
    x = gn.ones(2, requires_grad=True)

    with pytest.raises(GradientError, match=r"Send tensor\.detach\(\)"):
        ForkingPickler.dumps(x * 2)
    assert sent((x * 2).detach()).tolist() == [2, 2]


def test_other_pickles_hold_values():
    x = gn.ones(2).share_memory_()
    copied = pickle.loads(pickle.dumps(x))
    x.zero_()

    assert copied.tolist() == [1, 1]
    assert not copied.is_shared()


def test_nothing_is_left_open():
    sent(gn.ones(2))  # begins what hands files on
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    x = gn.ones(3).share_memory_()
    views = [sent(x), sent(x[1:])]
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del x, views
    gc.collect()

    assert len(os.listdir("/proc/self/fd")) == before


def descend(layer, steps: int, taken, rest) -> None:
    """Train a layer that others train too."""
    optimizer = gn.optim.SGD(layer.parameters(), lr=0.1)
    x = gn.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
    for _ in range(steps):
        optimizer.zero_grad()
        ((layer(x).squeeze(1) - x @ gn.tensor([1.0, -2.0])) ** 2).mean().backward()
        optimizer.step()
    taken.put((os.getpid(), layer.weight, layer.weight.grad.is_shared()))
    rest.wait(60)


def test_processes_train_one_layer():
    layer = gn.nn.Linear(2, 1, bias=False).share_memory()
    start = mp.get_context("fork")
    taken, rest = start.SimpleQueue(), start.Event()
    workers = [start.Process(target=descend, args=(layer, 40, taken, rest)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [taken.get() for _ in workers]

    assert {pid for pid, _, _ in found} == {worker.pid for worker in workers}
    assert all(weight._storage is layer.weight._storage for _, weight, _ in found)
    assert not any(shared for _, _, shared in found)
    rest.set()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert layer.weight.tolist()[0] == pytest.approx([1, -2], abs=1e-2)
    assert layer.weight.grad is None


def add_one(given, back, rest) -> None:
    """Write to what comes, and send a part of it back."""
    for _ in range(8):
        x = given.get()
        x += 1
        back.put(x[:2])
    rest.wait(60)


def test_queues_send_what_is_not_computed_yet():
    start = mp.get_context("fork")
    given, back, rest = start.Queue(), start.Queue(), start.Event()
    worker = start.Process(target=add_one, args=(given, back, rest))
    worker.start()
    kept = [gn.arange(4.0) * k for k in range(8)]
    for x in kept:
        given.put(x)
    found = [back.get(timeout=60) for _ in kept]
    rest.set()
    worker.join(60)

    assert worker.exitcode == 0
    assert [x.tolist() for x in kept] == [[i * k + 1 for i in range(4)] for k in range(8)]
    assert [x.tolist() for x in found] == [[1, k + 1] for k in range(8)]
    assert all(part.is_set_to(x[:2]) for part, x in zip(found, kept, strict=True))
