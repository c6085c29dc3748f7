"""A captured function gives back what it computes on the way, under names that runs share."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.tensor.computed_values import ValueName, computed_values, whole_values


def test_every_value_is_named_by_operation_module_and_index():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    x, y = gn.ones(2, 3), gn.zeros(2, 3)

    loss = model(x).exp().mul(model(y)).sum()
    loss.backward()
    found = computed_values(loss, [p.grad for p in model.parameters()])

    ops = [(name.phase, name.op, name.index) for name in found]
    assert ops[:7] == [
        ("forward", "linear", 0),
        ("forward", "linear", 0),
        ("forward", "exp", 0),
        ("forward", "linear", 1),
        ("forward", "linear", 1),
        ("forward", "mul", 0),
        ("forward", "sum", 0),
    ]
    assert [name.module for name in found][:5] == ["0", "1", "", "0", "1"]
    assert {name.phase for name in found} == {"forward", "backward"}
    assert all(name.line.startswith("tests/tensor/test_computed_values.py:") for name in found)
    assert len({name.key for name in found}) == len(found)


def test_a_captured_step_gives_them_back_and_is_captured_once():
    weight = nn.Parameter(gn.ones(3, 3))
    captured = []

    @gn.compile
    def step(x: gn.Tensor) -> tuple[gn.Tensor, dict[ValueName, gn.Tensor]]:
        captured.append(None)
        loss = (x @ weight).exp().sum()
        return loss.detach(), computed_values(loss)

    for _ in range(3):
        loss, values = step(gn.ones(2, 3))

    by_op = {name.op: value for name, value in values.items()}
    assert by_op["sum"].item() == loss.item()
    assert np.array_equal(by_op["exp"].numpy(), np.full((2, 3), np.exp(np.float32(3))))


def test_whole_values_are_those_of_now():
    x = gn.ones(2)

    (kept,) = whole_values([x])
    x.add_(1)

    assert kept.tolist() == [1, 1]
