"""Memory that numpy can write to belongs to one tensor alone."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import TraceError
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.shared import SharedMemory
from gnomon.tensor.memory import overlapping, shared_of
from tests.tensor.test_strides import VIEWS


def test_numpy_and_tensor_share_memory_both_ways():
    array = np.zeros(3, np.float32)
    x = gn.from_numpy(array)
    array[0] = 5
    x.numpy()[1] = 6

    assert x.tolist() == [5, 6, 0]
    assert np.shares_memory(x.numpy(), array)


def test_a_value_s_array_is_not_a_copy():
    x = gn.ones(3) + 1

    assert np.shares_memory(x.numpy(), x.numpy())
    assert np.shares_memory(np.asarray(x), x.numpy())


def test_a_clone_does_not_see_what_numpy_writes():
    x = gn.ones(3)
    before = x.clone()
    array = x.numpy()
    after = x.clone()
    array[0] = 7

    assert (x.tolist(), before.tolist(), after.tolist()) == ([7, 1, 1], [1, 1, 1], [1, 1, 1])


def test_what_was_copied_from_an_array_does_not_follow_it():
    array = np.ones(2, np.float32)
    x = gn.zeros(2)
    x.copy_(gn.from_numpy(array))
    array[:] = 9

    assert x.tolist() == [1, 1]


def test_pending_readers_are_computed_before_others_can_write():
    x = gn.ones(2)
    y = x + 1
    x.numpy()[:] = 5

    assert y.tolist() == [2, 2]


def test_a_look_by_numpy_leaves_gradients_their_way():
    for look in (lambda y: y.numpy(force=True), lambda y: y.detach().numpy()):
        for function in (lambda x: x * 2, gn.compile(lambda x: (x * 2)[:])):
            x = gn.ones(3, requires_grad=True)
            y = function(x)

            assert look(y).tolist() == [2, 2, 2]
            (y * y).sum().backward()

            assert x.grad.tolist() == [8, 8, 8]


@pytest.mark.parametrize(
    "part", [lambda x: x[1:], lambda x: x.view(2, 2), lambda x: x[::-1], lambda x: x.detach()]
)
def test_a_part_shows_numpy_the_memory_of_the_whole(part):
    for x in (gn.ones(4), gn.ones(4).clone() * 1, gn.from_numpy(np.ones(4, np.float32))):
        shown, other = part(x), x * 3
        part(x).numpy().reshape(-1)[-1] = 5

        assert sorted(x.tolist()) == [1, 1, 1, 5]
        assert shown.tolist() == part(x).tolist()
        assert other.tolist() == [3, 3, 3, 3]
        assert np.shares_memory(np.from_dlpack(part(x).T), x.numpy())


def test_what_waits_has_read_before_numpy_writes():
    x = gn.ones(4)
    array = x.numpy()
    turned, row = x.view(2, 2).T, x[1:]
    row.tolist(), turned.tolist()
    doubled, sums, parts = x * 2, turned.sum(0), row + 1
    array *= 3

    assert doubled.tolist() == [2, 2, 2, 2]
    assert sums.tolist() == [2, 2]
    assert parts.tolist() == [2, 2, 2]
    assert (turned.tolist(), row.tolist()) == ([[3, 3], [3, 3]], [3, 3, 3])
    assert (turned + row[0]).tolist() == [[6, 6], [6, 6]]


def test_gradients_read_what_was_there_when_numpy_writes():
    w, x = gn.ones(2, requires_grad=True), gn.tensor([2.0, 3.0])
    array, seed = x.numpy(), np.ones(2, np.float32)
    y = w * x
    array[:] = 9
    y.backward(gn.from_numpy(seed))
    seed[:] = 9

    assert w.grad.tolist() == [2, 3]


def test_numpy_sees_what_is_written_in_place():
    w = gn.ones(4, requires_grad=True)
    for x in (gn.zeros(4), gn.from_numpy(np.zeros(4, np.float32))):
        array, taken = x.numpy(), np.from_dlpack(x[2:])
        x.add_(1)
        x[1:] *= 4
        gn.compile(lambda x: x.mul_(2))(x)
        assert array.tolist() == [2, 8, 8, 8]
        assert taken.tolist() == [8, 8]
        x.mul_(w)
        x.sum().backward()

        assert w.grad.tolist() == [2, 8, 8, 8]
        w.grad = None


def test_memory_that_numpy_has_let_go_of_is_written_over_again():
    x = gn.ones(4)
    array = x.numpy()[1:]

    assert x._storage.node.value.lent
    del array
    assert not x._storage.node.value.lent


def test_an_array_of_a_result_that_nobody_else_holds_is_its_memory():
    y = gn.ones(1000) + 1
    y.tolist()
    address = y._storage.node.value.address

    assert y.numpy().ctypes.data == address
    y.numpy()[0] = 7
    assert y[0].item() == 7


def test_a_loan_ends_when_the_array_is_gone():
    y = gn.ones(3) + 1
    array, other = y.numpy(), y.numpy()
    value = y._storage.node.value

    assert value.lent == 2
    del array, other
    assert value.lent == 0


def test_what_numpy_wrote_is_read_by_all_that_is_computed_after_it():
    x = gn.ones(3, 3) + 1
    doubled, column = x * 2, x[:, 1]
    assert (doubled.tolist()[0], column.tolist()) == ([4, 4, 4], [2, 2, 2])
    for number in (9.0, 7.0):
        array = x.numpy()
        array[0, 1] = number
        del array
        assert (x * 2).tolist()[0] == [4, 2 * number, 4]
        assert (column.tolist(), x[0, 1].item()) == ([number, 2, 2], number)
        assert x.sum().item() == 16 + number
    assert doubled.tolist()[0] == [4, 4, 4]


@pytest.mark.parametrize("view", VIEWS)
def test_an_array_of_a_view_is_the_views_memory(view):
    base = gn.arange(24.0).reshape(2, 3, 4)
    shown = VIEWS[view](base)
    before = shown.clone().numpy()

    shown.numpy()[...] = -1.0

    assert (base == -1).sum() == len(np.unique(before))
    assert (shown == -1).all()


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([(1, 4), (5, 4), (9, 0)], set()),
        ([(1, 5), (5, 4), (10, 1)], {1, 5}),
        ([(1, 9), (2, 1), (4, 1), (10, 1)], {1, 2, 4}),
        ([(1, 4), (1, 4)], {1}),
        ([], set()),
    ],
)
def test_values_that_share_bytes(places, expected):
    values = [DeviceBuffer.foreign(start, size, None) for start, size in places]

    assert overlapping(values) == expected
    assert overlapping(reversed(values)) == expected


def second(tensor) -> np.ndarray:
    """The memory of a shared tensor as another process has it."""
    (shared, storage) = shared_of(tensor._storage), tensor._storage
    its = SharedMemory(os.dup(shared.file), shared.nbytes)
    bytes_ = (ctypes.c_char * its.nbytes).from_address(its.address)
    bytes_.owner = its
    return np.frombuffer(bytes_, storage.node.dtype.numpy).reshape(storage.node.shape)


def test_shared_memory_is_read_and_written_in_place():
    x = gn.arange(6.0).reshape(2, 3) + 1
    view, before = x[1], x.clone()
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert view.is_shared()
    assert not x.clone().is_shared()

    its = second(x)
    assert its.tolist() == before.tolist() == [[1, 2, 3], [4, 5, 6]]
    its[1, 0] = 9
    view[2] = 8
    x += 1
    assert x.tolist() == its.tolist() == [[2, 3, 4], [10, 6, 9]]
    assert view.tolist() == [10, 6, 9]
    assert before.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert x.share_memory_().is_shared()
    assert second(x).tolist() == its.tolist()


def test_compiled_code_and_optimizers_share_memory_too():
    layer = gn.nn.Linear(2, 1).share_memory()
    its = second(layer.weight)
    its[:] = 1
    compiled = gn.compile(lambda x: layer(x).sum())
    x = gn.ones(3, 2)
    assert compiled(x).item() == pytest.approx(6 + 3 * layer.bias.item())
    its[:] = 2
    assert compiled(x).item() == pytest.approx(12 + 3 * layer.bias.item())

    optimizer = gn.optim.SGD(layer.parameters(), lr=0.5)
    for step in (lambda: layer(x).sum(), lambda: compiled(x)):
        optimizer.zero_grad()
        step().backward()
        its[0, 0] = 5  # another process, between a gradient and a step
        optimizer.step()
        assert its[0, 0] == 3.5
        assert layer.weight[0, 0].item() == 3.5
    assert its[0, 1] == -1


def test_gradients_pass_what_was_shared_in_between():
    x = gn.ones(3, requires_grad=True)
    y = (x * x).sum()
    x.share_memory_()
    second(x)[:] = 7
    y.backward()

    assert x.grad.tolist() == [2, 2, 2]
    (x * x).sum().backward()
    assert x.grad.tolist() == [16, 16, 16]


def test_numbers_of_all_kinds_are_shared():
    for x in (gn.tensor(True), gn.zeros(0), gn.ones(2, dtype=gn.bfloat16), gn.tensor([1 + 2j])):
        kept = x.clone()
        assert x.share_memory_().is_shared()
        assert x.tolist() == kept.tolist()


def test_memory_is_not_moved_where_a_function_is_captured():
    with pytest.raises(TraceError, match="share_memory_ moves memory"):
        gn.compile(lambda x: x.share_memory_() + 1)(gn.ones(2))
    assert gn.compile(lambda x: x.share_memory_() + 1)(gn.ones(2).share_memory_()).tolist() == [
        2,
        2,
    ]
