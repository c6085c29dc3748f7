"""Strides: the positions in a storage of the elements that a view shows, as in PyTorch.

A storage holds values in the order of their axes, and views are described by strides. Strides
decide whether another shape can show the same memory: where none can, PyTorch copies, and so does
this library. The memory layout in a running program is the compiler's choice; tensors with strides
are in gnomon/tensor/strides.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from operator import abs  # a user's program may replace the builtin
from typing import Any, NamedTuple

import numpy as np

from gnomon.ir.node import Node, Shape
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.view_primitives import length_of, permute, slice_, window

__all__ = [
    "Form",
    "StridedView",
    "at_places",
    "dense",
    "form_of",
    "is_row_major",
    "merged",
    "overlaps",
    "repeats",
    "reshaped",
    "row_major",
    "strided",
    "strides_of",
]


class StridedView(NamedTuple):
    """A strided view: its shape, and the positions of its elements in a storage."""

    shape: Shape
    start: int
    """The position of the first element."""
    strides: tuple[int, ...]


Form = tuple[tuple[int, int], ...]
"""Axes from the innermost out, each with a code: 0 for stride 0, 1 if contiguous with the ones
before, 2 behind a gap; negative if it runs backwards."""


def form_of(view: StridedView | None) -> Form | None:
    """The form of a view's strides, shared by many sizes; None for row-major views.

    >>> form_of(StridedView((2, 3), 0, (1, 2))), form_of(StridedView((2, 3), 0, (3, 1)))
    (((0, 1), (1, 1)), None)
    """
    if view is None or is_row_major(view):
        return None
    reach, found = 1, list[tuple[int, int]]()
    for axis in sorted(range(len(view.shape)), key=lambda k: (abs(view.strides[k]), -k)):
        step = view.strides[axis]
        code = 0 if step == 0 else 1 if abs(step) == reach else 2
        found.append((axis, -code if step < 0 else code))
        reach = abs(step) * view.shape[axis] if step else reach
    return tuple(found)


def dense(form: Form | None) -> Form | None:
    """The form of a copy with the same order of axes, without gaps; None if that is row-major.

    >>> dense(((0, 1), (1, 2))), dense(((1, 1), (0, 2)))
    (((0, 1), (1, 1)), None)
    """
    if form is None or any(code <= 0 for _, code in form):
        return None
    plain = [axis for axis, _ in form] == [*range(len(form))][::-1]
    return None if plain else tuple((axis, 1) for axis, _ in form)


def strides_of(form: Form, shape: Shape) -> tuple[int, ...]:
    """The strides of a shape in this form.

    >>> strides_of(((0, 1), (1, 1)), (4, 5))
    (1, 4)
    """
    reach, found = 1, [0] * len(shape)
    for axis, code in form:
        found[axis] = reach * code
        reach = reach * abs(code or 1) * (shape[axis] if code else 1)
    return tuple(found)


def row_major(shape: Shape) -> tuple[int, ...]:
    """The strides of a row-major shape; an axis of size 0 counts as 1.

    >>> row_major((2, 3, 4)), row_major((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    steps = [1]
    for n in reversed(shape[1:]):
        steps.append(steps[-1] * (n if n != 0 else 1))
    return tuple(reversed(steps)) if shape else ()


def strided(
    shape: Shape, steps: Sequence[tuple[str, dict[str, Any]]], form: Form | None
) -> StridedView | None:
    """The strided view that view steps make of values in a shape; None if strides cannot show it.

    form: that of the values; None if they are row-major.
    """
    strides = row_major(shape) if form is None else strides_of(form, shape)
    before = view = StridedView(shape, 0, strides)
    for op, params in steps:
        if op not in MOVES:  # between a rank's part and the whole
            return None
        if view is not None:
            before, view = view, MOVES[op](view, **params)
        elif op == "slice":  # a diagonal has strides where the axes that it crosses have none
            view = on_diagonal(before, params["bounds"])
        if view is None and op != "reshape":
            return None
    return view


def shown_by(
    flat: np.ndarray, shape: Shape, strides: Sequence[int], writeable: bool = True
) -> np.ndarray:
    """A numpy view of a flat array with this shape and these strides in bytes."""
    bits = flat.view(f"u{flat.dtype.itemsize}") if flat.dtype.isbuiltin == 2 else flat
    made = np.lib.stride_tricks.as_strided(bits, shape, strides, writeable=writeable)
    return made.view(flat.dtype)


def on_diagonal(view: StridedView, bounds: Sequence[tuple[int, int, int]]) -> StridedView | None:
    """The strided view of a slice after a reshape that merged the last two axes."""
    if len(bounds) != len(view.shape) - 1:
        return None
    (*shape, _, columns), (*strides, down, across) = view.shape, view.strides
    (*whole, (first, _, step)), count = bounds, length_of(*bounds[-1])
    plain = [(0, n, 1) for n in shape] == whole
    if not plain or step != columns + 1 or first % columns + count > columns:
        return None
    start = view.start + first // columns * down + first % columns * across
    return StridedView((*shape, count), start, (*strides, down + across))


def permuted(view: StridedView, order: Sequence[int]) -> StridedView:
    """A strided view with its axes permuted."""
    shape, start, strides = view
    return StridedView(tuple(shape[k] for k in order), start, tuple(strides[k] for k in order))


def sliced(view: StridedView, bounds: Sequence[tuple[int, int, int]]) -> StridedView:
    """A strided view of a slice."""
    start = view.start + sum(a * n for (a, _, _), n in zip(bounds, view.strides, strict=True))
    strides = tuple(step * n for (_, _, step), n in zip(bounds, view.strides, strict=True))
    return StridedView(tuple(length_of(*each) for each in bounds), start, strides)


def expanded(view: StridedView, shape: Shape) -> StridedView:
    """A strided view expanded to a shape: repeated axes get stride 0."""
    rows = zip(view.shape, shape, view.strides, strict=True)
    return StridedView(shape, view.start, tuple(0 if n != m else step for n, m, step in rows))


def windowed(view: StridedView, axis: int, size: int, stride: int, dilation: int) -> StridedView:
    """A strided view of sliding windows along an axis; the elements of a window are a new axis."""
    (shape, start, strides), step = view, view.strides[axis]
    count = (shape[axis] - (size - 1) * dilation - 1) // stride + 1
    return StridedView(
        (*shape[:axis], count, *shape[axis + 1 :], size),
        start,
        (*strides[:axis], step * stride, *strides[axis + 1 :], step * dilation),
    )


def reshaped(view: StridedView, shape: Shape) -> StridedView | None:
    """A strided view reshaped; None where no strides show the elements in that shape.

    >>> (
    ...     reshaped(StridedView((2, 3), 0, (3, 1)), (6,)),
    ...     reshaped(StridedView((3, 2), 0, (1, 3)), (6,)),
    ... )
    (StridedView(shape=(6,), start=0, strides=(1,)), None)
    """
    if prod(shape) == 0:
        return StridedView(shape, view.start, row_major(shape))
    runs, found, rest = list(runs_of(view)), list[int](), list(shape)
    for size, step in runs or [(1, 1)]:
        taken = 1
        while rest and (taken < size or rest[-1] == 1):
            found.append(taken * step)
            taken = taken * rest.pop()
        if taken != size:
            return None
    return None if rest else StridedView(shape, view.start, tuple(reversed(found)))


def runs_of(view: StridedView) -> list[tuple[int, int]]:
    """Sizes and strides after merging axes that are contiguous to each other, the last first.

    >>> runs_of(StridedView((2, 3, 4), 0, (24, 4, 1)))
    [(12, 1), (2, 24)]
    """
    runs: list[tuple[int, int]] = []
    for n, step in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if n == 1:
            continue
        if runs and step == runs[-1][0] * runs[-1][1]:
            runs[-1] = runs[-1][0] * n, runs[-1][1]
        else:
            runs.append((n, step))
    return runs


def merged(sizes: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """Sizes and strides after merging neighbouring axes that are contiguous to each other.

    >>> merged([2, 3, 4], [24, 4, 1])
    ([2, 12], [24, 1])
    """
    kept: list[tuple[int, int]] = []
    for n, step in zip(sizes, strides, strict=True):
        if kept and kept[-1][1] == n * step:
            kept[-1] = kept[-1][0] * n, step
        else:
            kept.append((n, step))
    return [n for n, _ in kept], [step for _, step in kept]


def at_places(x: Node, view: StridedView) -> Node:
    """The elements of a vector x that a strided view shows; strides are positive."""
    shape, _, strides = view
    if 0 in shape:
        return reshape(slice_(x, ((0, 0, 1),)), shape)
    moving = [k for k, (n, step) in enumerate(zip(shape, strides, strict=True)) if n > 1 and step]
    moving.sort(key=lambda k: -strides[k])
    found = by_slices(x, select(view, moving))
    if found is None:
        moving.sort(key=lambda k: -shape[k])
        found = by_windows(x, select(view, moving))
    order = tuple(sorted(range(len(moving)), key=lambda k: moving[k]))
    found = permute(reshape(found, tuple(shape[k] for k in moving)), order)
    return expand(
        reshape(found, tuple(n if k in moving else 1 for k, n in enumerate(shape))), shape
    )


def select(view: StridedView, axes: Sequence[int]) -> StridedView:
    """A strided view with only some of its axes, in this order."""
    shape, start, strides = view
    return StridedView(tuple(shape[k] for k in axes), start, tuple(strides[k] for k in axes))


def by_slices(x: Node, view: StridedView) -> Node | None:
    """The elements of a strided view by slices, for strides that divide each other; else None."""
    (sizes, strides), rest = merged(view.shape, view.strides), view.start
    if not strides:
        return slice_(x, ((rest, rest + 1, 1),))
    grid = [x.size // strides[0], *(a // b for a, b in pairwise(strides))]
    bounds = list[tuple[int, int, int]]()
    for n, step, most in zip(sizes, strides, grid, strict=True):
        first, rest = divmod(rest, step)
        bounds.append((first, first + n, 1))
        if first + n > most:
            return None
    if any(a % b for a, b in pairwise(strides)):
        return None
    whole = slice_(x, ((0, grid[0] * strides[0], 1),))
    return slice_(reshape(whole, (*grid, strides[-1])), (*bounds, (rest, rest + 1, 1)))


def by_windows(x: Node, view: StridedView) -> Node:
    """The elements of a strided view by nested windows along all axes but the first."""
    (most, *sizes), start, (own, *strides) = view
    found = slice_(x, ((start, x.size, 1),))
    for k, (n, step) in enumerate(zip(sizes, strides, strict=True), 1):
        found = window(found, 0, n, own if k == len(sizes) else 1, step)
    by = 1 if sizes else own
    rest = tuple((0, n, 1) for n in sizes)
    return slice_(found, ((0, (most - 1) * by + 1, by), *rest))


def is_row_major(view: StridedView | None) -> bool:
    """Whether a view is row-major without gaps; False for None."""
    if view is None:
        return False
    return prod(view.shape) == 0 or runs_of(view) in ([], [(prod(view.shape), 1)])


def repeats(view: StridedView) -> bool:
    """Whether a view shows one element along a whole axis."""
    return any(n > 1 and not step for n, step in zip(view.shape, view.strides, strict=True))


def overlaps(view: StridedView) -> bool:
    """Whether a view shows an element at several positions.

    >>> overlaps(StridedView((3, 2), 0, (2, 1))), overlaps(StridedView((3, 2), 0, (1, 1)))
    (False, True)
    """
    reach = 0
    pairs = zip(map(abs, view.strides), view.shape, strict=True)
    for step, n in sorted(pair for pair in pairs if pair[1] != 1):
        if step <= reach:
            return prod(view.shape) > 0 and shown_twice(view)
        reach += (n - 1) * step
    return False


def shown_twice(view: StridedView) -> bool:
    """Whether two elements of a view have one position, by enumerating all of them."""
    places = np.zeros((), np.int64)
    for n, step in zip(view.shape, view.strides, strict=True):
        places = places[..., None] + np.arange(n) * step
    return len(np.unique(places)) < places.size


MOVES: dict[str, Callable[..., Any]] = {
    "permute": permuted,
    "slice": sliced,
    "expand": expanded,
    "window": windowed,
    "reshape": reshaped,
}
"""View operation -> its effect on a strided view."""
