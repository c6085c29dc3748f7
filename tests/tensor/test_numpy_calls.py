"""numpy's functions take tensors: elementwise ones give tensors, others what numpy gives."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors.numpy

import gnomon as gn
from gnomon.errors import GradientError

T = gn.tensor([1.0, 4.0, 2.0, 0.0])
A = T.numpy().copy()

ELEMENTS = (
    *(np.exp, np.sqrt, np.abs, np.isnan, np.isfinite, np.log1p, np.sign, np.floor, np.negative),
    *(lambda x: np.add(x, 1), lambda x: np.maximum(x, 1.5), lambda x: np.power(x, [2, 1, 0, 1])),
    lambda x: np.arctan2(np.ones(4, np.float32), x),
)
METHODS = (
    *(np.mean, np.sum, np.max, np.min, np.prod, np.std, np.var, np.argmax, np.any, np.all),
    *(np.cumsum, np.argsort, np.squeeze, np.transpose, np.round),
    *(lambda x: np.clip(x, 0, 2), lambda x: np.mean(x, axis=0), lambda x: np.reshape(x, (2, 2))),
    *(lambda x: np.sum(x, axis=0, keepdims=True), lambda x: np.std(x, ddof=1)),
    lambda x: np.repeat(x, 2),
)
OTHERS = (
    *(np.sort, np.unique, np.median, np.linalg.norm, np.size, np.shape, np.ndim, np.flip),
    *(lambda x: np.concatenate([x, x]), lambda x: np.stack([x, x]), lambda x: np.dot(x, x)),
    *(lambda x: np.where(x > 1, x, 0), lambda x: np.percentile(x, 50), lambda x: np.allclose(x, x)),
    *(lambda x: np.expand_dims(x, 0), lambda x: np.tile(x, 2), lambda x: np.histogram(x)[0]),
    *(lambda x: np.multiply.outer(x, x), lambda x: np.add(x, x, out=np.zeros(4, np.float32))),
)


@pytest.mark.parametrize("function", [*ELEMENTS, *METHODS])
def test_functions_of_elements_and_methods_give_a_tensor_of_numpys_values(function):
    found, wanted = function(T), np.asarray(function(A))

    assert isinstance(found, gn.Tensor)
    assert found.numpy().dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("function", OTHERS)
def test_other_functions_give_what_numpy_gives(function):
    found, wanted = function(T), function(A)

    assert type(found) is type(wanted)
    np.testing.assert_array_equal(found, wanted)


def test_operators_beside_arrays_and_numbers_are_the_tensor_s_with_their_gradients():
    x = gn.tensor([1.0, 2.0], requires_grad=True)
    array = np.array([3.0, 5.0], np.float32)

    for made in (array * x, np.multiply(array, x), np.float64(3) * x, array @ x):
        assert isinstance(made, gn.Tensor)
        assert made.dtype is gn.float32
        assert made.requires_grad
    (array - x).sum().backward()
    assert x.grad.tolist() == [-1, -1]
    assert (array < x).tolist() == [False, False]
    assert np.add(T, [1, 2, 3, 4]).tolist() == [2, 6, 5, 4]


def test_an_array_takes_a_tensor_in_place():
    array = np.ones(4)
    array += T

    assert array.tolist() == [2, 5, 3, 1]
    np.add(T, 1, out=array)
    assert array.tolist() == [2, 5, 3, 1]


def test_writes_of_numpy_s_functions_reach_the_tensor():
    x = gn.zeros(2, 2)
    np.fill_diagonal(x, 3.0)
    np.copyto(x[0], np.array([5.0, 6.0], np.float32))

    assert x.tolist() == [[5, 6], [0, 3]]


def test_a_failure_that_is_kept_is_told_to_nobody_else():
    with pytest.raises(gn.errors.LinAlgError) as kept:
        gn.linalg.solve_ex(gn.zeros(2, 2), gn.ones(2), check_errors=True)
    x = gn.zeros(2, 2)
    np.fill_diagonal(x, 3.0)

    assert x.tolist() == [[3, 0], [0, 3]]
    assert gn.zeros(2, 2).tolist() == [[0, 0], [0, 0]]
    assert kept.tb is not None


@pytest.mark.parametrize(
    "function",
    [
        *(np.exp, np.mean, np.clip, np.asarray, np.add.reduce),
        *(lambda x: np.concatenate([x, x]), lambda x: np.dot(x, x), lambda x: np.array([x, x])),
        lambda x: np.testing.assert_equal(x, x),
    ],
)
def test_what_has_a_gradient_is_not_taken_for_numbers_without_a_word(function):
    with pytest.raises(GradientError, match=r"Use tensor\.detach\(\)\.numpy\(\)"):
        function(gn.ones(2, requires_grad=True))


def test_sizes_of_what_has_a_gradient_are_known():
    x = gn.ones(2, 3, requires_grad=True)

    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)


def test_memory_is_shared_both_ways_and_saved_by_others():
    x = gn.arange(6.0).reshape(2, 3)
    array, column = x.numpy(), x.T.numpy()
    array[0, 0] = 9
    x[1, 1] = 7
    column[2, 0] = 5

    assert x.tolist() == [[9, 1, 5], [3, 7, 5]] == array.tolist()
    kept = safetensors.numpy.load(safetensors.numpy.save({"x": x.numpy()}))
    np.testing.assert_array_equal(kept["x"], array)


def test_numpy_s_dtypes_are_ours():
    assert gn.float32 == np.float32
    assert T.numpy().dtype == np.float32
    assert gn.int64 == np.dtype("int64")
    assert gn.bool == np.bool_
    assert np.float64 != gn.float32
    assert gn.float32 != np.generic
    assert gn.float32 != "float32"
    assert {gn.float32: 1}[gn.float32] == 1


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([np.float64(1)], gn.float64),
        ([np.ones(2), np.ones(2)], gn.float64),
        ([np.ones(2, np.float32)], gn.float32),
        ([np.float16(1)], gn.float16),
        ([np.float32(1), np.float64(1)], gn.float64),
        ([[1, 2], np.ones(2)], gn.float64),
        ([np.float16(1), 2.0], gn.float32),
        ([np.int32(1)], gn.int32),
        ([1.0, 2], gn.float32),
        ([], gn.float32),
    ],
)
def test_numpy_s_values_in_lists_keep_their_dtype(values, dtype):
    assert gn.tensor(values).dtype is dtype
    assert gn.as_tensor(values).dtype is dtype
