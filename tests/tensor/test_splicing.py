"""Copies of tensors with other parts, and tensors of other sizes."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, AxisError, ShapeError


def test_elements_at_equal_distances_are_numpys():
    x = np.arange(12.0)

    made = gn.as_strided(gn.tensor(x), (2, 3), (1, 2), 1)

    step = x.itemsize
    wanted = np.lib.stride_tricks.as_strided(x[1:], (2, 3), (step, 2 * step))
    np.testing.assert_array_equal(made.numpy(), wanted)


def test_empty_vectors_are_laid_beside_each_other_along_any_axis():
    x = gn.zeros(0, requires_grad=True)

    made = gn.cat([x, gn.zeros(0)], dim=1)
    made.sum().backward()

    assert (made.shape, x.grad.shape) == ((0,), (0,))
    assert gn.cat([gn.zeros(0), gn.ones(2, 3)], dim=1).shape == (2, 3)
    with pytest.raises(AxisError, match="cat: no axis 1 in a tensor of 1 axes"):
        gn.cat([gn.ones(2), gn.ones(2)], dim=1)


LYING = [
    ((2, 3), (3, 1), 5),
    ((3, 2), (1, 4), 1),
    ((4, 3), (1, 1), 2),
    ((2, 3, 2), (5, 2, 1), 0),
    ((3,), (2,), 7),
    ((), (), 11),
    ((0, 3), (3, 1), 12),
    ((2, 1, 3), (0, 9, 3), 1),
]


@pytest.mark.parametrize(("size", "stride", "start"), LYING)
def test_it_is_a_view_of_the_storage_behind_any_part(size, stride, start):
    base, memory = gn.arange(12.0).reshape(3, 4), np.arange(12.0)
    part = base.t()[1:, ::2]
    steps = tuple(memory.itemsize * step for step in stride)
    shown = np.lib.stride_tricks.as_strided(memory[start:], size, steps)

    made = part.as_strided(size, stride, start)
    assert made.tolist() == shown.tolist()
    assert 0 in size or made.storage_offset() == start

    made.fill_(-1.0)
    shown[...] = -1.0
    assert base.reshape(-1).tolist() == memory.tolist()


@pytest.mark.parametrize(("size", "stride", "start"), LYING)
def test_the_gradient_of_an_element_is_the_sum_over_its_places(size, stride, start):
    x = gn.zeros(12, requires_grad=True)
    counts = np.zeros(12)
    places = np.asarray(start)
    for n, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(n) * step
    np.add.at(counts, places, 1)

    (x * 2).as_strided(size, stride, start).sum().backward()

    assert x.grad.tolist() == (2 * counts).tolist()


def test_places_that_a_storage_lacks_are_refused():
    for size, stride, start in [
        ((3,), (2,), 8),
        ((2,), (-1,), 3),
        ((2, 2), (1,), 0),
        ((1,), (1,), -1),
    ]:
        with pytest.raises(ArgumentError, match="as_strided: size"):
            gn.arange(12.0).as_strided(size, stride, start)


def test_a_part_is_replaced_and_gradients_pass_both_ways():
    x, y = gn.ones(2, 3, requires_grad=True), gn.ones(2, requires_grad=True)

    made = x.select_scatter(y * 5, 1, 1)
    made.sum().backward()

    assert made.tolist() == [[1, 5, 1]] * 2
    assert x.grad.tolist() == [[1, 0, 1]] * 2
    assert y.grad.tolist() == [5, 5]


def test_a_part_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match="slice_scatter: src must be"):
        gn.slice_scatter(gn.zeros(4), gn.ones(3), 0, 0, 2)
    with pytest.raises(ShapeError, match="sum_to_size"):
        gn.ones(2, 3).sum_to_size(2, 2)
    with pytest.raises(ShapeError, match="dsplit"):
        gn.dsplit(gn.ones(2, 3), 2)


def test_a_tensor_takes_another_size():
    x = gn.tensor([1.0, 2.0, 3.0])

    assert x.resize_(2, 2).tolist() == [[1, 2], [3, 0]]
    assert x.resize_as_(gn.zeros(2)).tolist() == [1, 2]
    assert x.new([1, 2]).dtype is gn.float32
    assert tuple(x.new(2, 3).shape) == (2, 3)
    assert x.new(gn.Size([2, 3])).shape == (2, 3)


def test_a_function_of_pythons_is_applied():
    x = gn.tensor([1.0, 2.0])

    assert x.apply_(lambda v: v + 1).tolist() == [2.0, 3.0]
    assert x.map_(gn.tensor([5.0, 6.0]), lambda a, b: b - a).tolist() == [3.0, 3.0]


def test_a_leaf_that_is_part_of_a_tensor_shows_its_own_elements():
    part = gn.arange(6.0)[2:5].detach().requires_grad_()
    (gn.as_strided(part, (), ()) * 3 + gn.as_strided(part, (2,), (2,)).sum()).backward()

    assert part.grad.tolist() == [4, 0, 1]
    for start in (0, 1, 4):
        with pytest.raises(ArgumentError, match="outside of a leaf"):
            gn.as_strided(part, (2,), (1,), start)
    assert gn.as_strided(part, (0,), (1,), 2).shape == (0,)


def test_of_a_leaf_whose_elements_are_no_neighbours_nothing_else_is_shown():
    column = gn.arange(6.0).reshape(3, 2)[:, 1].detach().requires_grad_()

    with pytest.raises(ArgumentError, match="Take a clone"):
        gn.as_strided(column, (1,), (1,))


def test_a_smaller_size_is_a_view_of_the_same_memory():
    x = gn.arange(6.0).clone()
    row = x[3:]

    x.resize_(2, 2)
    row[0] = 9

    assert x.tolist() == [[0, 1], [2, 9]]
    assert x.resize_(3, 3).tolist() == [[0, 1, 2], [9, 4, 5], [0, 0, 0]]


def test_a_size_may_come_with_a_memory_format():
    x, like = gn.randn(96), gn.randn(2, 3, 4, 4).contiguous(memory_format=gn.channels_last)

    x.resize_((2, 3, 4, 4), memory_format=gn.channels_last)

    assert x.is_contiguous(memory_format=gn.channels_last)
    assert gn.randn(96).resize_as_(like, memory_format=gn.preserve_format).stride() == x.stride()
    assert gn.randn(3, 2).t().resize_as_(gn.zeros(2, 3)).stride() == (1, 2)


def test_a_tensor_takes_another_memory_or_part_of_it():
    x, z = gn.arange(6.0).clone(), gn.zeros(0)

    z.set_(x.storage(), 1, (2, 2), (1, 2))
    z[0, 0] = 9

    assert z.tolist() == [[9, 3], [2, 4]]
    assert x[1].item() == 9
    assert gn.zeros(2).set_(x).shape == (6,)
    assert gn.zeros(2).set_().shape == (0,)
    assert gn.tensor([1 + 2j]).set_(gn.tensor([3j, 4j])).tolist() == [3j, 4j]
    assert x.as_strided_((2,), (3,)).tolist() == [0, 3]


@pytest.mark.parametrize("split", [gn.hsplit, gn.vsplit])
def test_parts_of_one_size_must_make_the_axis(split):
    with pytest.raises(ShapeError, match="Use tensor_split"):
        split(gn.ones(4, 4), 3)
    assert [tuple(x.shape) for x in gn.hsplit(gn.ones(2, 4), (1, 3))] == [(2, 1), (2, 2), (2, 1)]
