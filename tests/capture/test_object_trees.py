"""Object trees: what a walk finds is what a builder makes."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture.object_trees import Builder, ObjectWalk, content, fill, is_data


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any


class Plain:
    pass


class Words(dict):
    pass


def rebuilt(value: Any) -> Any:
    """A value walked and made anew."""
    walk = ObjectWalk([], {}, lambda _: None)
    return Builder(walk.tensors, ()).value(walk.tree(value))


@pytest.mark.parametrize(
    "value",
    [
        Slotted(1),
        SimpleNamespace(a=[1, 2]),
        OrderedDict(b=1, a=2),
        defaultdict(list, k=[3]),
        Words(k=1),
        [{"k": (1, [])}],
        {1, 2},
        (1, (2, [3])),
    ],
)
def test_a_value_is_made_anew(value):
    found = rebuilt(value)

    assert found == value
    assert type(found) is type(value)
    assert isinstance(value, tuple) or found is not value


def test_one_object_under_two_names_is_one_again():
    inner = Plain()
    inner.itself, inner.t = inner, gn.ones(2)
    first, second = rebuilt([inner, {"k": inner}])

    assert first is second["k"] is first.itself
    assert first is not inner
    assert first.t is inner.t


def test_an_array_is_copied_for_each_result():
    array = np.arange(3)
    found = rebuilt([array])[0]
    found[0] = 7

    assert array.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "value", [gn.nn.Linear(1, 1), gn.ones(1), 3, "text", len, Plain, ValueError(), np.ones(1), {}]
)
def test_modules_and_pythons_own_objects_are_no_data(value):
    assert not is_data(value)
    assert is_data(Plain())


def test_filling_keeps_the_order_of_keys_and_what_is_not_named():
    words = Words(a=1, b=2)
    words.tag, words.other = "t", "o"
    before = content(words)
    fill(words, {"b": 5, "a": 1}, {"tag": "u"}, ("other",))

    assert [*words.items()] == [("b", 5), ("a", 1)]
    assert vars(words) == {"tag": "u"}
    assert before == ({"a": 1, "b": 2}, {"tag": "t", "other": "o"})
