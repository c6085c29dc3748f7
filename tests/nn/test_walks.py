"""What a module finds inside itself."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn

pytestmark = pytest.mark.unit


class Tied(nn.Module):
    """Two layers of one weight, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight
        self.again = self.first
        self.inner = nn.Sequential(nn.ReLU())
        self.register_buffer("seen", gn.zeros(1))


def test_what_is_shared_comes_once_unless_asked_for():
    model = Tied()

    assert [name for name, _ in model.named_parameters()] == ["first.weight"]
    every = model.named_parameters(remove_duplicate=False)
    assert [name for name, _ in every] == ["first.weight", "second.weight", "again.weight"]
    assert len(list(model.parameters(recurse=False))) == 0


def test_modules_come_with_their_paths_in_order():
    model = Tied()

    assert [name for name, _ in model.named_modules()] == [
        "",
        "first",
        "second",
        "inner",
        "inner.0",
    ]
    assert [name for name, _ in model.named_children()] == ["first", "second", "inner"]
    assert [name for name, _ in model.named_buffers("m")] == ["m.seen"]


def test_a_path_finds_what_it_names():
    model = Tied()

    assert model.get_submodule("inner.0") is model.inner[0]
    assert model.get_submodule("") is model
    assert model.get_parameter("second.weight") is model.first.weight
    assert model.get_buffer("seen") is model.seen
    with pytest.raises(AttributeError, match="is not an nn"):
        model.get_submodule("first.weight")


def test_a_module_is_put_at_a_path():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 3)))
    put = nn.ReLU()

    model.set_submodule("0.0", put)
    model.set_submodule("1", nn.Tanh())

    assert model[0][0] is put
    assert list(model._modules) == ["0", "1"]


def test_what_is_no_module_or_has_no_place_is_refused():
    model = nn.Sequential(nn.Linear(2, 3))

    with pytest.raises(ValueError, match="without a target name"):
        model.set_submodule("", nn.ReLU())
    with pytest.raises(ValueError, match=r"is not an nn\.Module"):
        model.set_submodule("0", 3)
    with pytest.raises(AttributeError, match="no attribute `1`"):
        model.set_submodule("1", nn.ReLU(), strict=True)
    with pytest.raises(AttributeError, match="`weight` is not"):
        model.set_submodule("0.weight", nn.ReLU())
