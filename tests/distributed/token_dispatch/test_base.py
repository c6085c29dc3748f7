"""Whatever the dispatcher: odd sizes are sizes, and what does not fit together is refused."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.distributed.token_dispatch.local import LocalTokenDispatcher
from gnomon.errors import IndexOutOfBounds, ShapeError
from tests.distributed.token_dispatch.layers import EXPERTS


def test_sizes_of_nothing_and_of_one_are_sizes():
    for tokens, chosen, width in ((0, 2, 3), (1, 1, 1), (2, 0, 3), (2, 1, 0)):
        dispatcher = LocalTokenDispatcher(1, 1)
        expert = gn.zeros(tokens, chosen, dtype=gn.int64)
        sent = dispatcher.dispatch(gn.ones(tokens, width), gn.ones(tokens, chosen), expert)

        assert sent.rows.shape == (tokens * chosen, width)
        assert dispatcher.combine(sent.rows, sent).tolist() == [[float(chosen)] * width] * tokens


@pytest.mark.parametrize("number", [-1, EXPERTS])
def test_an_expert_that_is_none_is_refused(number):
    dispatcher = LocalTokenDispatcher(EXPERTS)
    with pytest.raises(IndexOutOfBounds, match="outside its axis"):
        dispatcher.dispatch(gn.ones(1, 2), gn.ones(1, 1), gn.tensor([[number]])).rows.numpy()


def test_what_does_not_fit_together_is_refused():
    dispatcher, expert = LocalTokenDispatcher(EXPERTS, 2), gn.zeros(4, 1, dtype=gn.int64)
    with pytest.raises(ShapeError, match=r"needs \(t, d\), \(t, c\) and \(t, c\): got \(4, 2\)"):
        dispatcher.dispatch(gn.ones(4, 2), gn.ones(4, 2), expert)
    with pytest.raises(ShapeError, match="3 tokens do not fall into 2 blocks"):
        dispatcher.dispatch(gn.ones(3, 2), gn.ones(3, 1), expert[:3])
