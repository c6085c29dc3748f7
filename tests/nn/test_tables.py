"""A row of a table is a class that takes its settings by place and by name."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nn.tables import REQUIRED, module_of


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
    with pytest.raises(TypeError, match="needs the argument 'factor'"):
        Scaled()
    with pytest.raises(TypeError, match="takes no argument 'size'"):
        Scaled(1.0, size=3)
    with pytest.raises(TypeError, match="takes 2 arguments: got 3"):
        Scaled(1.0, 2.0, 3.0)
