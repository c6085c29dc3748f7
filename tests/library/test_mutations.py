"""Changes of arguments are found whatever their kind, and compared with what is declared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.library.mutations import KINDS, changed, declared, refuse_undeclared_changes, stood
from gnomon.settings import override

pytestmark = pytest.mark.unit

CHANGES: dict[str, Callable[[gn.Tensor], object]] = {
    "none": lambda x: x * 2,
    "data": lambda x: x.mul_(2),
    "metadata": lambda x: setattr(x, "data", x.data.T),
    "storage": lambda x: setattr(x, "data", x * 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_change_is_found(kind: str):
    x = gn.rand(2, 3)
    (before,) = stood(x)

    CHANGES[kind](x)

    assert changed(before) == kind


def test_bytes_are_compared_where_checks_are_on():
    x = gn.rand(3)
    with override(debug=1):
        (before,) = stood([x])

    x.numpy()[0] = 7

    assert changed(before) == "data"


@pytest.mark.parametrize("allowed", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_declared_covers_lesser_changes(kind: str, allowed: str):
    x = gn.rand(2, 3)
    before = stood(x)
    CHANGES[kind](x)

    if KINDS.index(kind) <= KINDS.index(allowed):
        refuse_undeclared_changes("a::b", "x", before, allowed)
    else:
        with pytest.raises(ArgumentError, match=f"changed the {kind} of argument 'x'"):
            refuse_undeclared_changes("a::b", "x", before, allowed)


def test_names_alone_mean_data():
    assert declared("a::b", ("x",), ("x", "y")) == {"x": "data"}
    assert declared("a::b", {"x": "none", "y": "storage"}, ("x", "y")) == {"y": "storage"}
