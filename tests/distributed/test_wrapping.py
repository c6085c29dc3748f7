"""Policies: which modules of a model are wrapped."""

from __future__ import annotations

from functools import partial

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed import wrapping
from gnomon.distributed.wrapping import (
    CustomPolicy,
    ModuleWrapPolicy,
    WrapperModule,
    apply_policy,
    enable_wrap,
    wrap,
)
from gnomon.errors import ArgumentError, CheckpointError

pytestmark = pytest.mark.unit


class Wrapped(WrapperModule):
    """A wrapper that notes its settings."""

    inner = "inside"

    def __init__(self, module: nn.Module, level: int = 0) -> None:
        super().__init__(module)
        self.level = level

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return self.inside(x)


def model() -> nn.Module:
    """Layers of 20, 42, and 30 elements, two of them in a container."""
    inner = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 4))
    return nn.Sequential(nn.Linear(4, 4), nn.ModuleList([inner]), nn.MultiheadAttention(4, 2))


def wrapped(policy) -> list[str]:
    """The paths of wrapped modules."""
    made = model()
    apply_policy(made, policy, Wrapped)
    paths = [name for name, m in made.named_modules() if isinstance(m, Wrapped)]
    return [name.replace(".inside", "") for name in paths]


LINEAR = ["0", "1.0.0", "1.0.2", "2.out_proj"]


def test_functions_choose_modules():
    by_class = partial(wrapping.transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear})
    by_word = partial(
        wrapping.lambda_auto_wrap_policy, lambda_fn=lambda m: type(m) is nn.Sequential
    )
    sized = partial(wrapping.size_based_auto_wrap_policy, min_num_params=30)
    larger = partial(wrapping.size_based_auto_wrap_policy, min_num_params=60)

    assert wrapped(by_class) == LINEAR
    assert wrapped(by_word) == ["1.0"]
    assert wrapped(wrapping.always_wrap_policy)[:3] == ["0", "1", "1.0"]
    assert wrapped(sized) == ["1.0.0"]
    assert wrapped(larger) == ["1.0"]


def test_objects_choose_modules_and_settings():
    def chosen(m: nn.Module) -> bool | dict:
        return {"level": m.in_features} if isinstance(m, nn.Linear) else m is made[1]

    assert wrapped(ModuleWrapPolicy([nn.Linear])) == LINEAR
    made = model()
    apply_policy(made, CustomPolicy(chosen), Wrapped, [made[0]], {"level": 9})
    assert [m.level for m in made.modules() if isinstance(m, Wrapped)] == [9, 6, 6, 4]
    with pytest.raises(ArgumentError, match="it returned 'yes'"):
        wrapped(CustomPolicy(lambda m: "yes"))
    with pytest.raises(ArgumentError, match="Expected 5 to be callable"):
        wrapped(5)
    assert repr(ModuleWrapPolicy([nn.Linear])) == "ModuleWrapPolicy(['Linear'])"
    assert ModuleWrapPolicy([nn.Linear])(nn.ReLU(), recurse=True, nonwrapped_numel=0)


def test_annotated_modules_are_wrapped_inside_of_a_block():
    layer = nn.Linear(2, 2)
    assert wrap(layer) is layer
    with enable_wrap(wrapper_cls=Wrapped, level=3):
        one, two = wrap(layer), wrap(layer, level=4)
        with pytest.raises(NotImplementedError, match="one is open already"):
            enable_wrap(wrapper_cls=Wrapped).__enter__()

    assert [one.level, two.level] == [3, 4]
    assert wrap(layer) is layer


def test_a_wrapper_shows_what_is_inside():
    plain = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    outer = Wrapped(Wrapped(plain))

    assert outer.module is plain
    assert outer[0] is plain[0]
    assert outer.inside.append == plain.append
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'none'"):
        outer.none  # noqa: B018


def test_states_have_the_plain_names():
    gn.manual_seed(0)
    plain = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    made = Wrapped(nn.Sequential(Wrapped(nn.Linear(2, 3)), nn.BatchNorm1d(3)))

    assert list(made.state_dict()) == list(plain.state_dict())
    assert repr(made.load_state_dict(plain.state_dict())) == "<All keys matched successfully>"
    assert made(gn.ones(4, 2)).tolist() == plain(gn.ones(4, 2)).tolist()
    assert plain.load_state_dict(made.state_dict())
    with pytest.raises(CheckpointError, match="Missing key"):
        made.load_state_dict({})
