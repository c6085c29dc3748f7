"""Calls whose results are views where strides show them, and copies elsewhere."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
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


def test_a_copy_of_a_view_lies_as_the_view():
    x = gn.arange(6.0).reshape(2, 3)

    for copy in (x.t().clone(), x.t().double(), x.t().clone().clone()):
        assert (copy.stride(), copy.is_contiguous()) == ((1, 3), False)
        copy.contiguous().zero_()
        assert copy.sum() == 15
    assert x.t().clone(memory_format=gn.contiguous_format).stride() == (2, 1)
    assert x[:, ::2].clone().stride() == (2, 1)
    assert x.t().clone().as_strided((2, 2), (3, 1)).tolist() == [[0, 1], [3, 4]]


def test_channels_may_be_last():
    x = gn.arange(120.0).reshape(1, 2, 3, 4, 5)

    for rank, memory_format in ((4, gn.channels_last), (5, gn.channels_last_3d)):
        image = x[0] if rank == 4 else x
        made = image.contiguous(memory_format=memory_format)
        assert made.is_contiguous(memory_format=memory_format)
        assert not made.is_contiguous()
        assert made.contiguous(memory_format=memory_format) is made
        assert image.to(memory_format=memory_format).stride() == made.stride()
        made.zero_()
        assert image.sum() == 7140
    assert x[0].contiguous(memory_format=gn.channels_last).stride() == (60, 1, 15, 3)
    assert not x.is_contiguous(memory_format=gn.channels_last)
    with pytest.raises(ArgumentError, match="channels_last is for 4 axes"):
        x.contiguous(memory_format=gn.channels_last)


@pytest.mark.parametrize("compiled", [False, True])
def test_results_lie_as_they_are_left(compiled):
    views = [lambda x: (x * 2).t(), lambda x: x.t().clone(), lambda x: (x * 2)[:, ::2]]
    for view in views:
        function = gn.compile(view) if compiled else view
        for _ in range(2):
            made = function(gn.ones(3, 4))
            assert not made.is_contiguous()
            made.contiguous().zero_()
            assert (made != 0).all()
