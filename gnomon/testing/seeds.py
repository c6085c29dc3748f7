"""One seed for Python's random numbers, numpy's, and ours."""

from __future__ import annotations

import random
from types import TracebackType

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.tensor.random import default_generator

__all__ = ["seed_all", "seeded"]

_latest: list[int] = []


class seed_all:
    """Start every generator at a seed; after a `with`, they continue from their states before.

    >>> import gnomon as gn
    >>> with seed_all(3):
    ...     first = gn.rand(2).tolist(), random.random()
    >>> with seed_all(3):
    ...     assert first == (gn.rand(2).tolist(), random.random())
    """

    def __init__(self, seed: int) -> None:
        if not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise ArgumentError(f"seed_all: expected int >= 0, below 2 ** 63: got {seed!r}.")
        self.seed = seed
        self._before = random.getstate(), np.random.get_state(), default_generator.get_state()
        _latest.append(seed)
        random.seed(seed)
        # numpy takes no more than 32 bits as one number
        np.random.seed([seed % 2**32, seed >> 32] if seed >> 32 else seed)
        default_generator.manual_seed(seed)

    def __enter__(self) -> seed_all:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        python, numpys, ours = self._before
        random.setstate(python)
        np.random.set_state(numpys)
        default_generator.set_state(ours)
        if error is None:
            # who fails wants to know the seed that was in force
            _latest.remove(self.seed)


def seeded() -> int | None:
    """The seed that was asked for last; None where nobody asked, or all is restored."""
    return _latest[-1] if _latest else None
