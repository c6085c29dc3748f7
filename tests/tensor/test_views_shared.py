"""Functions that view and functions that copy: fixed outcomes of PyTorch's, eager and compiled."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import gnomon as gn
from tests.tensor.view_table import FUNCTIONS, LAYOUTS

COPIES = {
    *("clone", "copy", "diag", "double", "flip", "fliplr", "index array", "index_select"),
    *("narrow_copy", "pad", "pixel_shuffle", "repeat", "repeat_interleave", "roll", "rot90"),
    *("rot90 no", "select_scatter", "stack", "take_along_dim", "tile", "to other", "tril"),
    *("diagonal_copy", "expand_copy", "permute_copy", "select_copy", "slice_copy"),
    *("squeeze_copy", "transpose_copy", "unsqueeze_copy", "view_copy"),
}
ALONE = frozenset({"rows", "part"})
EITHER = {
    **dict.fromkeys(("contiguous", "flatten", "ravel", "reshape other"), ALONE),
    **dict.fromkeys(("flatten head", "reshape"), ALONE | {"narrow", "steps", "stretches"}),
    **dict.fromkeys(("flatten tail", "module flatten", "reshape_as"), ALONE | {"wide"}),
}
"""Functions that view in these layouts, and copy in others. What is in no table views in all."""


def shares(name, layout):
    """Whether PyTorch's function gives a view of a tensor in a layout."""
    return name not in COPIES and layout in EITHER.get(name, LAYOUTS)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_write_arrives_where_a_function_views_and_nowhere_else(name, compiled):
    for layout in list(LAYOUTS)[:: 2 if compiled else 1]:
        shape, view = LAYOUTS[layout]
        base = gn.arange(1.0, 1.0 + prod(shape)).reshape(shape)
        before = base.clone().numpy()

        def run(base, view=view):
            y = FUNCTIONS[name](gn, view(base))
            seen = y.clone()
            y.fill_(-1.0)
            return seen

        seen = (gn.compile(run) if compiled else run)(base)

        written = np.isin(before, seen.numpy()) & shares(name, layout)
        assert base.tolist() == np.where(written, -1, before).tolist(), layout


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_write_to_what_is_behind_is_seen_by_views_alone(name):
    for layout, (shape, view) in LAYOUTS.items():
        base = gn.arange(1.0, 1.0 + prod(shape)).reshape(shape)
        y = FUNCTIONS[name](gn, view(base))
        before = y.tolist()

        base.add_(100.0)

        expected = np.asarray(before) + (100 if shares(name, layout) else 0)
        assert y.tolist() == expected.tolist(), layout
