"""Resize and rearrange images: interpolation, pixels to channels, patches to columns.

Linear resizing is a contraction with a small matrix of weights, axis by axis, and so is its
gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import floor, prod
from typing import Any

from gnomon.dtypes import DType, accumulator, float32, float64, int64, uint8
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.lazy import sym_float
from gnomon.ops.adaptive_pooling import adaptive_avg_pool
from gnomon.ops.arguments import choice, floats_only, repeated
from gnomon.ops.indexing import rows
from gnomon.ops.logic import clip
from gnomon.ops.primitives import contract, reshape, unsqueeze
from gnomon.ops.reductions import fold
from gnomon.ops.registry import op
from gnomon.ops.repetition import repeat
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_primitives import permute
from gnomon.ops.windows import add_stretches, all_stretches, check_reach, check_steps, padded_axes

Numbers = int | Sequence[int]
EXACT = 1 << 16
"""The largest numerator and denominator of a factor whose product with a size is exact."""
MODES = ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area")
OF_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
"""Mode -> the number of spatial axes that it is for."""
CUBIC, SOFT = -0.75, -0.5
"""The cubic kernel's derivative at distance 1, without antialiasing and with it."""
SMOOTH = {"bilinear": 1.0, "bicubic": 2.0}
"""Mode that supports antialiasing -> the reach of its kernel."""


@op(functional=("interpolate", "upsample"))
def interpolate(
    x: Node,
    size: Numbers | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Node:
    """Resize x (n, c, ...) along its last axes, to sizes or by factors.

    Shapes: x (n, c, *s) -> (n, c, *size) if scale_factor is None else (n, c, *p); p = s *
    scale_factor // 1

    mode: "nearest", "nearest-exact", "linear" and its relatives, "bicubic", or "area".
    antialias: when shrinking, each pixel mixes all that it covers. Bytes are mixed in float32 along
    each axis and rounded; other integers have the nearest modes alone.

    >>> interpolate(tensor([[[1.0, 2.0]]]), scale_factor=2)
    Tensor([[[1., 1., 2., 2.]]])
    >>> interpolate(ones(1, 1, 2))
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: interpolate: needs x (n, c, ...) and either size or scale_factor:
    got x (1, 1, 2), size None, scale_factor None.
    """
    choice("interpolate", "mode", mode, MODES)
    is_bytes = x.dtype is uint8 and mode in SMOOTH
    if mode not in ("nearest", "nearest-exact") and not is_bytes:
        floats_only("interpolate", x)
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ArgumentError(
            "interpolate: align_corners is for modes that mix neighbours (linear, bilinear, "
            f"bicubic, trilinear): got mode {mode!r}."
        )
    if antialias and (mode not in SMOOTH or x.rank != 4):
        raise ArgumentError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            f"tensor as input: got mode {mode!r} and x {x.shape}."
        )
    count = x.rank - 2
    if mode in OF_AXES and OF_AXES[mode] != count:
        raise ShapeError(
            f"interpolate: mode {mode!r} is for {OF_AXES[mode]} axes behind (n, c): got {x.shape}."
        )
    if count < 1 or (size is None) == (scale_factor is None):
        raise ArgumentError(
            f"interpolate: needs x (n, c, ...) and either size or scale_factor: got x {x.shape}, "
            f"size {size!r}, scale_factor {scale_factor!r}."
        )
    sizes, factors = asked_sizes(x.shape[2:], size, scale_factor)
    factors = (None,) * count if recompute_scale_factor else factors
    if 0 in (*sizes, *x.shape[2:]):
        raise ShapeError(f"interpolate: no axis may be empty: got {x.shape[2:]} to {sizes}.")
    if mode == "area":
        return adaptive_avg_pool(x, sizes)
    return resized_axes(x, sizes, factors, (mode, bool(align_corners), antialias), is_bytes)


def resized_axes(
    x: Node,
    sizes: Sequence[int],
    factors: Sequence[float | None],
    settings: tuple[Any, ...],
    is_bytes: bool,
) -> Node:
    """Resize an image along each axis; bytes are rounded after each, from the last axis on.

    Both follow PyTorch, which rounds bytes after every axis, so that their order matters.
    """
    axes = range(len(sizes))
    for k in reversed(axes) if is_bytes else axes:
        made = resized(cast(x, float32) if is_bytes else x, 2 + k, sizes[k], factors[k], *settings)
        x = rounded_to_bytes(made) if is_bytes else made
    return x


