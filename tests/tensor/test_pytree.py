"""A pytree comes back from its structure and tensors."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import gnomon as gn
from gnomon.tensor.pytree import flatten, leaves_in, tensors_in, unflatten, with_leaves

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


def test_leaves_are_found_in_order_and_change_in_their_place():
    x, y = gn.ones(2), gn.zeros(3)
    value = {"a": [x, (y, 1)], "b": Pair(x, "text"), "c": OrderedDict(d=2)}

    assert list(map(type, leaves_in(value))) == [gn.Tensor, gn.Tensor, int, gn.Tensor, str, int]
    assert list(map(id, tensors_in(value))) == [id(x), id(y), id(x)]

    made = with_leaves(value, lambda leaf: -leaf if isinstance(leaf, int) else leaf)

    assert made["a"][1][1] == -1
    assert made["b"] is value["b"]
    assert type(made["c"]) is OrderedDict
    assert made["c"] == {"d": -2}
    assert value["c"] == {"d": 2}
