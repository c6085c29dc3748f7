"""The switches of deterministic algorithms answer what was set."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


@pytest.fixture(autouse=True)
def as_before():
    """The mode that was set before a test."""
    before = gn.get_deterministic_debug_mode()
    yield
    gn.set_deterministic_debug_mode(before)


def answers() -> tuple[bool, bool, int]:
    """What the three functions say."""
    return (
        gn.are_deterministic_algorithms_enabled(),
        gn.is_deterministic_algorithms_warn_only_enabled(),
        gn.get_deterministic_debug_mode(),
    )


def test_what_is_set_is_answered():
    for mode, warn_only, told in (
        (True, False, (True, False, 2)),
        (True, True, (True, True, 1)),
        (False, True, (False, False, 0)),
    ):
        gn.use_deterministic_algorithms(mode, warn_only=warn_only)
        assert answers() == told


@pytest.mark.parametrize("mode", [0, 1, 2, "default", "warn", "error", True])
def test_a_mode_has_a_number_or_a_name(mode):
    gn.set_deterministic_debug_mode(mode)

    number = ("default", "warn", "error").index(mode) if isinstance(mode, str) else int(mode)
    assert answers() == (number > 0, number == 1, number)


def test_what_is_no_mode_is_refused():
    for call in (
        lambda: gn.use_deterministic_algorithms(1),
        lambda: gn.use_deterministic_algorithms(True, warn_only=0),
    ):
        with pytest.raises(TypeError, match="must be bool, not int"):
            call()
    with pytest.raises(TypeError, match="must be str or int"):
        gn.set_deterministic_debug_mode(1.0)
    for wrong in (3, "foo"):
        with pytest.raises(ArgumentError, match=f"invalid value of debug_mode, .* got {wrong}"):
            gn.set_deterministic_debug_mode(wrong)
    assert answers() == (False, False, 0)


def test_a_compiled_function_asks_again():
    f = gn.compile(lambda x: x * (2 if gn.are_deterministic_algorithms_enabled() else 3))

    for on, factor in ((False, 3), (True, 2), (False, 3)):
        gn.use_deterministic_algorithms(on)
        assert f(gn.ones(1)).item() == factor
