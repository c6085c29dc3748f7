"""Tensors to numbers, lists, arrays, other dtypes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, GradientError, ShapeError


def test_one_element_is_a_number():
    assert gn.tensor([2.5]).item() == float(gn.tensor(2.5)) == 2.5
    assert int(gn.tensor(-2.5)) == math.trunc(-2.5)
    assert [10, 20][gn.tensor(1)] == 20
    assert f"{gn.tensor(0.125):.1%}" == "12.5%"
    assert bool(gn.tensor([[1]]))


@pytest.mark.parametrize("number", [0.1, -3, True, 1e-9, float("inf"), 1 + 2j])
def test_one_element_alone_is_formatted_as_its_number(number):
    x = gn.tensor(number)
    assert f"{x}" == f"{x.item()}"
    assert f"{x.requires_grad_() if x.is_floating_point() else x:>8}" == f"{x.item():>8}"
    assert f"{gn.tensor([number])}" == str(gn.tensor([number]))


def test_a_parameter_and_what_has_no_value_are_formatted_as_printed():
    p = gn.nn.Parameter(gn.tensor(1.5))
    assert f"{p}" == str(p)
    absent = gn.empty((), device="meta")
    assert f"{absent}" == str(absent)


def test_several_elements_are_not():
    with pytest.raises(ArgumentError, match="2 elements cannot be converted"):
        gn.ones(2).item()
    with pytest.raises(ArgumentError, match="ambiguous"):
        bool(gn.ones(2))
    with pytest.raises(TypeError):
        range(10)[gn.tensor(1.0)]


def test_numpy_shares_memory_and_writes_are_seen():
    x = gn.zeros(3)
    pending = x + 1

    x.numpy()[0] = 5

    assert x.tolist() == [5.0, 0.0, 0.0]
    assert pending.tolist() == [1.0, 1.0, 1.0]
    assert np.asarray(x) is not None
    assert np.shares_memory(np.asarray(x), x.numpy())


def test_numpy_asks_for_detach_when_gradients_are_wanted():
    x = gn.ones(2, requires_grad=True)

    with pytest.raises(GradientError, match="detach"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1.0, 1.0]
    with gn.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "dtype"), [("double", gn.float64), ("long", gn.int64), ("bool", gn.bool)]
)
def test_casts_by_name(name, dtype):
    assert getattr(gn.tensor([0.0, 2.5]), name)().dtype is dtype


def test_to_takes_dtypes_tensors_and_devices_in_any_order():
    x = gn.ones(2)

    assert x.to("cpu") is x
    assert x.to("cpu", gn.float64).dtype is gn.float64
    assert x.to(gn.arange(2)).dtype is x.type_as(gn.arange(2)).dtype is gn.int64
    assert x.to(gn.float32, copy=True) is not x


def test_values_are_written_in_place():
    x = gn.zeros(2, 2)

    x[0].copy_(gn.tensor([1, 2]))
    x[1].fill_(7)

    assert x.tolist() == [[1.0, 2.0], [7.0, 7.0]]


def test_only_matrices_have_h():
    assert gn.ones(2, 3).H.shape == (3, 2)
    assert gn.tensor(1.0).H.shape == ()
    with pytest.raises(ShapeError, match="H: needs a matrix"):
        _ = gn.ones(2, 3, 4).H


def test_the_diagonal_is_where_all_positions_are_equal():
    cube, tall = gn.zeros(3, 3, 3).fill_diagonal_(1), gn.zeros(9, 3).fill_diagonal_(1, wrap=True)

    assert cube.nonzero().tolist() == [[k] * 3 for k in range(3)]
    assert tall.sum(1).tolist() == [1, 1, 1, 0, 1, 1, 1, 0, 1]
    assert gn.zeros(5, 3).fill_diagonal_(1).sum().item() == 3


def test_of_complex_numbers_real_ones_are_copied():
    with pytest.warns(UserWarning, match="imaginary part"):
        assert gn.zeros(2).copy_(gn.tensor([1 + 2j, 3j])).tolist() == [1, 0]


def test_every_tensor_is_dense():
    x = gn.ones(2)

    assert x.to_dense() is x
    assert x.to_dense(gn.float64).dtype is gn.float64


def test_to_knows_its_words_and_refuses_others():
    x, like = gn.ones(2), gn.ones(1, dtype=gn.float64)

    assert x.to(other=like).dtype is gn.float64
    assert gn.compile(lambda x, y: x.to(other=y))(x, like).dtype is gn.float64
    assert x.to(gn.float32, False, True) is not x
    assert x.to(gn.float32, True) is x
    with pytest.raises(TypeError, match="dtyp"):
        x.to(dtyp=gn.float64)


def test_one_number_is_formatted_as_a_number():
    x, y = gn.tensor(3), gn.tensor(2.5, requires_grad=True)

    assert f"{x} {y} {y * 2} {gn.tensor(True)} {gn.tensor(1j)}" == "3 2.5 5.0 True 1j"
    assert f"{y:.2f} {x:3d}" == "2.50   3"
    assert f"{gn.ones(1)} {x!s} {x!r}" == "Tensor([1.]) Tensor(3) Tensor(3)"
    assert f"{gn.zeros((), device='meta')}" == "Tensor(..., device='meta', size=())"
    assert f"{gn.nn.Parameter(gn.tensor(1.5))}".startswith("Parameter(1.5")


def test_a_dtypes_older_class_is_its_type():
    assert gn.ones(1).type() == "gnomon.FloatTensor"
    assert gn.ones(1, dtype=gn.bfloat16).type() == "gnomon.BFloat16Tensor"
    assert gn.ones(1).type(gn.int64).type() == "gnomon.LongTensor"


def test_only_numbers_and_tensors_may_be_in_a_tensor():
    x = gn.tensor([1.0, 2.0])

    assert 2 in x
    assert np.float32(2) in x
    assert gn.tensor(3.0) not in x
    with pytest.raises(RuntimeError, match=r"Tensor.__contains__ only supports Tensor or scalar"):
        assert "lr" in x
