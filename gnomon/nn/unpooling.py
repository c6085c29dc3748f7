"""Fractional max pooling with random windows, and max unpooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ops.arguments import repeated
from gnomon.ops.pooling import unpooled
from gnomon.tensor.creation import arange
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.random import rand
from gnomon.tensor.tensor import Tensor

PerAxis = int | Sequence[int]


def unpool_over(count: int) -> Any:
    """The function max_unpool1d, max_unpool2d or max_unpool3d."""
    name = f"max_unpool{count}d"

    def function(
        input: Tensor,
        indices: Tensor,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        if tuple(indices.shape) != tuple(input.shape):
            raise ShapeError(
                f"{name}: indices must have the shape of input {tuple(input.shape)}: got "
                f"{tuple(indices.shape)}."
            )
        kernel = repeated(name, kernel_size, count, "kernel_size", 1)
        steps = repeated(name, stride, count, "stride", 1) if stride else kernel
        pads = repeated(name, padding, count, "padding", 0)
        lead = input.shape[: input.ndim - count]
        rows = zip(input.shape[len(lead) :], steps, pads, kernel, strict=True)
        usual = tuple((n - 1) * s - 2 * p + k for n, s, p, k in rows)
        size = usual if output_size is None else tuple(output_size)[-count:]
        if any(abs(n - m) >= s for n, m, s in zip(size, usual, steps, strict=True)):
            raise ArgumentError(
                f"{name}: output_size is less than a stride away from {usual}: got {output_size}."
            )
        first = len(lead)
        rows = [x.reshape(-1, prod(x.shape[first:])) for x in (input, indices)]
        made = apply(unpooled, rows, {"size": prod(size)})
        return made.reshape(*lead, *size)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Every element at its index in zeros, over the last {count} axes.

    Shapes: input (b, c, *s), indices (b, c, *s) -> (b, c, *p); k = kernel_size; step = stride or k;
    p = (s - 1) * step - padding * 2 + k

    >>> x, places = ones(1, 1{", 2" * count}), zeros(1, 1{", 2" * count}, dtype=int64)
    >>> {name}(x, places, 2).sum().item()
    1.0
    """
    return function


max_unpool1d, max_unpool2d, max_unpool3d = map(unpool_over, (1, 2, 3))


def fractional_over(count: int) -> Any:
    """The function fractional_max_pool2d or fractional_max_pool3d."""
    name = f"fractional_max_pool{count}d"

    def function(
        input: Tensor,
        kernel_size: PerAxis,
        output_size: PerAxis | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        x = input[None] if input.ndim == count + 1 else input
        if x.ndim != count + 2:
            raise ShapeError(f"{name}: x must be (n, c, ...) or (c, ...): got {input.shape}.")
        if (output_size is None) == (output_ratio is None):
            raise ArgumentError(f"{name}: give one of output_size and output_ratio.")
        size, kernel = x.shape[2:], repeated(name, kernel_size, count, "kernel_size", 1)
        ratios = (output_ratio,) * count if isinstance(output_ratio, float) else output_ratio
        asked = [int(n * r) for n, r in zip(size, ratios or (), strict=bool(ratios))]
        places = repeated(name, asked if output_size is None else output_size, count, "size", 1)
        if any(n < window + made - 1 for n, window, made in zip(size, kernel, places, strict=True)):
            why = f"windows of {kernel} give no {places} places of {tuple(size)}"
            raise ShapeError(f"{name}: {why}. Ask for fewer, or take smaller windows.")
        share = _random_samples
        share = rand(*x.shape[:2], count, dtype=x.dtype) if share is None else share
        flat = window_places(share, size, places, kernel)
        taken = x.flatten(2).gather(2, flat.flatten(2)).reshape(flat.shape)
        values, place = taken.max(dim=-1)
        indices = flat.gather(-1, place.unsqueeze(-1)).squeeze(-1)
        made = (values, indices) if x is input else (values[0], indices[0])
        return made if return_indices else made[0]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The largest of windows over the last {count} axes that begin by chance.

    Shapes: input (b, c, *s) -> (b, c, *output_size)

    >>> {name}(ones(1, 2{", 7" * count}), 2, output_size=3).shape
    Size([1, 2{", 3" * count}])
    """
    return function


fractional_max_pool2d, fractional_max_pool3d = map(fractional_over, (2, 3))


def window_places(
    share: Tensor, size: Sequence[int], places: Sequence[int], kernel: Sequence[int]
) -> Tensor:
    """The flat positions of random windows' elements, (n, c, *places, elements)."""
    count, flat = len(size), None
    for k, (n, out, width) in enumerate(zip(size, places, kernel, strict=True)):
        # of two axes PyTorch's first number is the last one's, of three the first one's
        drawn = share[..., count - 1 - k if count == 2 else k, None]
        step = (n - width) / (out - 1) if out > 1 else 0.0
        here = ((arange(out) + drawn) * step).to(int64) - (drawn * step).to(int64)
        last = arange(out) == out - 1
        start = FUNCTIONS["where"](last, n - width, here)
        inside = start.unsqueeze(-1) + arange(width)
        shape = [1] * (2 * count)
        shape[k], shape[count + k] = out, width
        inside = inside.reshape(*share.shape[:2], *shape)
        flat = inside if flat is None else flat * n + inside
    return flat.flatten(2 + count)
