"""Fourier transforms, computed outside of programs by numpy's pocketfft, and their gradients.

Complex numbers are pairs of real ones in a last axis. Transformed axes come last;
gnomon/tensor/fft.py moves them there.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.creation import arange
from gnomon.ops.external import EXTERNALS, ExternalOp, external
from gnomon.ops.lapack import with_samples
from gnomon.ops.primitives import unsqueeze
from gnomon.ops.registry import internal
from gnomon.ops.scans import LETTERS

__all__ = ["OPPOSITE", "fourier", "fourier_of_real", "fourier_to_real"]

OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The norm that scales a transform as this one scales the transform in the other direction."""


def routine(compute: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Declare a transform as an external operation, with its keywords as text."""
    name = f"fft.{compute.__name__}"

    def run(said: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.ascontiguousarray(compute(*arrays, **literal_eval(said)))]

    EXTERNALS[name] = ExternalOp(name, run, with_samples)
    return compute


def as_numbers(pairs: np.ndarray) -> np.ndarray:
    """Complex numbers from pairs in the last axis."""
    kind = np.complex64 if pairs.dtype == np.float32 else np.complex128
    return np.ascontiguousarray(pairs).view(kind)[..., 0]


def as_pairs(numbers: np.ndarray) -> np.ndarray:
    """Pairs in a last axis from complex numbers."""
    kind = np.float32 if numbers.dtype == np.complex64 else np.float64
    return np.ascontiguousarray(numbers)[..., None].view(kind)


@routine
def whole(x: np.ndarray, axes: int, forward: bool, norm: Any) -> np.ndarray:
    """The transform of complex numbers along the last axes."""
    function = np.fft.fftn if forward else np.fft.ifftn
    return as_pairs(function(as_numbers(x), axes=range(-axes, 0), norm=norm))


@routine
def half(x: np.ndarray, norm: Any) -> np.ndarray:
    """The first half of the transform of real numbers."""
    return as_pairs(np.fft.rfft(x, norm=norm))


@routine
def back(x: np.ndarray, size: int, norm: Any) -> np.ndarray:
    """The real numbers whose transform has this first half."""
    return np.fft.irfft(as_numbers(x), size, norm=norm)


def call_routine(name: str, x: Node, inner: int, gives: Shape, **words: Any) -> Node:
    """Call a routine on the last `inner` axes, with all axes before them as batches."""
    batch = x.shape[: x.rank - inner]
    own = tuple(LETTERS[: len(batch)])
    letters = ((*own, *[None] * inner),), ((*own, *[None] * len(gives)),)
    kinds = (((*batch, *gives), x.dtype),)
    return external(x.arena, (x,), f"fft.{name}", repr(words), kinds, letters)[0]


def fourier_gradient(g: Node, y: Node, x: Node, axes: int, forward: bool, norm: str) -> Node:
    """The gradient of a transform: the transform in the other direction, without its scale."""
    return fourier(g, axes, not forward, OPPOSITE[norm])


@internal(gradient=fourier_gradient)
def fourier(x: Node, axes: int, forward: bool, norm: str) -> Node:
    """The transform of complex numbers along their last axes."""
    words = {"axes": axes, "forward": forward, "norm": norm}
    return call_routine("whole", x, axes + 1, x.shape[x.rank - axes - 1 :], **words)


def middle(x: Node, size: int, scale: float) -> Node:
    """Scale those numbers of half a transform whose conjugates are in the other half."""
    places = arange(x.arena, 0, x.shape[-2], 1, x.dtype)
    first, last = elementwise("eq", places, 0), elementwise("eq", places, size / 2)
    weights = cast(elementwise("or", first, last), x.dtype) * (1 - scale) + scale
    return x * unsqueeze(weights, 1)


def half_gradient(g: Node, y: Node, x: Node, norm: str) -> Node:
    """The gradient of `fourier_of_real`: elements that represent two conjugates count half."""
    size = x.shape[-1]
    return fourier_to_real(middle(g, size, 0.5), size, OPPOSITE[norm])


@internal(gradient=half_gradient)
def fourier_of_real(x: Node, norm: str) -> Node:
    """The first half of the transform of real numbers along their last axis."""
    return call_routine("half", x, 1, (x.shape[-1] // 2 + 1, 2), norm=norm)


def back_gradient(g: Node, y: Node, x: Node, size: int, norm: str) -> Node:
    """The gradient of `fourier_to_real`: elements that represent two conjugates count twice."""
    return middle(fourier_of_real(g, OPPOSITE[norm]), size, 2.0)


@internal(gradient=back_gradient)
def fourier_to_real(x: Node, size: int, norm: str) -> Node:
    """The real numbers whose transform has the first half x."""
    return call_routine("back", x, 2, (size,), size=size, norm=norm)
