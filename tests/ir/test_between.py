"""The nodes between known values and wanted ones."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir.between import nearest, nodes_between
from gnomon.ir.node import Arena

pytestmark = pytest.mark.unit


def test_only_what_lies_between_is_taken():
    x = Arena().input((4,), float32, "x")
    y = x + x
    z = y * x

    assert nodes_between([z], {x, y}) == [z]
    assert nodes_between([z], {x}) == [y, z]


def test_the_nearest_stops_hide_what_lies_behind_them():
    x = Arena().input((4,), float32, "x")
    y = -x
    z = -y

    assert nearest([z + x], {y, x}) == [x, y]
    assert nearest([z], {y, x}) == [y]
