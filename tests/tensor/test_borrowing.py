"""Parts of values need no program, and a loop over parts needs no new ones."""

from __future__ import annotations

import gc
import importlib

import numpy as np

import gnomon as gn
from gnomon.tensor.borrowing import borrows, is_plain_part
from gnomon.tensor.tensor import raw

evaluation = importlib.import_module("gnomon.tensor.evaluate")


def programs():
    return sum(map(len, evaluation._programs.values()))


def test_neighbours_are_shown_and_others_copied():
    x = gn.tensor(np.arange(12).reshape(3, 4))
    rows, columns = raw(x[1:]), raw(x[:, 1:3])

    assert borrows(rows)
    assert borrows(columns)
    whole = raw(x).value
    assert rows.value.address == whole.address + 4 * 8
    np.testing.assert_array_equal(columns.value.numpy(np.int64, (3, 2)), [[1, 2], [5, 6], [9, 10]])


def test_a_part_of_a_leaf_that_wants_gradients_is_no_leaf():
    w = gn.ones(4, requires_grad=True)
    w.tolist()

    assert not is_plain_part(raw((w * 1)[1:]))
    (w[1:] * 2).sum().backward()
    assert w.grad.tolist() == [0, 2, 2, 2]


def test_training_on_parts_of_one_tensor_compiles_once():
    rows = gn.rand(8, 3)
    rows.tolist()
    w = gn.ones(3, requires_grad=True)
    counts = []
    gc.collect()
    for k in range(6):
        w.grad = None
        loss = (rows[k] * w).tanh().sum()
        loss.backward()
        w.grad.tolist()
        counts.append(programs())

    assert counts[1] == counts[5]


def test_a_write_to_a_copy_of_a_leaf_leaves_the_leaf_to_gradients():
    for write in (lambda y: y.mul_(3), lambda y: y[:1].zero_(), lambda y: y.copy_(y + 1)):
        x = gn.tensor([0.5, -1.5], requires_grad=True)
        square, y = x * x, x.clone()
        write(y)
        square.sum().backward()
        assert x.grad.tolist() == [1, -3]


def test_places_of_a_leaf_are_written_beside_what_reads_it():
    x = gn.tensor([0.5, -1.5, 2.0], requires_grad=True)
    (x * x + x.select_scatter(x[0] * 3, 0, 0)).sum().backward()

    assert x.grad.tolist() == [4, -2, 5]
