"""Strides of views, and what PyTorch copies where none show a shape."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

VIEWS = {
    "itself": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "rows": lambda x: x[1:],
    "every other": lambda x: x[:, :, ::2],
    "column": lambda x: x[:, 1],
    "expanded": lambda x: x[:, :1].expand(-1, 3, -1),
    "stretches": lambda x: x.unfold(2, 3, 1),
    "apart": lambda x: x.unfold(2, 2, 2),
    "merged": lambda x: x.permute(2, 0, 1).view(4, 6),
}


@pytest.mark.parametrize("view", VIEWS)
def test_strides_are_those_of_numpy(view):
    x = gn.arange(24.0).reshape(2, 3, 4)
    shown, array = VIEWS[view](x), np.arange(24.0).reshape(2, 3, 4)

    memory = np.lib.stride_tricks.as_strided(
        array.reshape(-1)[shown.storage_offset() :],
        tuple(shown.shape),
        [8 * step for step in shown.stride()],
    )
    assert shown.tolist() == memory.tolist()
    assert shown.is_contiguous() == memory.flags.c_contiguous


def test_strides_inside_a_compiled_function_are_those_of_the_argument():
    ask = gn.compile(lambda x: (x.stride(), x.storage_offset(), x * 2))
    base = gn.arange(24.0).reshape(2, 3, 4)

    for _ in range(2):
        for view in VIEWS.values():
            shown = view(base)
            assert ask(shown)[:2] == (shown.stride(), shown.storage_offset())


def test_gradients_pass_copies_and_stretches():
    x = gn.arange(6.0).requires_grad_()
    y = x * 1
    y.view(2, 3).t().contiguous().zero_()
    y.unfold(0, 2, 2)[1:].fill_(3.0)

    (y.unfold(0, 3, 1) * 2).sum().backward()

    assert y.tolist() == [0, 1, 3, 3, 3, 3]
    assert x.grad.tolist() == [2, 4, 0, 0, 0, 0]


def test_a_write_to_what_overlaps_is_seen_and_the_last_value_stays():
    x = gn.zeros(5)
    stretches = x.unfold(0, 3, 1)

    stretches.copy_(gn.arange(9.0).reshape(3, 3))
    assert x.tolist() == [0, 3, 6, 7, 8]

    stretches[1].zero_()
    assert x.tolist() == [0, 0, 0, 0, 8]

    gn.ones(1).expand(3)[1].zero_()
    with pytest.raises(ArgumentError, match="one element in several places"):
        stretches.mul_(2)
    with pytest.raises(ArgumentError, match="single memory location"):
        stretches[stretches > 1] = 5


def test_a_view_knows_the_tensor_of_which_it_is_one():
    x = gn.ones(2, 3).clone()
    row, flat = x[1], x.view(6)[2:]

    assert row._is_view()
    assert row._base is x
    assert flat._base is x
    assert not x._is_view()
    assert x._base is None
    assert not x.detach()._is_view()
    assert not x.t().contiguous()._is_view()
    with gn.no_grad():
        assert x.t()._base is x


def test_the_memory_of_a_tensor_that_is_gone_is_shown_whole():
    row = gn.arange(6.0).clone().view(2, 3)[1]

    row._base[5] = 9

    assert row.tolist() == [3, 4, 9]


def test_views_begin_in_the_memory_of_their_tensor():
    x = gn.arange(6.0).reshape(2, 3).clone()

    assert x[1].data_ptr() == x.data_ptr() + 12
    assert x.T[1:].data_ptr() == x.data_ptr() + 4
    assert x[:, 1:].reshape(-1).data_ptr() != x.data_ptr() + 4
