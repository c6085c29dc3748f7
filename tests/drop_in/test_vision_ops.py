"""torchvision's operators: beside definitions place by place, and beside a plain convolution."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gnomon as gn
from gnomon.drop_in.absences import Operators, load_library
from gnomon.drop_in.vision_ops import deform_conv2d, nms, roi_align, roi_pool
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F

R = np.random.default_rng(23)
IMAGES = R.standard_normal((2, 3, 7, 6)).astype(np.float32)
REGIONS = np.array(
    [[0, 1, 1, 6, 8], [1, 0, 2, 20, 22], [1, 3, 3, 3, 3], [0, -3, -3, 5, 4]], np.float32
)
"""Numbers of images, and boxes: inside, across an edge, of one place, and before the first."""


def rounded(x: float) -> float:
    """The nearest whole number, halves away from 0."""
    return math.copysign(math.floor(abs(x) + 0.5), x)


def pooled(scale: float, high: int, wide: int) -> np.ndarray:
    """The largest value of each bin, place by place."""
    made = np.zeros((len(REGIONS), IMAGES.shape[1], high, wide), np.float32)
    for k, (image, *box) in enumerate(REGIONS.tolist()):
        x1, y1, x2, y2 = (rounded(v * scale) for v in box)
        tall, broad = max(y2 - y1 + 1, 1) / high, max(x2 - x1 + 1, 1) / wide
        for i in range(high):
            for j in range(wide):
                rows = slice(*sides(i, tall, y1, IMAGES.shape[2]))
                part = IMAGES[int(image), :, rows, slice(*sides(j, broad, x1, IMAGES.shape[3]))]
                made[k, :, i, j] = part.max((1, 2)) if part.size else 0
    return made


def sides(number: int, each: float, start: float, size: int) -> tuple[int, int]:
    """The places of a bin that exist."""
    first, last = math.floor(number * each) + start, math.ceil((number + 1) * each) + start
    return int(min(max(first, 0), size)), int(min(max(last, 0), size))


def at(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """The value between four places; 0 more than one place outside."""
    high, wide = image.shape[1:]
    if not (-1 <= y <= high and -1 <= x <= wide):
        return np.zeros(len(image))
    y, x = min(max(y, 0), high - 1), min(max(x, 0), wide - 1)
    total = np.zeros(len(image))
    for i in range(high):
        for j in range(wide):
            total += image[:, i, j] * max(0, 1 - abs(y - i)) * max(0, 1 - abs(x - j))
    return total


def aligned_means(scale: float, high: int, wide: int, ratio: int, aligned: bool) -> np.ndarray:
    """The mean of the samples of each bin, sample by sample."""
    made = np.zeros((len(REGIONS), IMAGES.shape[1], high, wide))
    for k, (image, *box) in enumerate(REGIONS.tolist()):
        x1, y1, x2, y2 = (v * scale - 0.5 * aligned for v in box)
        tall, broad = ((b - a) if aligned else max(b - a, 1) for a, b in ((y1, y2), (x1, x2)))
        each = tall / high, broad / wide
        down, right = (ratio if ratio > 0 else math.ceil(v) for v in each)
        for i in range(high):
            for j in range(wide):
                for a in range(down):
                    for b in range(right):
                        y = y1 + each[0] * (i + (a + 0.5) / down)
                        x = x1 + each[1] * (j + (b + 0.5) / right)
                        made[k, :, i, j] += at(IMAGES[int(image)], y, x) / max(down * right, 1)
    return made


def test_bins_have_their_largest_value():
    found, argmax = roi_pool(gn.tensor(IMAGES), gn.tensor(REGIONS), 0.5, 3, 2)

    assert argmax is None
    assert np.array_equal(found.numpy(), pooled(0.5, 3, 2))


@pytest.mark.parametrize(("ratio", "aligned"), [(2, False), (0, False), (-1, True), (3, True)])
def test_regions_have_the_means_of_their_samples(ratio, aligned):
    images = gn.tensor(IMAGES, requires_grad=True)

    found = roi_align(images, gn.tensor(REGIONS), 0.7, 2, 3, ratio, aligned)
    found.sum().backward()

    wanted = aligned_means(0.7, 2, 3, ratio, aligned)
    assert np.allclose(found.detach().numpy(), wanted, atol=1e-5)
    assert np.isfinite(images.grad.numpy()).all()


def test_no_regions_have_no_values():
    assert roi_align(gn.tensor(IMAGES), gn.zeros(0, 5), 1.0, 2, 2, 0, False).shape == (0, 3, 2, 2)


def test_boxes_that_overlap_a_better_one_are_left_out():
    boxes = gn.tensor([[0.0, 0, 4, 4], [0, 0, 4, 5], [10, 0, 14, 4], [0, 0, 0, 0], [0, 0, 4, 4]])

    assert nms(boxes, gn.tensor([0.5, 0.9, 0.1, 0.2, 0.5]), 0.5).tolist() == [1, 3, 2]
    assert nms(boxes, gn.tensor([0.5, 0.9, 0.1, 0.2, 0.5]), 0.9).tolist() == [1, 0, 3, 2]
    assert nms(gn.zeros(0, 4), gn.zeros(0), 0.5).tolist() == []


def deformed(x, w, offset, groups=1, parts=1, mask=None, **steps):
    """A deformable convolution by one number for each step."""
    pairs = [n for key in ("stride", "padding", "dilation") for n in [steps[key]] * 2]
    given = gn.ones(1) if mask is None else mask
    return deform_conv2d(
        x, w, offset, given, gn.zeros(w.shape[0]), *pairs, groups, parts, mask is not None
    )


@pytest.mark.parametrize(
    ("groups", "steps"),
    [
        (1, {"stride": 1, "padding": 0, "dilation": 1}),
        (2, {"stride": 2, "padding": 1, "dilation": 2}),
    ],
)
def test_without_offsets_it_is_a_convolution(groups, steps):
    x = gn.tensor(R.standard_normal((2, 4, 9, 8)).astype(np.float32))
    w = gn.tensor(R.standard_normal((6, 4 // groups, 3, 2)).astype(np.float32))
    wanted = F.conv2d(x, w, groups=groups, **steps)
    nothing = gn.zeros(2, 2 * 2 * 6, *wanted.shape[2:])
    half = gn.full((2, 2 * 6, *wanted.shape[2:]), 0.5)

    found = deformed(x, w, nothing, groups, 2, **steps)
    halved = deformed(x, w, nothing, groups, 2, half, **steps)

    assert np.allclose(found.numpy(), wanted.numpy(), atol=1e-5)
    assert np.allclose(halved.numpy(), wanted.numpy() / 2, atol=1e-5)


def test_offsets_move_what_is_read():
    x = gn.tensor(R.standard_normal((1, 1, 5, 5)).astype(np.float32))
    down, right = gn.full((1, 1, 5, 5), 1.0), gn.full((1, 1, 5, 5), -0.5)

    found = deformed(
        x, gn.ones(1, 1, 1, 1), gn.cat([down, right], 1), stride=1, padding=0, dilation=1
    )

    below = np.pad(x.numpy()[0, 0], ((0, 1), (1, 0)))[1:]
    assert np.allclose(found.numpy()[0, 0], (below[:, :-1] + below[:, 1:]) / 2, atol=1e-6)


def test_the_library_is_there_and_what_it_lacks_says_so():
    operators = Operators("torch.ops", "", lambda name: None)

    load_library("/lib/torchvision/_C.so")
    with pytest.raises(OSError, match="is written for PyTorch"):
        load_library("/lib/other/_C.so")
    assert operators.torchvision.nms.default(gn.zeros(0, 4), gn.zeros(0), 0.5).shape == (0,)
    with pytest.raises(ArgumentError, match=r"torch.ops.torchvision.ps_roi_pool: Gnomon has no"):
        operators.torchvision.ps_roi_pool(1)
