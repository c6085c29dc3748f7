"""Assertions of the user inside of branches and iterations, checked when the program runs.

The condition is checked by a call out of the program, which returns True or raises an
AssertionError with the user's message and both lines. Results depend on its return value, so that
none is used before the check.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.dtypes import bool_
from gnomon.ir.node import Node
from gnomon.ops.external import EXTERNALS, ExternalOp, external

__all__ = ["asserted"]

KEY = "gnomon::assert"


def hold(message: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return True; raise an AssertionError with the message where an element is false."""
    if not arrays[0].all():
        raise AssertionError(message)
    return [np.ones((), bool)]


EXTERNALS.update({KEY: ExternalOp("assert", hold)})


def asserted(condition: Node, message: str) -> Node:
    """A node that is True; if the condition is false when it runs, it raises an AssertionError."""
    return external(condition.arena, (condition,), KEY, message, (((), bool_),), None)[0]
