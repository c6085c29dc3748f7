"""Switches of deterministic algorithms take, refuse and answer what PyTorch's do."""

from __future__ import annotations

import pytest

import gnomon as gn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity
CALLS = [
    *(("set_deterministic_debug_mode", (mode,), {}) for mode in (0, 1, 2, 3, True, "warn", "foo")),
    *(("set_deterministic_debug_mode", (mode,), {}) for mode in (1.0, None, "error", "default")),
    *(("use_deterministic_algorithms", (mode,), {}) for mode in (True, False, 1, None)),
    *(("use_deterministic_algorithms", (True,), {"warn_only": w}) for w in (True, False, 1)),
]


def told(xp, name, args, words):
    """The error of a call, and what is answered after it."""
    try:
        getattr(xp, name)(*args, **words)
        error = None
    except (TypeError, RuntimeError) as raised:
        error = TypeError if isinstance(raised, TypeError) else RuntimeError
    return (
        error,
        xp.are_deterministic_algorithms_enabled(),
        xp.is_deterministic_algorithms_warn_only_enabled(),
        xp.get_deterministic_debug_mode(),
    )


def test_every_call_is_pytorchs():
    for xp in (gn, torch):
        xp.set_deterministic_debug_mode(0)
    try:
        for call in CALLS:
            assert told(gn, *call) == told(torch, *call), call
    finally:
        for xp in (gn, torch):
            xp.set_deterministic_debug_mode(0)
