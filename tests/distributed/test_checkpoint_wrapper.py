"""Wrappers that recompute activations change no value, no gradient and no name."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    OffloadWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from gnomon.distributed.wrapping import ModuleWrapPolicy

pytestmark = pytest.mark.unit


class Scaled(nn.Linear):
    """A layer with a named argument."""

    def forward(self, x: gn.Tensor, scale: float = 1.0) -> gn.Tensor:
        return super().forward(x).relu() * scale


def gradients(model: nn.Module, **named: float) -> list:
    """The result and the gradients of a model."""
    y = model(gn.arange(12.0).reshape(4, 3), **named)
    y.square().mean().backward()
    return [y.tolist(), *(p.grad.tolist() for p in model.parameters())]


@pytest.mark.parametrize("wrapper", [checkpoint_wrapper, offload_wrapper])
def test_values_and_gradients_are_the_modules_own(wrapper):
    gn.manual_seed(0)
    plain = Scaled(3, 3)
    made = wrapper(Scaled(3, 3))
    made.load_state_dict(plain.state_dict())

    assert gradients(made, scale=2.0) == gradients(plain, scale=2.0)
    assert [name for name, _ in made.named_parameters()] == ["weight", "bias"]


def test_another_function_may_recompute():
    seen = []

    def noted(function, *given, level, **named):
        seen.append(level)
        return function(*given, **named)

    model = checkpoint_wrapper(nn.Linear(3, 3), CheckpointImpl.REENTRANT, noted, level=2)
    model(gn.ones(1, 3))

    assert seen == [2]
    assert model.checkpoint_impl is CheckpointImpl.REENTRANT


def test_modules_inside_are_wrapped():
    def kinds(**given) -> list[str]:
        model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
        before = list(model.state_dict())
        apply_activation_checkpointing(model, **given)
        assert list(model.state_dict()) == before
        found = model.named_modules()
        return [name for name, m in found if isinstance(m, (CheckpointWrapper, OffloadWrapper))]

    assert len(kinds()) == 4
    assert kinds(check_fn=lambda m: isinstance(m, nn.ReLU)) == ["1.1"]
    assert kinds(auto_wrap_policy=ModuleWrapPolicy({nn.Linear})) == ["0", "1.0"]
    assert kinds(
        checkpoint_wrapper_fn=offload_wrapper, check_fn=lambda m: isinstance(m, nn.Linear)
    ) == ["0", "1.0"]
