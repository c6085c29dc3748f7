"""Sobol sequences: PyTorch's points, and scrambled ones that a seed decides."""

from __future__ import annotations

import sys

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.lazy import Lazy
from gnomon.quasirandom import SobolEngine

pytestmark = pytest.mark.unit
POINTS = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
"""The first points of three dimensions, as torch 2.13 draws them."""


def test_points_are_those_of_the_sequence():
    pytest.importorskip("scipy")
    engine = SobolEngine(3)

    assert engine.draw(4).tolist() == POINTS
    assert tuple(engine.draw(0).shape) == (0, 3)
    assert engine.num_generated == 4
    assert engine.reset().fast_forward(2).draw(2).tolist() == POINTS[2:]
    assert engine.reset().draw_base2(1).dtype is gn.float32
    assert engine.draw(dtype=gn.float64).tolist() == POINTS[2:3]
    with pytest.raises(ArgumentError, match="got 3 and 4 more"):
        engine.draw_base2(2)
    assert repr(engine) == "SobolEngine(dimension=3)"


def test_a_seed_decides_how_points_are_scrambled():
    pytest.importorskip("scipy")
    drawn = [SobolEngine(2, scramble=True, seed=seed).draw(64) for seed in (5, 5, 6)]
    gn.manual_seed(1)
    free = [SobolEngine(2, scramble=True).draw(8) for _ in range(2)]

    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()
    assert (free[0] != free[1]).any()
    halves = (drawn[0] < 0.5).sum(0).tolist()
    assert halves == [32, 32]
    assert repr(SobolEngine(2, True, 5)) == "SobolEngine(dimension=2, scramble=True, seed=5)"


def test_points_are_written_to_a_tensor():
    pytest.importorskip("scipy")
    out = gn.empty(0, dtype=gn.float64)

    assert SobolEngine(3).draw(4, out=out) is out
    assert out.tolist() == POINTS
    assert out.dtype is gn.float64


@pytest.mark.parametrize("dimension", [0, 21202])
def test_dimensions_have_ends(dimension: int):
    with pytest.raises(ArgumentError, match=f"is 1 to 21201: got {dimension}"):
        SobolEngine(dimension)


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy.stats.qmc", None)
    monkeypatch.setattr(gn.quasirandom, "qmc", Lazy("scipy.stats.qmc"))

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gnomon\[sobol\]'"):
        SobolEngine(2)
