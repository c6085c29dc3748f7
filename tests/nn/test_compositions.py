"""Functions of a call or two give what those give."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.nn import functional as F

X = gn.arange(24.0).sin().reshape(2, 3, 4)


def test_sequences_with_channels_last_are_convolved_as_others():
    weight = gn.arange(3.0 * 4 * 5).cos().reshape(3, 4, 5)

    made = F.conv_tbc(X, weight, gn.ones(5), 1)

    expected = F.conv1d(X.permute(1, 2, 0), weight.permute(2, 1, 0), gn.ones(5), padding=1)
    assert made.equal(expected.permute(2, 0, 1))


def test_images_grow_as_interpolate_says():
    image = X[:, None]

    assert F.upsample_nearest(X, scale_factor=2).equal(F.interpolate(X, scale_factor=2))
    made = F.upsample_bilinear(image, size=(5, 9))
    assert made.equal(F.interpolate(image, (5, 9), mode="bilinear", align_corners=True))


def test_the_usual_distance_gives_the_usual_loss():
    given = X[0], X[1], X[0].cos()

    for swap in (False, True):
        made = F.triplet_margin_with_distance_loss(*given, swap=swap)
        np.testing.assert_allclose(made.item(), F.triplet_margin_loss(*given, swap=swap).item())
