"""Elements selected by a mask: as many as it holds, none included."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import IndexOutOfBounds

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("mask", "source", "expected", "kept", "taken"),
    [
        ([True, False, True], [7.0, 8.0, 9.0], [7, 0, 8], [0, 1, 0], [1, 1, 0]),
        ([False] * 3, [7.0], [0, 0, 0], [1, 1, 1], [0]),
        ([False] * 3, [], [0, 0, 0], [1, 1, 1], []),
        ([], [], [], [], []),
    ],
)
def test_elements_come_in_order_and_have_their_gradients(mask, source, expected, kept, taken):
    x = gn.zeros(len(mask), requires_grad=True)
    given = gn.tensor(source, dtype=gn.float32, requires_grad=True)

    made = gn.masked_scatter(x, gn.tensor(mask, dtype=gn.bool), given)
    made.sum().backward()

    assert [v.tolist() for v in (made, x.grad, given.grad)] == [expected, kept, taken]


@pytest.mark.parametrize("source", [[7.0], []])
def test_a_source_with_too_few_elements_is_refused(source):
    mask = gn.tensor([True, False, True])

    with pytest.raises(IndexOutOfBounds, match="masked_scatter"):
        gn.masked_scatter(gn.zeros(3), mask, gn.tensor(source, dtype=gn.float32)).tolist()
