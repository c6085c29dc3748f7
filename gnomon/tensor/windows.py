"""Windows of signals, and numbers at equal ratios: rows of numbers by a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError
from gnomon.tensor.creation import dtype_of_line, finished, get_default_dtype
from gnomon.tensor.device import check_device
from gnomon.tensor.placing import with_placing
from gnomon.tensor.state import whole
from gnomon.tensor.tensor import Tensor, from_array, single


def cosines(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    """A sum of cosines of multiples of an angle, with alternating signs."""

    def shape(angle: np.ndarray) -> np.ndarray:
        return sum((-1) ** k * w * np.cos(k * angle) for k, w in enumerate(weights))

    return shape


def drawn(
    name: str, count: int, gaps: int, shape: Callable[[np.ndarray], np.ndarray], **options: Any
) -> Tensor:
    """A window of `count` numbers: the shape at angles of one period over `gaps` steps."""
    check_device(options["device"])
    if count < 0:
        raise ArgumentError(f"{name}: lengths are not negative: got {count}.")
    values = shape(np.arange(count) * (2 * math.pi / max(gaps, 1)))
    values = np.ones(1) if count == 1 else values
    kind = dtype_of(options["dtype"] or get_default_dtype())
    return finished(from_array(values.astype(kind.numpy)), options["requires_grad"])


def window(name: str, shape: Callable[[np.ndarray], np.ndarray], what: str) -> Callable:
    """A function that returns a window of `count` numbers."""

    @with_placing
    def make(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: object = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Tensor:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        count = whole(window_length)
        return drawn(name, count, count if periodic else count - 1, shape, **options)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{what} A periodic one leaves out its last number."
    return make


def straight(angle: np.ndarray) -> np.ndarray:
    """The triangular window."""
    return 1 - np.abs(angle / math.pi - 1)


hann_window = window("hann_window", cosines(0.5, 0.5), "A raised cosine.")
hamming_window = window("hamming_window", cosines(0.54, 0.46), "A raised cosine above 0.")
blackman_window = window("blackman_window", cosines(0.42, 0.5, 0.08), "Blackman's three cosines.")
bartlett_window = window("bartlett_window", straight, "Up and down in straight lines.")


def half_circle(angle: np.ndarray, beta: float = 12.0) -> np.ndarray:
    """The Kaiser window: a Bessel function over a half circle."""
    return np.i0(beta * np.sqrt(np.maximum(1 - (angle / math.pi - 1) ** 2, 0))) / np.i0(beta)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window: a Bessel function over a half circle. A periodic one lacks its last number.

    >>> kaiser_window(3, False)
    Tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
    """
    make = window("kaiser_window", lambda angle: half_circle(angle, beta), "")
    return make(window_length, periodic, dtype=dtype, device=device, requires_grad=requires_grad)


@with_placing
def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: object = None,
    device: object = None,
) -> Tensor:
    """Powers of a base whose exponents have equal distances.

    >>> import gnomon as gn
    >>> gn.logspace(0, 2, 3)
    Tensor([  1.,  10., 100.])
    """
    check_device(device)
    start, end, steps = map(single, (start, end, steps))
    kind = dtype_of_line("logspace", start, end, dtype)
    return from_array(np.logspace(start, end, steps, base=base).astype(kind.numpy))
