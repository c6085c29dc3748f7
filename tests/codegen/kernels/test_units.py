"""Narrow values in panels: widened, or two steps in a unit."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.kernels.packing import Packing
from gnomon.codegen.kernels.strides import merge
from gnomon.codegen.kernels.units import Source
from tests.codegen.kernels.test_packing import pack_units, places

STORED = {"i8": "i1", "u8": "u1", "half": "f2", "bfloat": "u2"}


def values_of(kind: str, rng: np.random.Generator, size: int) -> np.ndarray:
    """Random values in memory."""
    if kind == "half":
        return rng.normal(size=size).astype("f2")
    bounds = np.iinfo(STORED[kind])
    return rng.integers(bounds.min, bounds.max + 1, size).astype(STORED[kind])


def unit_values(kind: str, steps: np.ndarray, source: Source) -> np.ndarray:
    """What units [k][width] hold of values [steps][width], as their bits."""
    if source.together == 1:
        if kind == "bfloat":
            return steps.astype("u4") << 16
        return steps.astype("f4" if kind == "half" else "i4").view("u4")
    shorts = steps.astype("i2") if kind != "bfloat" else steps.view("i2")
    if len(shorts) % 2:
        shorts = np.concatenate([shorts, np.full_like(shorts[:1], source.padding)])
    low, high = shorts[::2].view("u2"), shorts[1::2].view("u2")
    return low.astype("u4") | high.astype("u4") << 16


@pytest.mark.parametrize("layout", ["rows", "steps", "neither", "two pieces"])
@pytest.mark.parametrize(
    ("kind", "together"),
    # no instruction multiplies pairs of float16
    [(kind, n) for kind in STORED for n in (1, 2) if (kind, n) != ("half", 2)],
)
def test_units_hold_narrow_values_of_every_layout(kind, together, layout, rng):
    rows, steps, width = 37, 45, 16
    x = values_of(kind, rng, 8000)
    walks = {
        "rows": ([(rows, 1)], [(steps, rows)]),
        "steps": ([(rows, steps)], [(steps, 1)]),
        "neither": ([(rows, 2)], [(steps, 2 * rows)]),
        "two pieces": ([(2, 3000), (20, 1)], [(steps, 30)]),
    }
    walk_rows, walk_steps = (merge(walk) for walk in walks[layout])
    source = Source(kind, together, -(1 << 15) if kind == "bfloat" else 0)
    packing = Packing(source.unit, width, walk_rows, walk_steps, source)
    some = range(4, steps)

    packed = pack_units(packing, x, 0, 2, some).view("u4")

    chosen = places(walk_rows)[: 2 * width][:, None] + places(walk_steps)[list(some)]
    expected = unit_values(kind, np.ascontiguousarray(x[chosen].T), source)
    assert np.array_equal(packed.transpose(1, 0, 2).reshape(expected.shape), expected)
