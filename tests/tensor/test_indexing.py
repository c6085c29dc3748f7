"""Reading and writing parts of tensors, beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GnomonError

X = np.arange(60.0).reshape(3, 4, 5)
MASK = X[:, :, 0] % 3 == 0
INDICES = [
    (1,),
    (-1,),
    (slice(None), 2),
    (slice(None, None, 2), slice(1, 4), slice(-3, None)),
    (..., 0),
    (None, 1, ..., None),
    ([0, 2],),
    (slice(None), [3, 0, 3]),
    ([0, 2], [1, 3]),
    ([[0, 1], [2, 0]], slice(None), [[1], [4]]),
    (0, [1, 2], slice(1, 3)),
    ([0, 1], slice(None), [2, 3]),
    (MASK,),
    (MASK, 1),
    (slice(None), [True, False, True, False]),
    (np.array([-1, 0]),),
]


def ours(index: tuple) -> tuple:
    """An index with arrays as tensors."""
    return tuple(gn.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_numpys(index):
    part = gn.from_numpy(X)[ours(index)]

    assert part.shape == X[index].shape
    assert part.tolist() == X[index].tolist()


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writing_a_part_changes_what_numpy_changes(index):
    x, expected = gn.tensor(X), X.copy()

    x[ours(index)] = -1.0
    expected[index] = -1.0

    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("index", INDICES[:13], ids=str)
def test_the_gradient_of_a_part_counts_its_uses(index):
    x, uses = gn.tensor(X, requires_grad=True), np.zeros_like(X)
    np.add.at(uses, index, 1.0)

    x[ours(index)].sum().backward()

    assert x.grad.tolist() == uses.tolist()


def test_a_slice_is_a_view_and_a_list_is_a_copy():
    x = gn.zeros(3, 2)
    view, copied = x[1:], x[[1, 2]]

    view[0, 0] = 1.0
    copied[0, 1] = 1.0

    assert x.tolist() == [[0, 0], [1, 0], [0, 0]]


def test_values_are_broadcast_and_of_several_for_one_place_the_last_stays():
    x = gn.zeros(2, 3)

    x[:, 1:] = gn.tensor([[5.0], [6.0]])
    x[0, [0, 0]] = gn.tensor([1.0, 2.0])

    assert x.tolist() == [[2, 5, 5], [0, 6, 6]]


def test_values_may_add_up_instead():
    x = gn.zeros(3)

    x.index_put_((gn.tensor([0, 2, 0]),), gn.tensor([1.0, 2.0, 3.0]), accumulate=True)

    assert x.tolist() == [4.0, 0.0, 2.0]


@pytest.mark.parametrize("index", [(3,), (0, 0, 5), (0, 0, 0, 0), ([3],), (slice(None), [0, -5])])
def test_a_place_that_is_not_there_is_refused(index):
    with pytest.raises((IndexError, GnomonError)):
        gn.from_numpy(X)[index].numpy()


def test_a_loop_over_a_tensor_gives_its_rows():
    assert [row.tolist() for row in gn.from_numpy(X[:, 0, :2])] == X[:, 0, :2].tolist()
