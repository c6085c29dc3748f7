"""torch.ops.torchvision: torchvision's compiled operators, by Gnomon's own.

Boxes are (x1, y1, x2, y2); a region is the number of its image and a box.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor.tensor import Tensor

__all__ = ["VisionOperators"]


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The numbers of boxes that overlap no box of a higher score by more than a threshold.

    dets are read at once: how many are left is known only by their values.
    """
    boxes, order = (
        dets.detach().cpu().numpy(),
        np.argsort(-scores.detach().cpu().numpy(), kind="stable"),
    )
    x1, y1, x2, y2 = boxes.T
    areas, left = (x2 - x1) * (y2 - y1), []
    while order.size:
        first, rest = order[0], order[1:]
        left.append(int(first))
        high = np.minimum(x2[first], x2[rest]) - np.maximum(x1[first], x1[rest])
        wide = np.minimum(y2[first], y2[rest]) - np.maximum(y1[first], y1[rest])
        shared = np.maximum(high, 0) * np.maximum(wide, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            overlap = shared / (areas[first] + areas[rest] - shared)
        order = rest[~(overlap.astype(np.float64) > iou_threshold)]
    return gn.tensor(np.array(left, np.int64), device=dets.device)


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """The mean of bilinear samples in each bin of regions (He et al. 2017).

    A sampling_ratio of 0 or less takes a sample for each place that a bin covers.

    Shapes: input (n, c, h, w), rois (k, 5) -> (k, c, pooled_height, pooled_width)
    """
    own, sides = input[rois[:, 0].long()], []
    shift = 0.5 if aligned else 0.0
    for axis, count, size in ((1, pooled_width, own.shape[3]), (0, pooled_height, own.shape[2])):
        start = rois[:, 2 - axis] * spatial_scale - shift
        length = rois[:, 4 - axis] * spatial_scale - shift - start
        length = length if aligned else length.clamp(min=1.0)
        sides.append(samples(start, length, count, size, sampling_ratio))
    wide, high = sides
    rows = gn.einsum("kchw,kpw->kchp", own, wide)
    return gn.einsum("kchp,kqh->kcqp", rows, high)


def samples(start: Tensor, length: Tensor, count: int, size: int, ratio: int) -> Tensor:
    """The weight of each place in the mean of a bin's samples: (regions, count, size).

    A sample is between two places; beyond the first and the last one it has these alone, and more
    than one place outside it has none.
    """
    line = {"dtype": start.dtype, "device": start.device}
    each = length / count
    number = each.ceil() if ratio <= 0 else gn.full_like(each, float(ratio))
    most = max(int(number.max().item()), 1) if number.numel() else 1
    step = each / number.clamp(min=1.0)
    taken = gn.arange(most, **line)
    first = start[:, None] + gn.arange(count, **line) * each[:, None]
    at = first[:, :, None] + (taken + 0.5) * step[:, None, None]
    exists = (taken < number[:, None, None]) & (at >= -1.0) & (at <= size)
    near = at.clamp(0.0, size - 1.0)[..., None]
    weight = (1.0 - (near - gn.arange(size, **line)).abs()).clamp(min=0.0)
    whole = gn.where(exists[..., None], weight, 0.0).sum(2)
    return whole / number.clamp(min=1.0)[:, None, None]


def bins(start: Tensor, length: Tensor, count: int, size: int) -> Tensor:
    """Whether each of `size` places is in each bin of a region: (regions, count, size)."""
    each = (length / count).unsqueeze(1)
    number = gn.arange(count, dtype=length.dtype, device=length.device)
    first = (number * each).floor() + start.unsqueeze(1)
    last = ((number + 1) * each).ceil() + start.unsqueeze(1)
    place = gn.arange(size, dtype=length.dtype, device=length.device)
    return (place >= first.unsqueeze(2)) & (place < last.unsqueeze(2))


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, None]:
    """The largest value in each bin of regions; 0 in a bin that has no place. No argmax is given.

    Shapes: input (n, c, h, w), rois (k, 5) -> (k, c, pooled_height, pooled_width)
    """
    places = rois[:, 1:] * spatial_scale
    corners = places.sign() * (places.abs() + 0.5).floor()
    starts, lengths = corners[:, :2], (corners[:, 2:] - corners[:, :2] + 1).clamp(min=1)
    wide = bins(starts[:, 0], lengths[:, 0], pooled_width, input.shape[3])
    high = bins(starts[:, 1], lengths[:, 1], pooled_height, input.shape[2])
    own = input[rois[:, 0].long()].unsqueeze(3)
    rows = own.masked_fill(~wide[:, None, None], -math.inf).max(-1).values
    rows = rows.transpose(2, 3).unsqueeze(2)
    most = rows.masked_fill(~high[:, None, :, None], -math.inf).max(-1).values
    return most.masked_fill(most == -math.inf, 0.0), None


