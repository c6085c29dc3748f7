"""Hooks of all modules, beside those of one."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.nn import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)


def test_hooks_of_all_modules_come_before_those_of_one():
    seen, layer = [], nn.Sequential(nn.ReLU())
    own = layer.register_forward_hook(lambda *_: seen.append("own"))
    kept = [
        register_module_forward_pre_hook(lambda m, _: seen.append(f"into {type(m).__name__}")),
        register_module_forward_hook(lambda m, *_: seen.append(f"out of {type(m).__name__}")),
    ]

    layer(gn.ones(1))
    for handle in (own, *kept):
        handle.remove()
    layer(gn.ones(1))

    assert seen == ["into Sequential", "into ReLU", "out of ReLU", "out of Sequential", "own"]


def test_hooks_of_all_modules_change_inputs_and_outputs():
    with register_module_forward_pre_hook(lambda _, inputs: inputs[0] * 3):
        assert nn.ReLU()(gn.tensor([2.0])).tolist() == [6.0]
    with register_module_forward_hook(lambda m, i, k, y: y + k["b"], with_kwargs=True):
        assert Added()(gn.tensor([2.0]), b=5).tolist() == [12.0]


def test_hooks_of_all_modules_are_told_of_a_forward_that_fails():
    seen = []

    with (
        register_module_forward_hook(lambda *given: seen.append(given), always_call=True),
        pytest.raises(NotImplementedError),
    ):
        nn.Module()(1)

    assert [given[1:] for given in seen] == [((1,), None)]


def test_hooks_of_all_modules_change_gradients():
    x = gn.ones(1, requires_grad=True)

    with (
        register_module_full_backward_pre_hook(lambda _, outputs: (outputs[0] * 2,)),
        register_module_full_backward_hook(lambda _, inputs, outputs: (inputs[0] + 1,)),
    ):
        nn.ReLU()(x).sum().backward()

    assert x.grad.tolist() == [3.0]


def test_a_compiled_function_follows_hooks_of_all_modules():
    layer, factors = nn.ReLU(), [2.0]
    compiled = gn.compile(lambda x: layer(x))
    x = gn.tensor([1.0])
    assert compiled(x).tolist() == [1.0]

    handle = register_module_forward_hook(lambda m, i, y: y * factors[0])
    assert compiled(x).tolist() == [2.0]
    factors[0] = 5.0
    assert compiled(x).tolist() == [5.0]
    handle.remove()
    assert compiled(x).tolist() == [1.0]


class Added(nn.Module):
    """A sum with a word."""

    def forward(self, a: gn.Tensor, b: float = 0.0) -> gn.Tensor:
        return a + b
