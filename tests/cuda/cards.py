"""A card for tests: the same one in all tests of a process, there while a test uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from gnomon.runtime.cuda.driver import Driver, use
from tests.cuda.fake_driver import FakeDriver

__all__ = ["card", "fake_card"]


@cache
def of_process() -> tuple[FakeDriver, Driver]:
    """The card of this process: its memory must outlive the buffers of all tests."""
    fake = FakeDriver(256 << 20)
    return fake, Driver(fake)


@contextmanager
def card(fake: FakeDriver | None = None) -> Iterator[FakeDriver]:
    """Inside, there is a card."""
    fake, made = of_process() if fake is None else (fake, Driver(fake))
    use(made)
    try:
        yield fake
    finally:
        use(None)


def fake_card() -> Iterator[FakeDriver]:
    """A fixture: a card during a test."""
    with card() as fake:
        yield fake
