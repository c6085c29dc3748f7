"""New tensors: dtypes that follow from values, copies and shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], gn.int64),
        ([1, 2.0], gn.float32),
        ([True], gn.bool),
        ([], gn.float32),
        (np.float64(1), gn.float64),
        (np.zeros(2, np.int16), gn.int16),
        (2.5, gn.float32),
    ],
)
def test_a_dtype_follows_from_the_values(values, dtype):
    assert gn.tensor(values).dtype is dtype


def test_the_default_dtype_can_be_changed():
    gn.set_default_dtype(gn.float64)
    try:
        assert gn.tensor([0.5]).dtype is gn.ones(2).dtype is gn.float64
    finally:
        gn.set_default_dtype(gn.float32)


def test_tensor_copies_and_from_numpy_shares():
    array = np.zeros(2, np.float32)
    copied, shared = gn.tensor(array), gn.from_numpy(array)

    array[0] = 1

    assert copied.tolist() == [0.0, 0.0]
    assert shared.tolist() == [1.0, 0.0]
    assert gn.as_tensor(shared) is shared


def test_nested_lists_may_hold_tensors():
    assert gn.tensor([[gn.tensor(1.0), 2.0]]).tolist() == [[1.0, 2.0]]


def test_ranges():
    assert gn.arange(3).tolist() == [0, 1, 2]
    assert gn.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert gn.arange(0, 1, 0.25).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert gn.linspace(0, 1, 3).tolist() == gn.linspace(0, end=1, steps=3).tolist()


def test_constants_in_shapes_of_several_spellings():
    assert gn.zeros(2, 3).shape == gn.zeros((2, 3)).shape == gn.zeros(size=(2, 3)).shape == (2, 3)
    assert gn.full((2,), True).dtype is gn.bool
    assert gn.full_like(gn.ones(2, dtype=gn.int8), 7).tolist() == [7, 7]
    assert gn.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_new_tensors_take_after_another():
    x = gn.ones(2, dtype=gn.float64)

    assert x.new_zeros(3).dtype is x.new_tensor([1]).dtype is gn.float64
    assert gn.zeros_like(x, dtype=gn.int8).dtype is gn.int8


def test_one_value_in_the_shape_of_another_may_be_a_leaf():
    leaf = gn.full_like(gn.ones(3, dtype=gn.float64), 2.0, requires_grad=True)

    (leaf * leaf).sum().backward()

    assert leaf.dtype is gn.float64
    assert leaf.grad.tolist() == [4, 4, 4]
    assert not gn.full_like(leaf, 2.0).requires_grad


def test_triangles_of_positions():
    assert gn.tril_indices(2, 3).tolist() == np.stack(np.tril_indices(2, 0, 3)).tolist()
    assert gn.triu_indices(2, 3, 1).tolist() == np.stack(np.triu_indices(2, 1, 3)).tolist()


def test_what_no_tensor_holds_is_refused():
    with pytest.raises(DtypeError, match="complex"):
        gn.tensor([1j], dtype=gn.float32)
    with pytest.raises(ArgumentError, match="too many kinds"):
        gn.tensor(["a"])
    with pytest.raises(DtypeError, match=r"from_numpy: no tensor holds"):
        gn.from_numpy(np.array(["a"]))


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_empty"])
def test_a_device_that_is_not_here_is_refused_by_relatives_of_a_tensor(name):
    x = gn.zeros(2)

    with pytest.raises(
        ArgumentError, match=r"device: this machine computes on the CPU: got 'cuda'"
    ):
        getattr(x, name)(3, device="cuda")
    with pytest.raises(
        ArgumentError, match=r"device: this machine computes on the CPU: got 'cuda'"
    ):
        x.new_full((3,), 1.0, device="cuda")


def test_a_list_of_tensors_has_their_dtype():
    short, double = gn.tensor(1, dtype=gn.int16), gn.tensor(1.0, dtype=gn.float64)

    assert gn.tensor([short, short]).dtype is gn.int16
    assert gn.tensor([[double], [short]]).dtype is gn.float64
    assert gn.tensor([short, 2]).dtype is gn.int64
    assert gn.tensor([short, 2.5]).dtype is gn.float32
    assert gn.tensor([short, double], dtype=gn.float32).dtype is gn.float32


def test_numbers_of_numpy_are_numbers():
    three, half = np.int64(3), np.float32(0.5)
    assert (
        gn.arange(three).tolist()
        == gn.arange(np.int32(0), three, np.uint8(1)).tolist()
        == [0, 1, 2]
    )
    assert gn.arange(three).dtype is gn.full((2,), three).dtype is gn.int64
    assert gn.full((2,), half).tolist() == gn.zeros(2).new_full((2,), half).tolist() == [0.5, 0.5]
    assert gn.full((2,), half).dtype is gn.float32
    assert gn.full((1,), np.bool_(True)).dtype is gn.bool
    assert gn.linspace(half, three, three).tolist() == [0.5, 1.75, 3.0]
    assert gn.eye(three, np.int16(2)).shape == (3, 2)
    assert gn.arange(half, 2).dtype is gn.float32
    assert gn.logspace(np.float64(0), three, np.int64(2)).tolist() == [1.0, 1000.0]


def test_the_default_dtype_is_set_by_pytorchs_word():
    before = gn.get_default_dtype()
    gn.set_default_dtype(d=gn.float64)
    try:
        assert gn.ones(1).dtype is gn.float64
    finally:
        gn.set_default_dtype(before)
