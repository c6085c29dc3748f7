"""A pytree comes back from its structure and tensors."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import gnomon as gn
from gnomon.tensor.pytree import flatten, unflatten

Pair = namedtuple("Pair", "first second")


def test_a_nested_value_comes_back():
    x, y = gn.ones(2), gn.zeros(3)
    value = {"a": [x, (y, None)], "b": Pair(x, "text"), "c": OrderedDict(d=()), "e": -0.0}
    found: list = []

    tree = flatten(value, found)
    back = unflatten(tree, found)

    assert [id(t) for t in found] == [id(x), id(y)]
    assert back["a"][0] is back["b"].first is x
    assert back["a"][1] == (y, None) or back["a"][1][0] is y
    assert type(back["b"]) is Pair
    assert type(back["c"]) is OrderedDict
    assert str(back["e"]) == "-0.0"


def test_structures_are_equal_where_values_and_places_are():
    x, y = gn.ones(2), gn.ones(2)

    assert flatten([x, y], []) == flatten([y, x], [])
    assert flatten([x, x], []) != flatten([x, y], [])
    assert flatten([1], []) != flatten([True], [])
    assert flatten([0.0], []) != flatten([-0.0], [])
    assert flatten((x,), []) != flatten([x], [])
