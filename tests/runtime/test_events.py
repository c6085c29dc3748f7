"""Announcing and listening."""

from __future__ import annotations

import pytest

from gnomon.runtime import events

pytestmark = pytest.mark.unit


def test_a_listener_hears_kinds_and_fields_in_order():
    heard = []
    stop = events.subscribe(lambda kind, fields: heard.append((kind, dict(fields))))

    events.announce("run", steps=3)
    events.announce("compile", kernels=5)
    stop()

    assert heard == [("run", {"steps": 3}), ("compile", {"kernels": 5})]


def test_a_listener_that_stopped_hears_nothing():
    heard = []
    stop = events.subscribe(lambda kind, fields: heard.append(kind))

    stop()
    stop()
    events.announce("run")

    assert heard == []


def test_it_is_known_whether_anybody_listens():
    before = events.heard()
    stop = events.subscribe(lambda kind, fields: None)

    during = events.heard()
    stop()

    assert (before, during, events.heard()) == (False, True, False)
