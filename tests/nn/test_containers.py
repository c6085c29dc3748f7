"""Containers behave as lists and dicts of modules, and name their members."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import gnomon as gn
from gnomon import nn


def test_a_sequence_runs_its_modules_in_order_and_can_be_cut():
    parts = nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))

    assert parts(gn.ones(5, 2, 3)).shape == (5, 2)
    assert isinstance(parts[:2], nn.Sequential)
    assert parts[-1] is parts[3]
    assert next(name for name, _ in parts[1:].named_parameters()) == "0.weight"
    assert len(parts.append(nn.ReLU())) == 5


def test_a_sequence_of_names_keeps_them():
    named = nn.Sequential(OrderedDict(first=nn.Linear(2, 2), second=nn.ReLU()))

    assert list(named.state_dict()) == ["first.weight", "first.bias"]
    assert isinstance(named.second, nn.ReLU)


def test_a_list_grows_and_is_walked():
    modules = nn.ModuleList(nn.Linear(n, 1) for n in (1, 2))
    modules.append(nn.Linear(3, 1))
    modules.insert(0, nn.Linear(7, 1))
    modules += [nn.Linear(9, 1)]
    modules[1] = nn.Linear(5, 1)

    assert [m.in_features for m in modules] == [7, 5, 2, 3, 9]
    assert [m.in_features for m in modules[1:3]] == [5, 2]
    assert list(modules.state_dict())[::2] == [f"{k}.weight" for k in range(5)]
    assert modules[-1].in_features == 9


def test_a_dict_takes_what_another_has():
    layers, more = nn.ModuleDict({"a": nn.ReLU()}), nn.ModuleDict({"b": nn.Tanh()})
    layers.update(more)
    layers.update([("a", nn.GELU())])
    numbers = nn.ParameterDict({"x": gn.ones(1)})
    numbers.update(nn.ParameterDict({"y": gn.ones(2)}))

    assert list(layers) == ["a", "b"]
    assert layers["b"] is more["b"]
    assert isinstance(layers["a"], nn.GELU)
    assert list(nn.ModuleDict(layers)) == ["a", "b"]
    assert list(numbers) == ["x", "y"]


def test_a_dict_keeps_its_order():
    modules = nn.ModuleDict({"b": nn.ReLU()})
    modules["a"] = nn.Linear(2, 2)

    assert list(modules) == ["b", "a"]
    assert "a" in modules
    assert list(modules.state_dict()) == ["a.weight", "a.bias"]
    assert isinstance(modules.pop("b"), nn.ReLU)
    assert len(modules) == 1


def test_parameters_by_number_and_name_are_found():
    several = nn.ParameterList([gn.ones(1), nn.Parameter(gn.ones(2))])
    named = nn.ParameterDict({"x": gn.ones(3)})

    assert list(several.state_dict()) == ["0", "1"]
    assert list(named.state_dict()) == ["x"]
    assert all(isinstance(p, nn.Parameter) for p in (*several, named["x"]))
    assert several[-1].shape == (2,)


def test_what_is_no_module_is_refused():
    with pytest.raises(TypeError, match="not a Module subclass"):
        nn.Sequential(3)


class Counted(nn.ModuleDict):
    """Modules by name whose update means something else, and needs what comes after them."""

    def __init__(self, modules=None):
        super().__init__(modules)
        self.updates = 0

    def update(self, *rows):
        self.updates += 1


def test_a_container_that_is_given_nothing_does_not_update():
    counted = Counted()

    counted.update(1)

    assert counted.updates == 1
    assert len(nn.ParameterDict()) == 0


def test_sequences_are_joined_and_repeated():
    a, b, c = nn.Linear(2, 2), nn.ReLU(), nn.Tanh()
    both = nn.Sequential(a, b) + nn.Sequential(c)

    assert [*both] == [a, b, c]
    assert [*nn.Sequential(a, b) * 2] == [*2 * nn.Sequential(a, b)] == [a, b, a, b]
    both += nn.Sequential(a)
    both *= 2
    assert [*both] == [a, b, c, a] * 2
    listed = nn.ModuleList([a])
    listed += [b]
    assert [*listed] == [a, b]
    assert list(both.state_dict()) == [f"{k}.{x}" for k in (0, 3, 4, 7) for x in ("weight", "bias")]
    with pytest.raises(ValueError, match="takes 1 or more: got 0"):
        both * 0
    with pytest.raises(TypeError, match="takes a whole number: got float"):
        both * 1.5
    with pytest.raises(ValueError, match="takes another Sequential: got ModuleList"):
        both + listed


def test_parameters_of_a_plain_dict_come_by_name_and_others_as_they_are():
    def keys(given):
        return [name for name, _ in nn.ParameterDict(given).named_parameters()]

    given = {name: gn.ones(1) for name in ("b", "c", "a")}
    assert keys(given) == ["a", "b", "c"]
    assert keys(OrderedDict(given)) == keys([*given.items()]) == ["b", "c", "a"]
    assert keys(nn.ParameterDict(OrderedDict(given))) == ["b", "c", "a"]


def test_a_dict_of_parameters_is_a_dict():
    numbers = nn.ParameterDict(OrderedDict(x=gn.ones(1), y=gn.ones(2)))
    x = numbers["x"]

    assert list(numbers | {"w": gn.ones(3)}) == ["x", "y", "w"]
    assert list({"w": gn.ones(3)} | numbers) == ["w", "x", "y"]
    assert list(reversed(numbers)) == ["y", "x"]
    assert numbers.get("z", 3) == 3
    assert numbers.setdefault("z") is numbers["z"] is None
    assert numbers.setdefault("x", gn.ones(5)) is x
    assert numbers.popitem() == ("z", None)
    assert numbers.copy()["x"] is x
    assert list(numbers.fromkeys(["b", "a"])) == ["b", "a"]
    numbers |= {"v": gn.ones(4)}
    assert list(numbers.state_dict()) == ["x", "y", "v"]
    several = nn.ParameterList([gn.ones(1)])
    several += [gn.ones(2)]
    assert len(several) == 2


def test_a_place_that_is_not_there_gets_no_module():
    layers = nn.Sequential(nn.Identity(), nn.Identity())

    with pytest.raises(IndexError, match="no place -3"):
        layers.insert(-3, nn.Linear(1, 1))
    assert isinstance(layers.insert(-2, nn.Linear(1, 1))[0], nn.Linear)
