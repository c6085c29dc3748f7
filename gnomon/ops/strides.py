"""Strides: the places in its storage of the elements that a view shows, as PyTorch has them.

A storage holds values in the order of their axes, and views move along it. Strides say whether
another shape can show the same memory: where none can, PyTorch copies, and so do we. How values lie
while a program runs is the compiler's, and tensors are not here: see gnomon/tensor/strides.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gnomon.ir.node import Shape
from gnomon.ops.view_primitives import length_of

__all__ = [
    "Form",
    "Laid",
    "form_of",
    "is_row_major",
    "overlaps",
    "repeats",
    "reshaped",
    "row_major",
    "strided",
]


class Laid(NamedTuple):
    """The places of elements in a storage."""

    shape: Shape
    start: int
    """The place of the first one."""
    strides: tuple[int, ...]


Form = tuple[tuple[int, int], ...]
"""Axes from the innermost out, each with a code: 0 where it repeats, 1 where it follows the ones
before without a gap, 2 behind a gap; negative where it runs backwards."""


def form_of(laid: Laid | None) -> Form | None:
    """The form of strides, which is one for many sizes; None for values in the order of their axes.

    >>> form_of(Laid((2, 3), 0, (1, 2))), form_of(Laid((2, 3), 0, (3, 1)))
    (((0, 1), (1, 1)), None)
    """
    if laid is None or is_row_major(laid):
        return None
    reach, found = 1, list[tuple[int, int]]()
    for axis in sorted(range(len(laid.shape)), key=lambda k: (abs(laid.strides[k]), -k)):
        step = laid.strides[axis]
        code = 0 if step == 0 else 1 if abs(step) == reach else 2
        found.append((axis, -code if step < 0 else code))
        reach = abs(step) * laid.shape[axis] if step else reach
    return tuple(found)


def strides_of(form: Form, shape: Shape) -> tuple[int, ...]:
    """Strides of this form.

    >>> strides_of(((0, 1), (1, 1)), (4, 5))
    (1, 4)
    """
    reach, found = 1, [0] * len(shape)
    for axis, code in form:
        found[axis] = reach * code
        reach = reach * abs(code or 1) * (shape[axis] if code else 1)
    return tuple(found)


def row_major(shape: Shape) -> tuple[int, ...]:
    """The strides of values in the order of their axes; an axis without elements counts as one.

    >>> row_major((2, 3, 4)), row_major((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    steps = [1]
    for n in reversed(shape[1:]):
        steps.append(steps[-1] * (n if n != 0 else 1))
    return tuple(reversed(steps)) if shape else ()


def strided(
    shape: Shape, steps: Sequence[tuple[str, dict[str, Any]]], form: Form | None
) -> Laid | None:
    """The places of what steps of views show of values in a shape; None where no strides tell.

    form: that of the values; None where they lie in the order of their axes.
    """
    strides = row_major(shape) if form is None else strides_of(form, shape)
    laid: Laid | None = Laid(shape, 0, strides)
    for op, params in steps:
        laid = None if laid is None else MOVES[op](laid, **params)
    return laid


def permuted(laid: Laid, order: Sequence[int]) -> Laid:
    """The places behind a permutation."""
    shape, start, strides = laid
    return Laid(tuple(shape[k] for k in order), start, tuple(strides[k] for k in order))


def sliced(laid: Laid, bounds: Sequence[tuple[int, int, int]]) -> Laid:
    """The places behind a slice."""
    start = laid.start + sum(a * n for (a, _, _), n in zip(bounds, laid.strides, strict=True))
    strides = tuple(step * n for (_, _, step), n in zip(bounds, laid.strides, strict=True))
    return Laid(tuple(length_of(*each) for each in bounds), start, strides)


def expanded(laid: Laid, shape: Shape) -> Laid:
    """The places of axes that are repeated."""
    rows = zip(laid.shape, shape, laid.strides, strict=True)
    return Laid(shape, laid.start, tuple(0 if n != m else step for n, m, step in rows))


def windowed(laid: Laid, axis: int, size: int, stride: int, dilation: int) -> Laid:
    """The places of stretches of an axis."""
    (shape, start, strides), step = laid, laid.strides[axis]
    count = (shape[axis] - (size - 1) * dilation - 1) // stride + 1
    return Laid(
        (*shape[:axis], count, *shape[axis + 1 :], size),
        start,
        (*strides[:axis], step * stride, *strides[axis + 1 :], step * dilation),
    )


def reshaped(laid: Laid, shape: Shape) -> Laid | None:
    """The places of the same elements over other axes; None where no strides show them.

    >>> reshaped(Laid((2, 3), 0, (3, 1)), (6,)), reshaped(Laid((3, 2), 0, (1, 3)), (6,))
    (Laid(shape=(6,), start=0, strides=(1,)), None)
    """
    if prod(shape) == 0:
        return Laid(shape, laid.start, row_major(shape))
    runs, found, rest = list(runs_of(laid)), list[int](), list(shape)
    for size, step in runs or [(1, 1)]:
        taken = 1
        while rest and (taken < size or rest[-1] == 1):
            found.append(taken * step)
            taken = taken * rest.pop()
        if taken != size:
            return None
    return None if rest else Laid(shape, laid.start, tuple(reversed(found)))


def runs_of(laid: Laid) -> list[tuple[int, int]]:
    """Sizes and strides of axes that lie like one, the last first.

    >>> runs_of(Laid((2, 3, 4), 0, (24, 4, 1)))
    [(12, 1), (2, 24)]
    """
    runs: list[tuple[int, int]] = []
    for n, step in zip(reversed(laid.shape), reversed(laid.strides), strict=True):
        if n == 1:
            continue
        if runs and step == runs[-1][0] * runs[-1][1]:
            runs[-1] = runs[-1][0] * n, runs[-1][1]
        else:
            runs.append((n, step))
    return runs


def is_row_major(laid: Laid | None) -> bool:
    """Whether elements lie in the order of their axes, without gaps."""
    if laid is None:
        return False
    return prod(laid.shape) == 0 or runs_of(laid) in ([], [(prod(laid.shape), 1)])


def repeats(laid: Laid) -> bool:
    """Whether one element is shown along a whole axis."""
    return any(n > 1 and not step for n, step in zip(laid.shape, laid.strides, strict=True))


def overlaps(laid: Laid) -> bool:
    """Whether an element is shown in several places.

    >>> overlaps(Laid((3, 2), 0, (2, 1))), overlaps(Laid((3, 2), 0, (1, 1)))
    (False, True)
    """
    reach = 0
    pairs = zip(map(abs, laid.strides), laid.shape, strict=True)
    for step, n in sorted(pair for pair in pairs if pair[1] != 1):
        if step <= reach:
            return prod(laid.shape) > 0 and shown_twice(laid)
        reach += (n - 1) * step
    return False


def shown_twice(laid: Laid) -> bool:
    """The same, by a look at all places."""
    places = np.zeros((), np.int64)
    for n, step in zip(laid.shape, laid.strides, strict=True):
        places = places[..., None] + np.arange(n) * step
    return len(np.unique(places)) < places.size


MOVES: dict[str, Callable[..., Any]] = {
    "permute": permuted,
    "slice": sliced,
    "expand": expanded,
    "window": windowed,
    "reshape": reshaped,
}
"""Steps of views -> what they do to places."""
