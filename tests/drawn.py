"""Examples by chance for property tests: the same on every machine, whatever else is installed.

Not a test. `given` runs a test on examples that its own name seeds, so that neither a library's
version nor a constant elsewhere changes them; ends of ranges and special numbers come often. The
example that fails is told with its number.
"""

from __future__ import annotations

import inspect
import math
import struct
from collections.abc import Callable, Sequence
from functools import wraps
from random import Random
from typing import Any

__all__ = [
    "Strategy",
    "booleans",
    "builds",
    "composite",
    "examples",
    "floats",
    "given",
    "integers",
    "just",
    "lists",
    "one_of",
    "permutations",
    "randoms",
    "sampled_from",
    "sets",
    "text",
    "tuples",
]

EXAMPLES = 100
"""Examples of a test that does not say how many."""
TRIES = 1000
"""Draws before a filter that lets nothing pass is an error."""
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 1e9, math.inf, -math.inf, math.nan)
LETTERS = 'az0 \n\\"\0éß中\U0001f600\u0301\x7f'


class Strategy:
    """A way to draw values: a function of a random generator."""

    def __init__(self, draw: Callable[[Random], Any]) -> None:
        self.draw = draw

    def map(self, function: Callable) -> Strategy:
        """What a function makes of the values."""
        return Strategy(lambda rng: function(self.draw(rng)))

    def filter(self, wanted: Callable) -> Strategy:
        """The values for which a function holds."""

        def draw(rng: Random) -> Any:
            for _ in range(TRIES):
                found = self.draw(rng)
                if wanted(found):
                    return found
            raise AssertionError(f"drawn: nothing of {TRIES} draws passes a filter.")

        return Strategy(draw)

    def __or__(self, other: Strategy) -> Strategy:
        return one_of(self, other)


def integers(low: int, high: int) -> Strategy:
    """Whole numbers between two, both included; every fourth is near an end or zero."""

    def draw(rng: Random) -> int:
        if rng.randrange(4):
            return rng.randint(low, high)
        near = rng.choice((low, low + 1, high, high - 1, 0, 1, -1))
        return min(max(near, low), high)

    return Strategy(draw)


def floats(
    low: float | None = None,
    high: float | None = None,
    *,
    width: int = 64,
    allow_nan: bool = True,
    allow_infinity: bool = True,
) -> Strategy:
    """Floats of a width: any bits or special ones without bounds, evenly between two."""

    def fits(x: float) -> bool:
        return (allow_nan or not math.isnan(x)) and (allow_infinity or not math.isinf(x))

    def draw(rng: Random) -> float:
        if low is not None and high is not None:
            return rng.choice((low, high)) if not rng.randrange(8) else rng.uniform(low, high)
        whole, real = ("<I", "<f") if width == 32 else ("<Q", "<d")
        if rng.randrange(3):
            return struct.unpack(real, struct.pack(whole, rng.getrandbits(width)))[0]
        return struct.unpack(real, struct.pack(real, rng.choice(SPECIAL)))[0]

    return Strategy(draw).filter(fits)


def booleans() -> Strategy:
    """True or False."""
    return Strategy(lambda rng: bool(rng.getrandbits(1)))


def sampled_from(values: Sequence) -> Strategy:
    """One of some values."""
    kept = list(values)
    return Strategy(lambda rng: rng.choice(kept))


def just(value: Any) -> Strategy:
    """Always the same."""
    return Strategy(lambda rng: value)


def one_of(*several: Strategy) -> Strategy:
    """A value of one of several strategies."""
    return Strategy(lambda rng: rng.choice(several).draw(rng))


def tuples(*parts: Strategy) -> Strategy:
    """A value of each."""
    return Strategy(lambda rng: tuple(part.draw(rng) for part in parts))


def lists(parts: Strategy, min_size: int = 0, max_size: int = 8, unique: bool = False) -> Strategy:
    """Some values, with repetitions or without."""

    def draw(rng: Random) -> list:
        size = rng.randint(min_size, max_size)
        if not unique:
            return [parts.draw(rng) for _ in range(size)]
        found: list = []
        for _ in range(TRIES):
            if len(found) == size:
                break
            one = parts.draw(rng)
            found += [one] if one not in found else []
        return found

    return Strategy(draw)


def sets(parts: Strategy, min_size: int = 0, max_size: int = 8) -> Strategy:
    """A set of values, as large as there are that many."""
    return lists(parts, min_size, max_size).map(set)


def permutations(values: Sequence) -> Strategy:
    """Values in another order."""
    return Strategy(lambda rng: rng.sample(list(values), len(values)))


def text(max_size: int = 20) -> Strategy:
    """Text with letters of every length in bytes, accents and control characters among them."""

    def letter(rng: Random) -> str:
        if rng.randrange(3):
            return rng.choice(LETTERS)
        return chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000))))

    return lists(Strategy(letter), 0, max_size).map("".join)


def randoms() -> Strategy:
    """A random generator of the test's own."""
    return Strategy(lambda rng: Random(rng.getrandbits(64)))


def builds(make: Callable, *parts: Strategy, **named: Strategy) -> Strategy:
    """What a function makes of a value of each."""
    return Strategy(
        lambda rng: make(
            *[part.draw(rng) for part in parts],
            **{name: part.draw(rng) for name, part in named.items()},
        )
    )


def composite(function: Callable) -> Callable[..., Strategy]:
    """A strategy written as a function that draws: `@composite def pair(draw): ...`."""

    @wraps(function)
    def made(*given: Any, **named: Any) -> Strategy:
        return Strategy(lambda rng: function(lambda strategy: strategy.draw(rng), *given, **named))

    return made


def examples(count: int) -> Callable:
    """How many examples a test runs on; above or below `given`."""

    def note(test: Callable) -> Callable:
        test.examples = count  # type: ignore[attr-defined]
        return test

    return note


def given(*parts: Strategy, **named: Strategy) -> Callable:
    """Run a test on examples; strategies without a name are of its last parameters."""

    def decorate(test: Callable) -> Callable:
        signature = inspect.signature(test)
        names = list(signature.parameters)
        drawn = dict(zip(names[len(names) - len(parts) :], parts, strict=True)) | named

        @wraps(test)
        def run(**fixtures: Any) -> None:
            for k in range(getattr(run, "examples", EXAMPLES)):
                rng = Random(f"{test.__module__}.{test.__qualname__} {k}")
                example = {name: part.draw(rng) for name, part in drawn.items()}
                try:
                    test(**fixtures, **example)
                except BaseException as failure:
                    failure.add_note(f"example {k}: {example!r}"[:4000])
                    raise

        left = [signature.parameters[name] for name in names if name not in drawn]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
