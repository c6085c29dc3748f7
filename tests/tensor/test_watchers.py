"""Watchers: one for each value of a tensor that somebody looks at."""

from __future__ import annotations

import gnomon as gn
from gnomon.tensor import watchers
from gnomon.tensor.tensor import raw


def test_a_tensor_alone_watches_its_node():
    x = gn.ones(2, requires_grad=True)
    y, equal = x * 2, x * 2

    y.retain_grad()

    assert [t is y for t in watchers.retained(raw(y))] == [True]
    assert not watchers.is_watched(raw(equal))


def test_what_keeps_its_gradient_is_found_at_its_latest_value():
    y = gn.ones(2, requires_grad=True) * 2
    y.retain_grad()
    before = raw(y)

    y.mul_(3)

    assert watchers.retained(before) == []
    assert [t is y for t in watchers.retained(raw(y))] == [True]
