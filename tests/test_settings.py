"""Settings come from the environment, are checked, and change inside a `with` only."""

from __future__ import annotations

import os
import threading

import pytest

from gnomon.errors import ConfigError
from gnomon.settings import Settings, current, from_environment, override

pytestmark = pytest.mark.unit


def test_each_kind_of_setting_is_read_from_the_environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith("GNOMON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GNOMON_DEBUG", "3")
    monkeypatch.setenv("GNOMON_CACHE", "off")
    monkeypatch.setenv("GNOMON_WITHOUT", "join, fuse")
    monkeypatch.setenv("GNOMON_DEBUG_ONLY", "rms_norm")

    assert from_environment() == Settings(
        debug=3, cache=False, without="fuse,join", debug_only="rms_norm"
    )


@pytest.mark.parametrize(("name", "text"), [("GNOMON_DEBUG", "loud"), ("GNOMON_CACHE", "maybe")])
def test_a_value_that_does_not_fit_names_its_variable(monkeypatch, name, text):
    monkeypatch.setenv(name, text)

    with pytest.raises(ConfigError, match=f"{name}: expected .*: got '{text}'"):
        from_environment()


def test_what_is_left_out_must_be_an_optimisation(monkeypatch):
    monkeypatch.setenv("GNOMON_WITHOUT", "claim,fusion")

    with pytest.raises(ConfigError, match=r"without: no optimisation 'fusion'\. There are claim, "):
        from_environment()


def test_an_override_ends_with_its_block_even_after_an_error():
    before = current()

    try:
        with override(debug=before.debug + 1) as inside:
            raise RuntimeError
    except RuntimeError:
        assert inside.debug == before.debug + 1

    assert current() == before


def test_an_override_may_be_entered_again_inside_of_itself():
    before, twice = current(), override(debug=current().debug + 1)
    with twice, twice as inside:
        assert current() == inside
    assert current() == before


def test_an_override_decorates_a_function():
    before = current()

    @override(debug=before.debug + 1)
    def levels(deeper):
        """Own words."""
        return [current().debug, *(levels(False) if deeper else ())]

    assert levels(True) == [before.debug + 1] * 2
    assert (levels.__name__, levels.__doc__) == ("levels", "Own words.")
    assert current() == before


def test_an_override_is_not_seen_by_other_threads():
    seen = []
    with override(debug=4):
        other = threading.Thread(target=lambda: seen.append(current().debug))
        other.start()
        other.join()

    assert seen == [from_environment().debug]


def test_settings_can_not_be_changed_in_place():
    with pytest.raises(AttributeError):
        current().debug = 1  # type: ignore[misc]
