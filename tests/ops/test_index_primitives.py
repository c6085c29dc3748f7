"""Views and lookups by index are said by their classes, and nowhere else."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import PRIMITIVES, Arena
from gnomon.ops import every  # noqa: F401 - fills the registry
from gnomon.ops.index_primitives import IndexPrimitive, ViewPrimitive, is_index, is_view
from gnomon.ops.primitives import reshape
from gnomon.ops.view_primitives import pad

pytestmark = pytest.mark.unit


def test_which_primitives_have_no_loops_of_their_own():
    kinds = {name: type(p) for name, p in PRIMITIVES.items()}

    views = {name for name, kind in kinds.items() if issubclass(kind, ViewPrimitive)}
    indices = {name for name, kind in kinds.items() if issubclass(kind, IndexPrimitive)}
    assert views == {"permute", "reshape", "expand", "slice", "detach", "barrier"}
    assert indices - views == {"pad", "window", "gather"}


def test_a_node_is_what_its_primitive_is():
    x = Arena().input((2, 3), float32)

    assert (is_index(x), is_view(x)) == (False, False)
    assert (is_index(reshape(x, (6,))), is_view(reshape(x, (6,)))) == (True, True)
    assert (is_index(pad(x, (1, 0), (0, 0))), is_view(pad(x, (1, 0), (0, 0)))) == (True, False)
