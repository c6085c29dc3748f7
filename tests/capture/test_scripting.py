"""Marks for PyTorch's older compiler leave what they mark as it is."""

from __future__ import annotations

import importlib

import gnomon as gn


def test_what_is_marked_is_itself():
    jit = importlib.import_module("gnomon.jit")
    layer = gn.nn.Linear(2, 2)

    for mark in (
        jit.script,
        jit.script_method,
        jit.export,
        jit.unused,
        jit.freeze,
        jit.ignore,
        jit.ignore(drop=True),
    ):
        assert mark(layer) is layer
    assert jit.script_method(gn.nn.Linear.forward) is gn.nn.Linear.forward
    assert jit.trace(layer, gn.ones(1, 2)) is layer
    assert not jit.is_scripting()
    assert not jit.is_tracing()
    count: jit.Final[int] = 3
    assert count == 3
