"""Parts of values need no program, and a loop over parts needs no new ones."""

from __future__ import annotations

import gc
import importlib

import numpy as np

import gnomon as gn
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.op_calls import OpCall
from gnomon.ops.registry import Traced
from gnomon.ops.view_primitives import slice_
from gnomon.tensor.borrowing import Survey, borrows, history_of, is_plain_part, numbered
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


def call_of_two(x, y):
    """Two results of one call."""
    arena = Arena()
    a, b = (arena.input((3,), float32) for _ in range(2))
    body = Graph([a, b], [a + b, a * b])
    return Traced("of_two", body, OpCall((), ()), True).emit((x, y))


def test_a_survey_that_goes_on_is_one_of_all_roots():
    x, y = raw(gn.tensor([1.0, 2.0, 3.0])), raw(gn.tensor([4.0, 5.0, 6.0]))
    first, second = call_of_two(x, y)
    roots = [first - x, second * 2.0, slice_(y * y, ((1, 3, 1),)) + 1.0]

    found = Survey(roots[:1])
    found.go_on(roots[1:])

    whole = Survey(roots)
    for name in ("key", "lines", "leaves", "calls", "cuts", "order", "over_ranks"):
        assert getattr(found, name) == getattr(whole, name)


def test_calls_with_the_same_operands_are_told_from_calls_with_others():
    x, y = raw(gn.tensor([1.0, 2.0, 3.0])), raw(gn.tensor([4.0, 5.0, 6.0]))

    def key(*pairs):
        calls = [call_of_two(*pair) for pair in pairs]
        return Survey([calls[0][0], calls[-1][1]]).key

    keys = [key((x, y)), key((x, y), (y, x)), key((x, y), (x, x)), key((x, x)), key((y, x))]

    assert keys[0] == keys[4]
    assert len({*keys}) == 4


def test_a_history_ends_at_views_of_values_without_gradients():
    rows, w = gn.rand(4, 3), gn.ones(3, requires_grad=True)
    rows.tolist()
    root = raw((rows[1] * w).tanh().sum() + (w[1:] * rows[2, 1:]).sum())

    order = history_of([root])

    assert order == numbered([root], is_plain_part)
    assert any(x.op == "slice" and x.value is not None for x in order)
