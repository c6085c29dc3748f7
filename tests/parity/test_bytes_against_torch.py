"""Images of bytes are resized as PyTorch does, whose weights are integers: to one step."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("size", [(32, 32), (5, 12), (20, 20)])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_are_torchs_to_one_step(mode: str, antialias: bool, size: tuple[int, int]):
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 20, 17), np.uint8)
    found = [
        library.nn.functional.interpolate(
            library.from_numpy(x.copy()), size=size, mode=mode, antialias=antialias
        ).numpy()
        for library in (torch, gn)
    ]

    assert found[1].dtype == np.uint8
    assert np.abs(found[0].astype(int) - found[1]).max() <= 1