def rounded_to_bytes(x: Node) -> Node:
    """Floats rounded to uint8; those outside of its range become 0 or 255."""
    return cast(clip(elementwise("round", x), 0.0, 255.0), uint8)


def asked_sizes(
    old: Sequence[int], size: Numbers | None, scale_factor: float | Sequence[float] | None
) -> tuple[tuple[int, ...], Sequence[float | None]]:
    """The new sizes of axes, and the factors that were given for them, or None."""
    count = len(old)
    if scale_factor is None:
        return repeated("interpolate", size, count, "size", 1), (None,) * count
    alone = isinstance(scale_factor, int | float)
    asked = (scale_factor,) * count if alone else tuple(scale_factor)
    if len(asked) != count or not all(is_one(f) and 0 < f < math.inf for f in asked):
        raise ArgumentError(
            f"interpolate: scale_factor is one positive number or {count}: got {scale_factor!r}."
        )
    sizes = tuple(scale_size(n, f) for n, f in zip(old, asked, strict=True))
    repeated("interpolate", sizes, count, "every resulting size", 1)
    return sizes, asked


def is_one(value: object) -> bool:
    """Whether a factor is a single number."""
    return isinstance(value, int | float)


def scale_size(n: int, factor: float) -> int:
    """A size times a factor, rounded down; symbolic sizes stay symbolic for simple factors.

    >>> scale_size(7, 2.0), scale_size(7, 0.5), scale_size(3, 1 / 3)
    (14, 3, 1)
    """
    above, below = factor.as_integer_ratio()
    return n * above // below if max(above, below) <= EXACT else floor(n * factor)


