"""Arguments whose place in their storage a compiled function asks for."""

from __future__ import annotations

import gnomon as gn


def test_a_view_is_captured_by_value_until_its_place_is_asked_for():
    by_value = gn.compile(lambda x: x * 2)
    asks = gn.compile(lambda x: x * x.storage_offset())
    base = gn.arange(12.0)

    for k in range(3):
        assert by_value(base[k : k + 2]).tolist() == [2 * k, 2 * k + 2]
        assert asks(base[k : k + 2]).tolist() == [k * k, k * (k + 1)]

    assert (by_value.captures, asks.captures) == (1, 3)


def test_what_the_function_did_before_it_asked_is_done_once():
    def ask(x, y):
        y.add_(1)
        return x.storage_offset()

    base, y = gn.arange(4.0), gn.zeros(2)
    asked = gn.compile(ask)

    assert [asked(base[k:], y) for k in (1, 2, 1)] == [1, 2, 1]
    assert y.tolist() == [3, 3]