def bilinear(input: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Values between places, 0 outside of the image.

    Shapes: input (n, g, c, h, w), y (n, g, p), x (n, g, p) -> (n, g, c, p)
    """
    high, wide = input.shape[3:]
    flat, total = input.flatten(3), None
    for down in (0, 1):
        for right in (0, 1):
            row, column = y.floor() + down, x.floor() + right
            inside = (row >= 0) & (row < high) & (column >= 0) & (column < wide)
            weight = (1 - (y - row).abs()) * (1 - (x - column).abs())
            place = (row.clamp(0, high - 1) * wide + column.clamp(0, wide - 1)).long()
            index = place.unsqueeze(2).expand(-1, -1, flat.shape[2], -1)
            value = flat.gather(3, index) * gn.where(inside, weight, 0.0).unsqueeze(2)
            total = value if total is None else total + value
    assert total is not None
    return total


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    *numbers: int,
) -> Tensor:
    """A convolution whose windows read at places of their own (Zhu et al. 2018, version 2).

    numbers: stride, padding and dilation of both axes, groups of weights and of offsets, and
    whether there is a mask.

    Shapes: input (n, c, h, w), weight (o, i, k, l), offset (n, m, p, q), mask (n, s, ...), bias (o)
    -> (n, o, p, q)
    """
    *steps, groups, parts, masked = numbers
    down, right, top, left, apart, beside = steps
    n, (kh, kw), (oh, ow) = input.shape[0], weight.shape[2:], offset.shape[2:]
    moved = offset.reshape(n, parts, kh * kw, 2, oh, ow)
    line = {"dtype": input.dtype, "device": input.device}
    y = (gn.arange(kh, **line) * apart).view(kh, 1, 1, 1) + (
        gn.arange(oh, **line) * down - top
    ).view(oh, 1)
    x = (gn.arange(kw, **line) * beside).view(kw, 1, 1) + gn.arange(ow, **line) * right - left
    y = moved[:, :, :, 0] + y.expand(kh, kw, oh, ow).reshape(kh * kw, oh, ow)
    x = moved[:, :, :, 1] + x.expand(kh, kw, oh, ow).reshape(kh * kw, oh, ow)
    values = bilinear(input.unflatten(1, (parts, -1)), y.flatten(2), x.flatten(2))
    if masked:
        values = values * mask.reshape(n, parts, 1, -1)
    columns = values.reshape(n, groups, -1, oh * ow)
    made = weight.reshape(groups, weight.shape[0] // groups, -1) @ columns
    return made.reshape(n, -1, oh, ow) + bias.view(-1, 1, 1)


class VisionOperator:
    """An operator that is called by its name or by its only overload."""

    def __init__(self, name: str, function: Callable[..., Any] | None) -> None:
        self.__name__, self.default, self._function = name, self, function

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self._function is None:
            raise ArgumentError(
                f"torch.ops.torchvision.{self.__name__}: Gnomon has no such operator."
            )
        return self._function(*given, **named)


class VisionOperators:
    """The operators of torchvision by name."""

    known: ClassVar[dict[str, Callable[..., Any]]] = {
        "_cuda_version": lambda: -1,
        "deform_conv2d": deform_conv2d,
        "nms": nms,
        "roi_align": roi_align,
        "roi_pool": roi_pool,
    }

    def __getattr__(self, name: str) -> VisionOperator:
        if name.startswith("__"):
            raise AttributeError(f"'torch.ops.torchvision' has no attribute {name!r}")
        made = vars(self)[name] = VisionOperator(name, self.known.get(name))
        return made
