"""Backward hooks of modules: gradients of inputs and outputs, in one call."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import GradientError, TraceError


def linear() -> nn.Linear:
    layer = nn.Linear(3, 2)
    with gn.no_grad():
        layer.weight.copy_(gn.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    return layer


def test_a_hook_is_given_the_gradients_of_inputs_and_outputs():
    layer, seen = linear(), []
    layer.register_full_backward_hook(lambda _, i, o: seen.append((i[0].tolist(), o[0].tolist())))

    layer(gn.ones(1, 3, requires_grad=True)).sum().backward()

    assert seen == [([[5.0, 7.0, 9.0]], [[1.0, 1.0]])]


def test_the_older_name_of_a_hook_is_the_same_hook():
    seen: list = []
    layer = gn.nn.Linear(3, 2)
    layer.register_backward_hook(lambda *given: seen.append(given))
    layer(gn.ones(4, 3, requires_grad=True)).sum().backward()
    ((module, inputs, outputs),) = seen

    assert module is layer
    assert (tuple(inputs[0].shape), tuple(outputs[0].shape)) == ((4, 3), (4, 2))


def test_what_a_hook_gives_takes_the_place_of_the_inputs_gradient():
    layer, x = linear(), gn.ones(1, 3, requires_grad=True)
    layer.register_full_backward_hook(lambda _, inputs, outputs: (inputs[0] * 10,))

    layer(x).sum().backward()

    assert x.grad.tolist() == [[50.0, 70.0, 90.0]]


def test_what_a_hook_before_gives_takes_the_place_of_the_outputs_gradient():
    layer, x = linear(), gn.ones(1, 3, requires_grad=True)
    layer.register_full_backward_pre_hook(lambda _, outputs: (outputs[0] * 2,))

    layer(x).sum().backward()

    assert x.grad.tolist() == [[10.0, 14.0, 18.0]]
    assert layer.bias.grad.tolist() == [2.0, 2.0]


def test_inputs_without_gradients_are_none():
    layer, seen = nn.Embedding(4, 2), []
    layer.register_full_backward_hook(lambda _, i, o: seen.append((i, o[0].tolist())))

    layer(gn.tensor([1])).sum().backward()

    assert seen == [((None,), [[1.0, 1.0]])]


def test_a_wrong_number_of_gradients_is_refused():
    layer = linear()
    layer.register_full_backward_hook(lambda _, inputs, outputs: inputs * 2)

    with pytest.raises(GradientError, match="returned 2 gradients where there are 1"):
        layer(gn.ones(1, 3, requires_grad=True)).sum().backward()


def test_a_compiled_function_calls_them_where_it_goes_backward_itself():
    layer, seen, x = linear(), [], gn.ones(1, 3, requires_grad=True)
    layer.register_full_backward_hook(lambda _, inputs, outputs: seen.append(outputs[0].shape))

    @gn.compile
    def step():
        layer(x).sum().backward()

    for _ in range(2):
        step()

    assert [tuple(shape) for shape in seen] == [(1, 2)] * 2


def test_hooks_that_a_compiled_function_would_not_call_again_are_refused():
    layer = linear()
    layer.register_full_backward_hook(lambda _, inputs, outputs: None)

    with pytest.raises(TraceError, match="gradients reach it only after the call"):
        gn.compile(layer)(gn.ones(1, 3, requires_grad=True))
