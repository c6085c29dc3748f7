"""Parameters and buffers are tensors that modules find by themselves."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError


def test_a_parameter_shares_its_tensors_memory_and_wants_gradients():
    x = gn.ones(2)

    p = nn.Parameter(x)
    x.mul_(3.0)

    assert p.tolist() == [3.0, 3.0]
    assert p.requires_grad
    assert p.is_leaf
    assert not nn.Parameter(x, requires_grad=False).requires_grad


def test_a_buffer_is_registered_when_it_is_assigned():
    module = nn.Module()

    module.kept, module.passing = nn.Buffer(gn.ones(2)), nn.Buffer(gn.ones(2), persistent=False)

    assert [name for name, _ in module.named_buffers()] == ["kept", "passing"]
    assert list(module.state_dict()) == ["kept"]


def test_parameters_of_modules_are_parameters():
    assert isinstance(nn.Linear(2, 2).weight, nn.Parameter)
    assert isinstance(nn.Linear(2, 2).weight, gn.Tensor)


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p + p,
        gn.empty_like,
        gn.sin,
        lambda p: p.detach(),
        lambda p: p[0],
        lambda p: p.sum(),
    ],
)
def test_what_needs_elements_refuses_a_parameter_that_has_no_shape_yet(call):
    for made in (nn.UninitializedParameter(), nn.UninitializedBuffer()):
        with pytest.raises(ArgumentError, match="Call the model once first"):
            call(made)


def test_a_parameter_without_a_shape_takes_dtypes_and_gives_its_shape_as_a_number():
    module = nn.Module()
    module.weight = nn.UninitializedParameter()

    module.half()
    module.requires_grad_(False)
    module.weight.materialize(3)

    assert module.weight.dtype is gn.float16
    assert module.weight.shape == (3,)
    assert not module.weight.requires_grad
