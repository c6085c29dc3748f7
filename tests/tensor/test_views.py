"""Reading and writing through chains of view steps, on nodes."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gnomon as gn
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


VIEWS = {
    "rows": lambda x: x[1:],
    "transposed": lambda x: x.T,
    "every other": lambda x: x[::2],
    "raised": lambda x: x[None].reshape(x.shape),
    "row": lambda x: x[0] if x.ndim > 1 else x,
}
CUTS = {
    "leaf": lambda x: x.requires_grad_() if not x.requires_grad else x,
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "parameter": lambda x: gn.nn.Parameter(x.detach()),
}


@pytest.mark.parametrize("seed", range(24))
def test_views_of_leaves_that_are_views_show_their_own_elements(seed: int):
    """Steps are counted from such a leaf, and from the storage once a view is cut off from it."""
    choose = random.Random(seed)
    base, shown = gn.arange(48.0).reshape(8, 6), np.arange(48, dtype=np.float32).reshape(8, 6)
    memory, tensor = shown, base
    for _ in range(6):
        name = choose.choice([*VIEWS])
        if min(shown.shape) > 1:
            tensor, shown = VIEWS[name](tensor), VIEWS[name](shown)
        tensor = CUTS[choose.choice([*CUTS])](tensor)
        assert tensor.tolist() == shown.tolist()
        np.testing.assert_array_equal(tensor.detach().numpy(), shown)
    with gn.no_grad():
        tensor.add_(100.0)
    shown += 100.0

    np.testing.assert_array_equal(base.detach().numpy(), memory)
    np.testing.assert_array_equal(tensor.detach().numpy(), shown)


def test_gradients_of_views_of_a_leaf_that_is_a_view():
    leaf = gn.arange(10.0)[4:8].requires_grad_()
    view = leaf[1:]
    (view * view.detach()).sum().backward()

    assert leaf.grad.tolist() == [0.0, 5.0, 6.0, 7.0]
