"""Problems are the same every time, and are read as they were written."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.bench.problems import MAKERS
from tests.bench.tiny import TINY, tiny

pytestmark = pytest.mark.unit


def test_every_problem_has_a_tiny_size():
    assert set(MAKERS) == set(TINY)


@pytest.mark.parametrize("name", TINY)
def test_a_problem_is_drawn_twice_alike(name):
    once, again = (MAKERS[name](TINY[name]) for _ in range(2))

    assert all(np.array_equal(once[part], again[part]) for part in once)


def test_weights_are_found_by_their_names(tmp_path):
    problem = tiny("lce", tmp_path / "lce")
    assert problem.weights() == {}
    assert problem["rows"] == 6
    assert problem.array("x").shape == (6, 5)

    weights = tiny("resnet", tmp_path / "resnet").weights()
    assert weights["blocks.1.short.c.weight"].shape == (16, 8, 1, 1)
    assert "blocks.0.short.c.weight" not in weights