def resized(
    x: Node,
    axis: int,
    size: int,
    factor: float | None,
    mode: str,
    corners: bool,
    antialias: bool = False,
) -> Node:
    """Resize one axis by a mode."""
    old = x.shape[axis]
    # a factor that was given counts, even where the size was rounded
    scale = sym_float.ratio(old, size) if factor is None else 1 / factor
    if mode.startswith("nearest"):
        if size % old == 0 and factor in (None, size // old):
            return repeat(x, size // old, axis)
        return nearest(x, axis, size, scale, 0.5 if mode == "nearest-exact" else 0.0)
    if size == old and (corners or factor in (None, 1)):
        return x
    kind = accumulator(x.dtype)
    if corners:
        scale = sym_float.ratio(old - 1, size - 1) if size > 1 else 0.0
    if antialias:
        weights = cast(covered((iota(x, size, float64) + 0.5) * scale, old, scale, mode), kind)
    else:
        place = iota(x, size, float64)
        place = place * scale if corners else (place + 0.5) * scale - 0.5
        if mode != "bicubic":
            place = elementwise("maximum", place, 0.0)
        weights = taps(place, old, kind, cubic if mode == "bicubic" else linear_taps)
    names = LETTERS[: x.rank]
    spec = f"{names},z{names[axis]}->{names[:axis]}z{names[axis + 1 :]}"
    return cast(contract(spec, cast(x, kind), weights, kind), x.dtype)


def covered(center: Node, old: int, scale: float, mode: str) -> Node:
    """The antialiasing weights (new, old) of pixels by their distance from the new centers.

    A kernel's support grows with the scale, and its weights are normalized to a sum of 1.
    """
    wider = scale if scale >= 1 else 1.0
    center, reach = unsqueeze(center, 1), SMOOTH[mode] * wider
    columns = reshape(iota(center, old, float64), (1, old))
    low = elementwise("floor", center - reach + 0.5)
    high = elementwise("floor", center + reach + 0.5)
    inside = elementwise("and", elementwise("le", low, columns), elementwise("lt", columns, high))
    away = elementwise("abs", (columns - center + 0.5) * (1 / wider))
    shape = softer(away) if mode == "bicubic" else elementwise("maximum", 1.0 - away, 0.0)
    weights = where(inside, shape, 0.0)
    return weights / fold("add", weights, (1,), True)


def softer(away: Node) -> Node:
    """The cubic kernel with derivative −0.5 at distance 1, which antialiasing uses."""
    near = (away * (SOFT + 2) - (SOFT + 3)) * away * away + 1.0
    far = (((away - 5.0) * away + 8.0) * away - 4.0) * SOFT
    reached = where(elementwise("lt", away, 2.0), far, 0.0)
    return where(elementwise("lt", away, 1.0), near, reached)


def nearest(x: Node, axis: int, size: int, scale: float, offset: float) -> Node:
    """Resize an axis by nearest neighbours: each new element is the old one below it."""
    place = elementwise("floor", (iota(x, size, float64) + offset) * scale)
    index = cast(elementwise("minimum", place, x.shape[axis] - 1), int64)
    return rows(x, axis, index)


def iota(x: Node, size: int, dtype: DType) -> Node:
    """The integers 0, 1, 2, ... below `size`."""
    return x.arena.node("iota", (), size=size, dtype=dtype)


def linear_taps(share: Node) -> list[tuple[int, Node]]:
    """The steps to the neighbours below and above, with their linear weights."""
    return [(0, 1.0 - share), (1, share)]


def cubic(share: Node) -> list[tuple[int, Node]]:
    """The steps to the four nearest neighbours, with their cubic weights."""

    def near(t: Node) -> Node:
        return (t * (CUBIC + 2) - (CUBIC + 3)) * t * t + 1.0

    def far(t: Node) -> Node:
        return ((t - 5.0) * t * CUBIC + 8.0 * CUBIC) * t - 4.0 * CUBIC

    rest = 1.0 - share
    return [(-1, far(share + 1.0)), (0, near(share)), (1, near(rest)), (2, far(rest + 1.0))]


def taps(place: Node, old: int, kind: DType, shape: Callable[..., Any]) -> Node:
    """The interpolation weights (new, old) of an axis; neighbours past an end are clamped."""
    below = elementwise("floor", place)
    columns = reshape(iota(place, old, int64), (1, old))
    matrix = None
    for step, weight in shape(place - below):
        near = elementwise("minimum", elementwise("maximum", below + float(step), 0.0), old - 1)
        here = elementwise("eq", unsqueeze(cast(near, int64), 1), columns)
        part = where(here, unsqueeze(cast(weight, kind), 1), 0.0)
        matrix = part if matrix is None else matrix + part
    assert matrix is not None, "a shape has steps"
    return matrix


# pixels and channels


def whole_parts(name: str, n: int, factor: int) -> int:
    """The quotient n / factor, which must be an integer."""
    if factor < 1 or n % factor:
        raise ShapeError(f"{name}: {n} is not divisible by {factor}.")
    return n // factor


@op(functional=True, complex="parts")
def pixel_shuffle(x: Node, upscale_factor: int) -> Node:
    """Rearrange groups of channels into blocks of pixels of a finer image.

    Shapes: x (..., c, h, w) -> (..., c // upscale_factor**2, h * upscale_factor, w *
    upscale_factor)

    The sub-pixel layer of Shi et al. 2016, arXiv:1609.05158.

    >>> pixel_shuffle(arange(4).reshape(4, 1, 1), 2)
    Tensor([[[0, 1],
             [2, 3]]])
    """
    r, (c, h, w) = upscale_factor, x.shape[-3:]
    c = whole_parts("pixel_shuffle", c, r * r)
    lead, k = x.shape[:-3], x.rank - 3
    split = reshape(x, (*lead, c, r, r, h, w))
    order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return reshape(permute(split, order), (*lead, c, h * r, w * r))


@op(functional=True, complex="parts")
def pixel_unshuffle(x: Node, downscale_factor: int) -> Node:
    """Rearrange blocks of pixels into channels of a coarser image.

    Shapes: x (..., c, h, w) -> (..., c * downscale_factor**2, h // downscale_factor, w //
    downscale_factor)

    >>> pixel_unshuffle(tensor([[[0, 1], [2, 3]]]), 2).flatten()
    Tensor([0, 1, 2, 3])
    """
    r, (c, h, w) = downscale_factor, x.shape[-3:]
    h, w = (whole_parts("pixel_unshuffle", n, r) for n in (h, w))
    lead, k = x.shape[:-3], x.rank - 3
    split = reshape(x, (*lead, c, h, r, w, r))
    order = (*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return reshape(permute(split, order), (*lead, c * r * r, h, w))


@op(inline=True, functional=("channel_shuffle", "native_channel_shuffle"), complex="parts")
def channel_shuffle(x: Node, groups: int) -> Node:
    """Interleave groups of channels: the first of every group, then the second, ...

    Shapes: x (n, c, ...) -> (n, c, ...)

    The shuffle of Zhang et al. 2017, arXiv:1707.01083.

    >>> channel_shuffle(arange(4).reshape(1, 4, 1), 2).flatten()
    Tensor([0, 2, 1, 3])
    """
    each = whole_parts("channel_shuffle", x.shape[1], groups)
    split = reshape(x, (x.shape[0], groups, each, *x.shape[2:]))
    return reshape(permute(split, (0, 2, 1, *range(3, split.rank))), x.shape)


# patches


def geometry(name: str, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers):
    """The kernel sizes, dilation, padding and stride of windows along both axes."""
    words = ("kernel_size", "dilation", "padding", "stride")
    given = zip(words, (kernel_size, dilation, padding, stride), (1, 1, 0, 1), strict=True)
    return tuple(repeated(name, value, 2, word, least) for word, value, least in given)


@op(functional=("unfold",))
def im2col(
    x: Node, kernel_size: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1
) -> Node:
    """The windows of an image as columns: PyTorch's nn.functional.unfold.

    Shapes: x (n, c, *s) -> (n, c * prod(k), prod(p)); k = kernel_size; p = (s + padding * 2
    - dilation * (k - 1) - 1) // stride + 1

    >>> im2col(arange(9).reshape(1, 1, 3, 3), 2)[0, :, 0]
    Tensor([0, 1, 3, 4])
    """
    kernel, gaps, pads, steps = geometry("unfold", kernel_size, dilation, padding, stride)
    around = tuple((p, p) for p in pads)
    check_steps("unfold", steps, gaps)
    check_reach("unfold", x, around, kernel, gaps)
    windows = all_stretches(padded_axes(x, 2, around, 0.0), 2, kernel, steps, gaps)
    n, c, h, w = windows.shape[:4]
    return reshape(permute(windows, (0, 1, 4, 5, 2, 3)), (n, c * prod(kernel), h * w))


@op(functional=("fold",))
def col2im(
    x: Node,
    output_size: Numbers,
    kernel_size: Numbers,
    dilation: Numbers = 1,
    padding: Numbers = 0,
    stride: Numbers = 1,
) -> Node:
    """Add columns at their windows' places in an image: PyTorch's nn.functional.fold.

    Shapes: x (n, c * prod(k), prod(p)) -> (n, c, *s); s = output_size; k = kernel_size; p =
    (s + padding * 2 - dilation * (k - 1) - 1) // stride + 1

    >>> col2im(ones(1, 4, 4), 3, 2)[0, 0]
    Tensor([[1., 2., 1.],
            [2., 4., 2.],
            [1., 2., 1.]])
    >>> col2im(ones(1, 4, 5), 3, 2)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: fold: needs 4 columns for (2, 2): got (1, 4, 5).
    """
    size = repeated("fold", output_size, 2, "output_size", 1)
    kernel, gaps, pads, steps = geometry("fold", kernel_size, dilation, padding, stride)
    whole = [n + 2 * p for n, p in zip(size, pads, strict=True)]
    rows = zip(whole, kernel, gaps, steps, strict=True)
    places = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in rows]
    channels = whole_parts("fold", x.shape[1], prod(kernel))
    if x.shape[2] != prod(places):
        raise ShapeError(f"fold: needs {prod(places)} columns for {tuple(places)}: got {x.shape}.")
    windows = reshape(x, (x.shape[0], channels, *kernel, *places))
    image = add_stretches(permute(windows, (0, 1, 4, 5, 2, 3)), 2, whole, steps, gaps)
    return padded_axes(image, 2, tuple((-p, -p) for p in pads), 0.0)
