"""Calls whose results are views where strides show them, and copies elsewhere."""

from __future__ import annotations

import pytest

import gnomon as gn
from tests.tensor.test_strides import VIEWS

COPIES = {
    "contiguous": lambda x: x.contiguous(),
    "ravel": lambda x: x.ravel(),
    "reshape": lambda x: x.reshape(-1),
    "flatten": lambda x: x.flatten(),
    "tail": lambda x: x.flatten(1),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("view", "copy", "shares"), [
    ("itself", "contiguous", True),
    ("transposed", "contiguous", False),
    ("transposed", "reshape", False),
    ("rows", "contiguous", True),
    ("rows", "flatten", True),
    ("every other", "contiguous", False),
    ("every other", "ravel", False),
    ("every other", "reshape", True),
    ("column", "flatten", False),
    ("column", "tail", True),
    ("apart", "reshape", True),
    ("apart", "contiguous", True),
    ("stretches", "tail", False),
])  # fmt: skip
def test_a_copy_is_made_where_no_strides_show_the_result(view, copy, shares, compiled):
    def write(x):
        COPIES[copy](VIEWS[view](x)).zero_()
        return x.sum()

    x = gn.arange(1.0, 25.0).reshape(2, 3, 4)
    (gn.compile(write) if compiled else write)(x)

    assert bool((x == 0).any()) == shares


@pytest.mark.parametrize("view", ["transposed", "rows", "every other", "column"])
def test_a_compiled_function_knows_how_its_argument_lies(view):
    write = gn.compile(lambda x: x.contiguous().zero_())
    base = gn.arange(1.0, 25.0).reshape(2, 3, 4)

    for _ in range(3):
        for shown in (base.clone(), VIEWS[view](base)):
            before, shares = shown.clone(), shown.is_contiguous()
            write(shown)
            assert (shown.tolist() == before.tolist()) is not shares
            shown.copy_(before)
