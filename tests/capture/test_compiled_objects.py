"""The objects that are compiled: what cannot be, and what a compiled module is for others."""

from __future__ import annotations

import copy
import functools
import pickle

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture.compiled_objects import check_result, suspends
from gnomon.errors import TraceError
from gnomon.tensor.pytree import flatten


def numbers():
    yield 1


async def later():
    return 1


def test_generators_and_coroutines_are_seen_behind_a_partial():
    assert suspends(numbers)
    assert suspends(later)
    assert suspends(functools.partial(functools.partial(numbers)))
    assert not suspends(len)


def test_a_result_that_runs_later_is_refused_by_name():
    check_result("step", flatten([1, (2,)], []))

    with pytest.raises(TraceError, match=r"compile: step gives a generator, which runs in steps"):
        check_result("step", flatten([numbers()], []))


class Halved(nn.Module):
    """A module with a compiled module and a compiled container inside."""

    def __init__(self):
        super().__init__()
        self.first = gn.compile(nn.Linear(3, 3))
        self.rest = nn.Sequential(gn.compile(nn.ReLU()), nn.Linear(3, 1))

    def forward(self, x):
        return self.rest(self.first(x)) / 2


def test_a_compiled_module_is_a_module():
    inner = nn.Linear(2, 3)
    compiled = gn.compile(inner)

    assert isinstance(compiled, nn.Module)
    assert isinstance(compiled, nn.Linear)
    assert not isinstance(gn.compile(lambda x: x), nn.Module)
    assert repr(compiled) == f"compile({inner!r})"
    compiled.weight = nn.Parameter(gn.ones(3, 2))
    assert inner.weight.tolist() == [[1, 1]] * 3
    assert (compiled(gn.ones(1, 2)) - inner.bias).tolist() == [[2, 2, 2]]


def test_a_compiled_module_inside_a_module_is_one_of_its_parts():
    model, x = Halved(), gn.ones(2, 3)
    names = ["first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]
    assert [name for name, _ in model.named_parameters()] == list(model.state_dict()) == names
    assert [name for name, _ in model.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    model.eval()
    assert not model.first.training

    rate, step = gn.optim.SGD(model.parameters(), lr=0.1), gn.compile(model)
    for _ in range(3):
        assert step(x).tolist() == model(x).tolist()
        rate.zero_grad()
        step(x).sum().backward()
        rate.step()
    assert model.first.captures == 1  # inside of the other it has none of its own


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_compiled_module_is_copied_and_pickled(copied):
    model, x = gn.compile(Halved(), breaks="error"), gn.ones(2, 3)
    before = model(x).tolist()
    other = copied(model)

    assert other.captures == 0
    assert other(x).tolist() == before
    assert not other.breaks
    with gn.no_grad():
        model.first.weight.zero_()
    assert other(x).tolist() == before
