"""Reading and writing through chains of view steps, on nodes."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float64
from gnomon.ir.node import Arena
from gnomon.ops.interpret import interpret
from gnomon.ops.primitives import reshape
from gnomon.ops.view_primitives import permute, slice_
from gnomon.tensor.views import chain_between, read, write
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit


@st.composite
def chains(draw):
    """A few random view steps over a (4, 6) array."""
    return draw(st.lists(st.sampled_from(["permute", "slice", "reshape"]), max_size=4))


def shown(node, steps):
    """The node behind the steps."""
    for step in steps:
        if step == "permute":
            node = permute(node, tuple(reversed(range(node.rank))))
        elif step == "reshape":
            node = reshape(node, (node.size,))
        else:
            node = slice_(node, tuple((n // 3, n, 2) for n in node.shape))
    return node


@given(chains())
def test_a_write_through_views_changes_what_they_show_and_nothing_else(steps):
    arena = Arena()
    base = arena.input((4, 6), float64)
    view = shown(base, steps)
    chain = chain_between(view, base)
    new = arena.input(view.shape, float64)

    after = write(base, chain, new)

    old_value, new_value = np.arange(24.0).reshape(4, 6), 100 + np.arange(view.size * 1.0)
    feeds = {base: old_value, new: new_value.reshape(view.shape)}
    seen, whole, places = interpret([read(after, chain), after, shown(base, steps)], feeds)
    np.testing.assert_array_equal(seen, feeds[new])
    untouched = ~np.isin(old_value, places)
    np.testing.assert_array_equal(whole[untouched], old_value[untouched])


def test_what_is_more_than_views_is_no_chain():
    x = Arena().input((2,), float64)

    assert chain_between(x + x, x) is None
