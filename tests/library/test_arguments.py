"""Arguments of custom operations come back from their text as they were."""

from __future__ import annotations

import math

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.library.arguments import described, restored
from gnomon.tensor.pytree import tensors_in

pytestmark = pytest.mark.unit

PLAIN = (1, -0.0, math.inf, 1e-320, True, None, "a'b", b"c", [], (), [1, (2.5, "x")], ("tensor", 0))


def test_plain_arguments_come_back_with_their_types():
    found = restored(described("a::b", PLAIN), [])

    assert repr(found) == repr(PLAIN)


def test_nan_comes_back():
    (found,) = restored(described("a::b", (math.nan,)), [])

    assert math.isnan(found)


def test_tensors_come_back_where_they_stood():
    x, y = gn.ones(2), gn.zeros(3)
    given = (x, [y, 2], (x,))

    text = described("a::b", given)
    found = restored(text, tensors_in(given))

    assert text == "('tuple', ('tensor', 0), ('list', ('tensor', 1), 2), ('tuple', ('tensor', 2)))"
    assert found[0] is x
    assert found[1][0] is y
    assert found[2] == (x,)


def test_other_arguments_are_refused():
    with pytest.raises(ArgumentError, match="a::b: an argument is a dict"):
        described("a::b", ({},))
