"""A card for tests: the same one in all tests of a process, there while a test uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

import gnomon as gn
from gnomon.codegen.emitter import LANES
from gnomon.codegen.shares import TEAM
from gnomon.runtime.cuda.driver import Driver, use
from tests.cuda.fake_driver import MAJOR, MINOR, FakeDriver

__all__ = ["HOPPER", "agrees", "bits", "card", "card_of_teams", "fake_card"]


AMPERE, HOPPER = (8, 0), (9, 0)
"""Compute capabilities: products of 16 bits have the CPU's bits, or those of tensor cores."""


@cache
def fake_of_process() -> FakeDriver:
    """The card of this process: its memory must outlive the buffers of all tests."""
    return FakeDriver(256 << 20)


@cache
def of_process(capability: tuple[int, int] = AMPERE) -> tuple[FakeDriver, Driver]:
    """The card of this process, as one of a compute capability."""
    fake = fake_of_process()
    fake.attributes |= {MAJOR: capability[0], MINOR: capability[1]}
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
        fake.shape = fake.order = None


def card_of_teams(
    teams: int, capability: tuple[int, int] = AMPERE
) -> Callable[[], Iterator[FakeDriver]]:
    """A fixture: a card during a test, whose launches have so many teams of threads."""

    def made() -> Iterator[FakeDriver]:
        fake, there = of_process(capability)
        use(there)
        try:
            fake.shape = (teams, TEAM * LANES)
            yield fake
        finally:
            fake.shape = fake.order = None
            use(None)

    return made


def bits(result: object) -> list[bytes]:
    """The bytes of all tensors of a result."""
    made = result if isinstance(result, tuple) else (result,)
    return [x.cpu().numpy().tobytes() for x in made]


def agrees(f: Callable[..., gn.Tensor], given: tuple[np.ndarray, ...]) -> bool:
    """Whether a function has the CPU's bits on the card."""
    made = bits(f(*(gn.tensor(x, device="cuda") for x in given)))
    return made == bits(f(*map(gn.tensor, given)))
