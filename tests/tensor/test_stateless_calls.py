"""Calls of modules with other tensors: which names fit, what comes back, what a call assigned."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import func, nn
from gnomon.errors import ArgumentError


class Counting(nn.Module):
    """A module that changes its buffer, and reads what it may not have."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", gn.zeros(1))
        self.scale, self.word = gn.ones(1), "plain"

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        self.count = self.count + 1
        return x * self.scale + self.count + (self.more if hasattr(self, "more") else 0)


def test_tied_weights_are_replaced_together_and_come_back():
    one = nn.Linear(2, 2, bias=False)
    both = nn.Sequential(one, one)
    kept = one.weight

    found = func.functional_call(both, {"0.weight": 2 * gn.eye(2)}, gn.ones(2))

    assert found.tolist() == [4.0, 4.0]
    assert one.weight is kept


def test_tied_weights_have_one_value():
    one = nn.Linear(2, 2, bias=False)
    both = nn.Sequential(one, one)
    values = {"0.weight": gn.eye(2), "1.weight": 2 * gn.eye(2)}

    with pytest.raises(ArgumentError, match=r"multiple values for keys \['0.weight', '1.weight'\]"):
        func.functional_call(both, values, gn.ones(2))
    assert (
        func.functional_call(both, {**values, "1.weight": values["0.weight"]}, gn.ones(2)).sum()
        == 2
    )
    made = func.functional_call(both, values, gn.ones(2), tie_weights=False)
    assert made.sum() == 8  # one module, which has the value that was given last


def test_what_a_call_assigns_is_in_the_dict_and_not_in_the_module():
    module, given = Counting(), gn.full((1,), 5.0)
    values = {"count": given}

    assert func.functional_call(module, values, gn.zeros(1)).item() == 6

    assert values["count"].item() == 6
    assert (module.count.item(), given.item()) == (0, 5)


def test_attributes_are_replaced_and_given_for_a_while():
    module = Counting()
    values = {"scale": gn.full((1,), 3.0), "more": gn.full((1,), 10.0)}

    assert func.functional_call(module, values, gn.ones(1)).item() == 14
    assert module.scale.item() == 1
    assert not hasattr(module, "more")
    with pytest.raises(ArgumentError, match=r"do not fit the module: \['count', 'more', 'scale'\]"):
        func.functional_call(module, values, gn.ones(1), strict=True)


def test_what_is_no_tensor_is_refused_and_the_module_stays():
    module = nn.Linear(1, 1)
    weight = module.weight
    for values in (
        {"weight": gn.ones(1, 1), "bias": 3},
        {"weight": gn.ones(1, 1), "training": gn.ones(1)},
    ):
        with pytest.raises(TypeError, match="is not an instance of"):
            func.functional_call(module, values, gn.ones(1))
    with pytest.raises(AttributeError):
        func.functional_call(
            module, {"weight": gn.ones(1, 1), "part.weight": gn.ones(1)}, gn.ones(1)
        )
    assert module.weight is weight
    with pytest.raises(ArgumentError, match=r"several dicts have values for \['weight'\]"):
        func.functional_call(module, ({"weight": weight}, {"weight": weight}), gn.ones(1))


def test_a_module_that_holds_itself_is_called_by_its_path():
    module = nn.Sequential(nn.Linear(1, 1, bias=False))
    object.__setattr__(module, "forward", lambda x: module[0](x))
    module[0].around = module

    values = {"0.around.0.weight": gn.full((1, 1), 7.0)}
    assert func.functional_call(module, values, gn.ones(1), tie_weights=False).item() == 7
