"""Assertions of the user inside of branches and iterations, checked when the program runs.

The truth is asked for by a call out of the program, whose answer is True, or an AssertionError with
the user's words and both lines. Results are chosen by that answer, so that none is there before.
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
