"""Images sampled at given positions: grid_sample, and the grids of affine maps.

A value between pixels is a weighted sum of its neighbours; each neighbour is one lookup, so that
the gradient of the image is a scatter, and that of the coordinates follows from the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import choice, floats_only
from gnomon.ops.histories import unmoved
from gnomon.ops.images import cubic
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import contract, expand, reshape, unsqueeze
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.view_parts import select

MODES = ("bilinear", "nearest", "bicubic")
BORDERS = ("zeros", "border", "reflection")


@op(functional=True)
def grid_sample(
    x: Node,
    grid: Node,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Node:
    """Sample x (n, c, h, w) or (n, c, d, h, w) at places in [−1, 1], last coordinate first.

    Shapes: x (n, c, *s), grid (n, *p, len(s)) -> (n, c, *p)

    mode: "bilinear" (also between eight neighbours), "nearest", or "bicubic" for images.
    padding_mode: outside, "zeros", the "border" value, or the "reflection" are read.

    The sampler of Jaderberg et al. 2015, arXiv:1506.02025.

    >>> grid_sample(tensor([[[[1.0, 3.0]]]]), tensor([[[[0.0, 0.0]]]]), align_corners=False)
    Tensor([[[[2.]]]])
    >>> grid_sample(ones(1, 1, 2, 2), ones(1, 2, 2, 3), align_corners=False)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: grid_sample: x (n, c, h, w) needs a grid (n, h, w, 2), and with a
    depth one of 3: got x (1, 1, 2, 2), grid (1, 2, 2, 3).
    """
    floats_only("grid_sample", x, grid)
    choice("grid_sample", "mode", mode, MODES)
    choice("grid_sample", "padding_mode", padding_mode, BORDERS)
    count = x.rank - 2
    if count not in (2, 3) or grid.rank != x.rank or grid.shape[-1] != count:
        raise ShapeError(
            f"grid_sample: x (n, c, h, w) needs a grid (n, h, w, 2), and with a depth one of 3: "
            f"got x {x.shape}, grid {grid.shape}."
        )
    if mode == "bicubic" and count != 2:
        raise ArgumentError('grid_sample: "bicubic" is for images (n, c, h, w).')
    corners, given, grid = bool(align_corners), grid, cast(grid, x.dtype)
    places: list[Node] = []
    for k, size in enumerate(x.shape[2:]):
        share = select(grid, -1, count - 1 - k)
        place = (share + 1.0) * ((size - 1) / 2) if corners else ((share + 1.0) * size - 1.0) * 0.5
        inner = place if mode == "bicubic" else clip_positions(place, size, padding_mode, corners)
        places.append(inner)
    neighbours = [around(place, mode) for place in places]
    total = None
    for corner in product(*neighbours):
        found = looked_up(x, [at for at, _ in corner], padding_mode, corners)
        for _, weight in corner:
            found = found if weight is None else found * unsqueeze(weight, 1)
        total = found if total is None else total + found
    assert total is not None, "every place has neighbours"
    return unmoved(total, given) if mode == "nearest" else total


def around(place: Node, mode: str) -> list[tuple[Node, Node | None]]:
    """The neighbours of positions along one axis, with their weights."""
    if mode == "nearest":
        return [(elementwise("round", place), None)]
    below = elementwise("floor", place)
    share = place - below.arena.node("detach", (below,))
    if mode == "bicubic":
        return [(below + float(step), weight) for step, weight in cubic(share)]
    return [(below, 1.0 - share), (below + 1.0, share)]


def clip_positions(place: Node, size: int, padding_mode: str, corners: bool) -> Node:
    """Positions moved inside by a padding mode; "zeros" moves none."""
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        place = reflected(place, 0.0 if corners else -0.5, float(size - 1 if corners else size))
    return elementwise("minimum", elementwise("maximum", place, 0.0), float(size - 1))


def reflected(place: Node, low: float, span: float) -> Node:
    """Positions reflected at both ends of [low, low + span]."""
    if span == 0:
        return place * 0.0
    away = elementwise("abs", place - low)
    laps = elementwise("floor", away / span)
    laps = laps.arena.node("detach", (laps,))
    rest = away - laps * span
    odd = elementwise("ne", elementwise("remainder", laps, 2.0), 0.0)
    return where(odd, span - rest, rest) + low


def looked_up(x: Node, places: Sequence[Node], padding_mode: str, corners: bool) -> Node:
    """The elements of x at integer positions; outside as the padding mode says."""
    flat, outside = None, None
    for size, place in zip(x.shape[2:], places, strict=True):
        place = clip_positions(place, size, padding_mode, corners)
        safe = elementwise("minimum", elementwise("maximum", place, 0.0), float(size - 1))
        if padding_mode == "zeros":
            missed = elementwise("ne", safe, place)
            outside = missed if outside is None else elementwise("or", outside, missed)
        index = cast(where(elementwise("isnan", safe), 0.0, safe), int64)
        flat = index if flat is None else flat * size + index
    assert flat is not None, "x has axes in space"
    n, c, shape = x.shape[0], x.shape[1], flat.shape[1:]
    table = reshape(x, (n, c, prod(x.shape[2:])))
    found = gather("ncz,nk->nck", table, reshape(flat, (n, prod(shape))))
    found = reshape(found, (n, c, *shape))
    return found if outside is None else where(unsqueeze(outside, 1), 0.0, found)


@op(functional=True)
def affine_grid(theta: Node, size: Sequence[int], align_corners: bool | None = None) -> Node:
    """A grid for grid_sample: affine maps applied to the coordinates of an image or volume.

    Shapes: theta (n, k, k + 1) -> (n, *p, k); p = size[2:]

    >>> affine_grid(tensor([[[1.0, 0, 0], [0, 1, 0]]]), (1, 1, 1, 2), align_corners=True)
    Tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    >>> affine_grid(ones(1, 3, 3), (1, 1, 2, 2), align_corners=True)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: affine_grid: size (1, 1, 2, 2) needs theta (1, 2, 3): got (1, 3, 3).
    """
    floats_only("affine_grid", theta)
    sizes = tuple(size)[2:]
    count = len(sizes)
    if theta.shape != (size[0], count, count + 1):
        raise ShapeError(
            f"affine_grid: size {tuple(size)} needs theta {(size[0], count, count + 1)}: "
            f"got {theta.shape}."
        )
    total = None
    names = "hwd"[:count]
    for k, n in enumerate(sizes):
        line = pixel_coordinates(theta, n, bool(align_corners))
        part = contract(f"nj,{names[k]}->n{names[k]}j", select(theta, -1, count - 1 - k), line)
        along_axis = tuple(n if axis == k else 1 for axis, _ in enumerate(sizes))
        part = reshape(part, (theta.shape[0], *along_axis, count))
        total = part if total is None else total + part
    moved = reshape(select(theta, -1, count), (theta.shape[0], *(1,) * count, count))
    moved = moved if total is None else total + moved
    return expand(moved, (theta.shape[0], *sizes, count))


def pixel_coordinates(theta: Node, size: int, corners: bool) -> Node:
    """Pixel coordinates along an axis; −1 and 1 are the outer pixels' centres, or their edges."""
    count = cast(theta.arena.node("iota", (), size=size, dtype=int64), theta.dtype)
    if corners:
        return count * (2 / (size - 1)) - 1.0 if size > 1 else count * 0.0
    return (count * 2.0 + (1.0 - size)) / float(size)
