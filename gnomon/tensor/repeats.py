"""Positions of elements that are each repeated their own number of times."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.ops.repetition import repeated_places
from gnomon.runtime.buffer import check_size
from gnomon.tensor.host_calls import done_on_host
from gnomon.tensor.tensor import Tensor, raw

__all__ = ["places"]


def places(times: Any, count: int) -> Any:
    """The positions of elements, each repeated `times` times."""
    if not isinstance(times, Tensor):
        return repeated_places(check_size, np.asarray(times), count)
    options = () if raw(times).shape == (count,) else (int(count),)
    return done_on_host(places_of_array, [(None,)], times, *options)[0]


def places_of_array(times: np.ndarray, count: int | None = None) -> list[np.ndarray]:
    """The positions of elements for an array of times; `count` None means as many as it has."""
    return [repeated_places(check_size, times, len(times) if count is None else count)]
