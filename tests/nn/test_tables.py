"""A row of a table is a class that takes its settings by place and by name."""

from __future__ import annotations

import doctest
import inspect

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.nn.tables import REQUIRED, SettingsModule, module_of


def scaled(input: gn.Tensor, factor: float, shift: float) -> gn.Tensor:
    """The input, scaled and moved."""
    return input * factor + shift


Scaled = module_of("Scaled", scaled, factor=REQUIRED, shift=0.0)


def test_settings_come_by_place_and_by_name():
    x = gn.ones(2)

    assert Scaled(3.0)(x).tolist() == [3.0, 3.0]
    assert Scaled(3.0, 1.0)(x).tolist() == [4.0, 4.0]
    assert Scaled(shift=2.0, factor=1.0)(x).tolist() == [3.0, 3.0]
    assert Scaled.__doc__.startswith("The input, scaled and moved.")


def test_settings_may_change_later():
    module = Scaled(3.0)

    module.factor = 5.0

    assert module(gn.ones(1)).tolist() == [5.0]


def test_wrong_settings_are_refused():
    with pytest.raises(TypeError, match="missing a required argument: 'factor'"):
        Scaled()
    with pytest.raises(TypeError, match="takes no argument 'size'"):
        Scaled(1.0, size=3)
    with pytest.raises(TypeError, match="takes 2 arguments: got 3"):
        Scaled(1.0, 2.0, 3.0)


def test_losses_have_a_base_and_take_the_older_words_for_a_reduction():
    assert isinstance(nn.MSELoss(), nn.modules.loss._Loss)
    assert not isinstance(nn.ReLU(), nn.modules.loss._Loss)
    assert nn.MSELoss(size_average=False).reduction == "sum"
    assert nn.CrossEntropyLoss(reduce=False).reduction == "none"
    assert nn.L1Loss(size_average=True, reduction="sum").reduction == "mean"


ROWS = {
    name: kind
    for name, kind in vars(nn).items()
    if inspect.isclass(kind) and issubclass(kind, SettingsModule) and ">>>" in (kind.__doc__ or "")
}


def test_most_rows_show_an_example():
    assert len(ROWS) > 75


@pytest.mark.parametrize("name", sorted(ROWS))
def test_an_example_derived_from_the_function_s_is_what_happens(name):
    names = {"gn": gn, **{each: getattr(gn, each) for each in gn.__all__}, **ROWS}
    case = doctest.DocTestParser().get_doctest(ROWS[name].__doc__, names, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)

    assert runner.run(case, out=lambda _: None).failed == 0
