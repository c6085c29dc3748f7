"""Calls of numpy on values, for what no program computes: shapes of their results follow from them.

They are done where they are called. In a compiled function the program up to there runs, the call
is done between two programs, and its results are inputs of what follows: another call that gives
the same shapes takes the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnomon.tensor.state import is_capturing, state
from gnomon.tensor.tensor import Tensor, array_of, from_array, raw, value_of

__all__ = ["HostCall", "done_on_host"]


ResultShapes = Sequence[tuple[Any, ...]]
"""Shapes of results; None stands for the size that follows from values, the same in all."""


class HostCall(NamedTuple):
    """A numpy function with plain options, comparable by both."""

    function: Callable[..., Sequence[np.ndarray]]
    options: tuple[Any, ...]

    def __call__(self, tensor: Tensor) -> list[Tensor]:
        """The results for a tensor with a value."""
        array, place = array_of(tensor), value_of(tensor).memory
        return [from_array(x, place) for x in self.function(array, *self.options)]


def done_on_host(
    function: Callable[..., Sequence[np.ndarray]],
    shapes: ResultShapes,
    tensor: Tensor,
    *options: Any,
) -> list[Tensor]:
    """The results, with these shapes, of a call of numpy on a tensor's values."""
    call = HostCall(function, options)
    if is_capturing() and raw(tensor).value is None:
        return state.recorder.host_call(raw(tensor), call, shapes)
    return call(tensor)
