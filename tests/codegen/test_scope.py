"""What holds for the programs that a thread builds now."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

from gnomon.codegen.scope import Scoped


def test_another_value_holds_inside_a_with_however_it_is_left():
    level, seen = Scoped(0), []

    with suppress(ZeroDivisionError), level.set(1), level.set(2):
        seen.append(level.value)
        raise ZeroDivisionError

    assert (seen, level.value) == ([2], 0)


def test_threads_do_not_see_each_others_values():
    level, seen = Scoped("first"), []
    other = Thread(target=lambda: seen.append(level.value))

    with level.set("another"):
        other.start()
        other.join()

    assert seen == ["first"]
