"""What a write keeps: the tensor's dtype and shape, and who wants gradients."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import gnomon as gn

writing = importlib.import_module("gnomon.tensor.writing")


def test_a_write_is_cast_and_broadcast_to_its_target():
    x = gn.zeros(2, 3, dtype=gn.int32)
    x.copy_(gn.tensor([1.9, 2.9, -1.9]).to(gn.int64))

    assert x.dtype is gn.int32
    assert x.tolist() == [[1, 2, -1], [1, 2, -1]]


def test_a_write_brings_its_gradient_into_the_storage():
    w = gn.ones(2, requires_grad=True)
    base = gn.zeros(3)
    base[:2].copy_(w * 4)

    assert base.requires_grad
    base.sum().backward()
    assert w.grad.tolist() == [4, 4]


WHOLE = {
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "copy_": lambda x: x.copy_(gn.ones(2)),
    "normal_": lambda x: x.normal_(),
    "a slice": lambda x: x.__setitem__(slice(None), 2.0),
    "a view": lambda x: x.view(2, 1).zero_(),
    "compiled": lambda x: gn.compile(lambda y: y.zero_())(x),
}


@pytest.mark.parametrize("write", WHOLE.values(), ids=WHOLE)
def test_a_whole_write_of_a_plain_value_leaves_a_gradient_of_zeros(write):
    w = gn.ones(2, requires_grad=True)
    x = w * 2
    write(x)
    (x * 5).sum().backward()

    assert w.grad.tolist() == [0, 0]


WRITES = {
    "a row": lambda t: t.__setitem__(0, 5.0),
    "a column": lambda t: t[:, 1].fill_(5.0),
    "in steps": lambda t: t[::2].copy_(gn.full((2,), 5.0)),
    "a diagonal": lambda t: t[:2].diagonal().add_(5),
    "of a view": lambda t: t.view(2, 3).t()[0].mul_(0).add_(5),
    "without gradients": lambda t: t.detach()[1:].add_(5),
    "compiled": lambda t: gn.compile(lambda x: x.add_(5))(t[0]),
    "nothing": lambda t: t[:0].add_(5),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_to_a_part_leaves_what_others_write_beside_it(write, dtype: str, monkeypatch):
    alone, memory = np.zeros((3, 2), dtype), np.zeros((3, 2), dtype)
    write(gn.from_numpy(alone))
    t, others = gn.from_numpy(memory), alone == 0
    original = writing.evaluate

    def evaluate(nodes: list, goal: object = None) -> None:
        original(nodes)
        memory[others] = 7  # as another process does meanwhile

    monkeypatch.setattr(writing, "evaluate", evaluate)
    write(t)

    assert set(memory[others].tolist()) == {7}
    assert (memory[~others] == 5).all()
