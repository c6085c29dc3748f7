"""Tensors of one number where an operation takes Python's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon.errors import ArgumentError
from gnomon.tensor.read_numbers import leaves, read

ONE, TWO, THREE = (gn.tensor(n) for n in (1, 2, 3))
X = gn.arange(12.0).reshape(3, 4)
PLACES = gn.tensor([0, 2, 1])
CALLS = {
    "a size": (lambda n: X.view(n, -1), THREE),
    "a size of several": (lambda n: gn.reshape(X, (n, 4)), THREE),
    "a size by name": (lambda n: F.one_hot(PLACES, num_classes=n), THREE),
    "sizes behind the first": (lambda n: X[:, :1].expand(3, n), THREE),
    "repetitions": (lambda n: X.repeat(1, n), TWO),
    "a count": (lambda n: X.topk(n)[0], TWO),
    "a count by name": (lambda n: gn.topk(X, k=n, dim=1)[1], TWO),
    "an axis": (lambda n: X.sum(n), ONE),
    "an axis by name": (lambda n: X.softmax(dim=n), ONE),
    "several axes": (lambda n: X.permute(n, 0), ONE),
    "an axis of a list": (lambda n: gn.cat([X, X], n), ONE),
    "an axis of a pair": (lambda n: X.sort(n)[0], ONE),
    "parts": (lambda n: X.split(n)[1], TWO),
    "a shift": (lambda n: X.roll(n, 0), TWO),
    "a diagonal": (lambda n: X.triu(n), ONE),
    "a pad": (lambda n: F.pad(X, (n, 0)), TWO),
    "a size of pixels": (lambda n: F.interpolate(X[None], size=n), TWO),
    "a window": (lambda n: F.max_pool1d(X[None], n), TWO),
    "a view's place": (lambda n: X.select(0, n), ONE),
    "a number of groups": (lambda n: F.group_norm(X[None], n), THREE),
    "memory": (lambda n: X.as_strided((n, 2), (1, n)), THREE),
    "a permutation": (lambda n: gn.randperm(n).sort()[0], THREE),
    "a triangle": (lambda n: gn.tril_indices(n, n), THREE),
    "angles": (lambda n: gn.hann_window(n), THREE),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [gn.int64, gn.int32, gn.uint8])
def test_a_tensor_of_one_integer_is_that_integer(name, dtype):
    call, number = CALLS[name]
    wanted, found = call(int(number)), call(number.to(dtype))
    assert found.shape == wanted.shape
    assert all(type(n) is int for n in found.shape)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_numbers_of_numpy_are_numbers_too():
    n = np.int64(3)
    assert gn.tril_indices(n, n).shape == (2, 6)
    assert gn.hann_window(n).shape == gn.randperm(n).shape == (3,)


def test_a_tensor_of_one_number_is_a_rate():
    rate = gn.tensor(0.5)
    np.testing.assert_array_equal(F.leaky_relu(-X, rate).numpy(), F.leaky_relu(-X, 0.5).numpy())
    np.testing.assert_array_equal(X.norm(gn.tensor(2.0)).numpy(), X.norm(2.0).numpy())


@pytest.mark.parametrize(
    "number", [gn.tensor(2.0), gn.tensor(True), gn.tensor([2]), gn.tensor([2, 2])]
)
def test_other_tensors_are_no_integers(number):
    with pytest.raises((ArgumentError, TypeError)):
        X.topk(number)


def test_tensors_stay_where_tensors_are_taken():
    assert read("Operand", ONE) is ONE
    assert read("Sequence[Node]", [X, ONE])[1] is ONE
    given = (1, 2)
    assert read("Sizes", given) is given
    assert leaves("int | Sequence[int | None]") == {"int", "None"}


def test_gradients_flow_through_a_call_of_such_numbers():
    x = X.clone().requires_grad_(True)
    x.repeat(TWO, ONE).sum(ONE).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((3, 4), 2.0))


def test_a_captured_function_reads_them_as_int_does():
    double = gn.compile(lambda x, n: x.view(n, -1) * 2)
    np.testing.assert_array_equal(double(X, TWO).numpy(), X.numpy().reshape(2, 6) * 2)
    np.testing.assert_array_equal(double(X, THREE).numpy(), X.numpy().reshape(3, 4) * 2)
