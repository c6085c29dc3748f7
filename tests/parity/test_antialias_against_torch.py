"""Images that are resized without aliases are PyTorch's, and so are gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        {"size": (3, 4)},
        {"size": (5, 20)},
        {"size": (7, 11)},
        {"size": (1, 2)},
        {"scale_factor": 0.4},
        {"scale_factor": (0.61, 1.7)},
        {"scale_factor": 0.4, "recompute_scale_factor": True},
    ],
    ids=str,
)
def test_resized_images(rng, mode: str, corners: bool, how: dict):
    values, found = rng.standard_normal((2, 3, 7, 11)), []
    for library in (gn, torch):
        x = library.tensor(values, requires_grad=True)
        options = {"mode": mode, "align_corners": corners, "antialias": True, **how}
        made = library.nn.functional.interpolate(x, **options)
        (made * made).sum().backward()
        found.append([t.detach().numpy() for t in (made, x.grad)])

    for mine, its in zip(*found, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-11)


def test_single_precision(rng):
    values, found = rng.standard_normal((1, 2, 9, 30)).astype(np.float32), []
    for library in (gn, torch):
        x = library.tensor(values)
        made = library.nn.functional.interpolate(x, (4, 7), mode="bicubic", antialias=True)
        found.append(made.numpy())

    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


def test_a_compiled_call_is_the_eager_one(rng):
    x = gn.tensor(rng.standard_normal((1, 2, 9, 30)))

    def call(x: gn.Tensor) -> gn.Tensor:
        return gn.nn.functional.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True)

    assert gn.compile(call)(x).equal(call(x))
