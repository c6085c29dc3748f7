"""What compiled functions depend on inside modules says when it changes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.tensor import module_versions as changes
from gnomon.tensor.module_versions import Watched

WAYS: dict[str, Callable[[nn.Module], object]] = {
    "an attribute": lambda m: setattr(m, "scale", 3.0),
    "an attribute that goes": lambda m: delattr(m, "scale"),
    "its mode": lambda m: m.eval(),
    "an inner mode": lambda m: m.inner.eval(),
    "a module": lambda m: setattr(m, "inner", nn.Linear(2, 2)),
    "a module's table": lambda m: m._modules.update(inner=nn.Identity()),
    "a parameter": lambda m: setattr(m.inner, "weight", nn.Parameter(gn.ones(2, 2))),
    "a hook": lambda m: m.register_forward_hook(lambda *given: None),
    "what wants gradients": lambda m: m.inner.weight.requires_grad_(False),
}


class Model(nn.Module):
    """A factor behind a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.scale = nn.Linear(2, 2), 2.0

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """The layer's result, several times."""
        return self.inner(x) * getattr(self, "scale", 1.0)


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_noted(way: str):
    model = Model()
    before = changes.latest()

    WAYS[way](model)

    assert changes.latest() != before


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_model_follows_every_change(way: str):
    model, x = Model(), gn.ones(1, 2)
    compiled = gn.compile(model)
    compiled(x)
    compiled(x)

    WAYS[way](model)

    assert compiled(x).tolist() == model(x).tolist()
    assert compiled(x).requires_grad == model(x).requires_grad


def test_a_change_elsewhere_captures_nothing_again():
    model, other, x = Model(), Model(), gn.ones(1, 2)
    compiled = gn.compile(model)
    compiled(x)

    other.scale = 5.0
    compiled(x)

    assert compiled.captures == 1


def test_watched_dictionaries_are_copied_and_pickled():
    kept = Watched(a=[1])

    for made in (copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        assert type(made) is Watched
        assert made == kept


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.clear(),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.setdefault("b", 1),
        lambda d: d.__ior__({"b": 1}),
        lambda d: d.__delitem__("a"),
    ],
)
def test_every_method_that_changes_a_dictionary_is_noted(change):
    kept = Watched(a=1)
    before = changes.latest()

    change(kept)

    assert changes.latest() != before
