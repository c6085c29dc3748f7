"""Functions of sparse tensors, beside numpy's of the dense arrays."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, ShapeError

SIZES = [(4, 3, 7), (4, 3, 0), (1, 5, 1), (6, 1, 9), (0, 3, 0), (3, 0, 0)]
"""Rows, columns and values, some at one position."""


def given(n: int, m: int, count: int, seed: int = 0):
    """A sparse tensor, and the same dense array."""
    random = np.random.default_rng(seed)
    places = np.stack([random.integers(0, max(k, 1), count) for k in (n, m)])
    values = random.standard_normal(count, np.float32)
    dense = np.zeros((n, m), np.float32)
    np.add.at(dense, tuple(places), values)
    return gn.sparse_coo_tensor(gn.tensor(places), gn.tensor(values), (n, m)), dense


def close(ours, theirs) -> None:
    """Whether a tensor, dense or sparse, is an array."""
    ours = ours.to_dense() if ours.layout != "strided" else ours
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    "call",
    [
        *(lambda s: s.coalesce(), lambda s: s + s, lambda s: s - s * 3, lambda s: s / 2),
        *(lambda s: s.coalesce() + s.coalesce(), lambda s: -s, lambda s: abs(s), lambda s: s**2),
    ],
)
def test_elements(call, sizes):
    s, x = given(*sizes)
    close(call(s), call(Array(x)).array)


class Array:
    """A dense array with a sparse tensor's operators."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def coalesce(self):
        return self

    def __add__(self, other):
        return Array(self.array + other.array)

    def __sub__(self, other):
        return Array(self.array - other.array)

    def __mul__(self, number):
        return Array(self.array * number)

    def __truediv__(self, number):
        return Array(self.array / number)

    def __neg__(self):
        return Array(-self.array)

    def __abs__(self):
        return Array(abs(self.array))

    def __pow__(self, power):
        return Array(self.array**power)


@pytest.mark.parametrize("sizes", SIZES)
def test_products(sizes):
    s, x = given(*sizes)
    random = np.random.default_rng(1)
    right, left = random.random((sizes[1], 2), np.float32), random.random((2, sizes[0]), np.float32)
    close(s @ gn.tensor(right), x @ right)
    close(gn.mm(s, gn.tensor(right)), x @ right)
    close(gn.tensor(left) @ s, left @ x)
    close(s @ gn.tensor(right[:, 0]), x @ right[:, 0])
    close(gn.tensor(left[0]) @ s, left[0] @ x)
    close(gn.sparse.mm(s, s.t()), x @ x.T)
    close(s.t().coalesce() @ s, x.T @ x)
    close(gn.addmm(gn.ones(sizes[0], 2), s, gn.tensor(right), beta=2, alpha=3), 2 + 3 * (x @ right))


@pytest.mark.parametrize("sizes", SIZES)
def test_sums(sizes):
    s, x = given(*sizes)
    close(s.sum(), x.sum())
    for dim in (0, 1, -1):
        close(gn.sparse.sum(s, dim), x.sum(dim))
        close(s.sum(dim, keepdim=True), x.sum(dim, keepdims=True))
    close(gn.sparse.sum(s, (0, 1)), x.sum())
    close(gn.sparse.sum(s, dtype=gn.float64), x.sum())


@pytest.mark.parametrize("sizes", SIZES)
def test_products_with_elements_of_others(sizes):
    (s, x), (t, y) = given(*sizes), given(*sizes, seed=1)
    close(s * gn.tensor(y), x * y)
    close(gn.tensor(y) * s, x * y)
    close(s * t, x * y)
    close(gn.tensor(y).sparse_mask(s.coalesce()), np.where(s.coalesce().bool().to_dense(), y, 0))
    close(gn.tensor(y) + s, x + y)
    close(gn.tensor(y) - s, y - x)
    z = gn.tensor(y)
    z += s
    close(z, x + y)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_shares_of_values(dim):
    s, x = given(5, 4, 9)
    there = s.coalesce().bool().to_dense().numpy()
    powers = np.where(there, np.exp(x), 0)
    total = powers.sum(dim, keepdims=True)
    shares = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
    close(gn.sparse.softmax(s, dim), shares)
    close(gn.sparse.log_softmax(s, dim), np.log(shares, out=np.zeros_like(shares), where=there))
    assert gn.sparse.softmax(s, dim, dtype=gn.float64).dtype is gn.float64


def test_large_values_have_shares():
    s = gn.tensor([[1e4, 1e4], [-1e4, 0.0]]).to_sparse()
    assert gn.sparse.softmax(s, 1).values().tolist() == [0.5, 0.5, 1.0]


def test_dense_axes_of_values():
    random = np.random.default_rng(0)
    values = random.random((3, 2), np.float32)
    s = gn.sparse_coo_tensor([[0, 1, 0], [2, 0, 2]], gn.tensor(values), (2, 3, 2))
    dense = np.zeros((2, 3, 2), np.float32)
    np.add.at(dense, ([0, 1, 0], [2, 0, 2]), values)
    assert (s.sparse_dim(), s.dense_dim()) == (2, 1)
    close(s.coalesce(), dense)
    close(s.sum(2), dense.sum(2))
    close(gn.sparse.sum(s, (1, 2)), dense.sum((1, 2)))
    close(gn.sparse.sum(s, (0, 1)), dense.sum((0, 1)))
    close(s.transpose(0, 1), dense.transpose(1, 0, 2))
    with pytest.raises(ArgumentError, match="transpose: a sparse tensor does not fit"):
        s.transpose(1, 2)
    with pytest.raises(ShapeError, match="matmul: needs matrices"):
        s @ gn.ones(2, 2)


def test_concatenations():
    (s, x), (t, y) = given(4, 3, 5), given(4, 3, 2, seed=1)
    close(gn.cat([s, t]), np.concatenate([x, y]))
    close(gn.cat([s, t, s], dim=1), np.concatenate([x, y, x], 1))


def test_numbers_are_written_into_values():
    s, x = given(4, 3, 5)
    assert s.mul_(2).div_(4) is s
    close(s, x / 2)


def test_functions_that_keep_0_add_up_before_they_are_applied():
    s = gn.sparse_coo_tensor([[0, 0]], [3.0, 1.0], (2,))
    assert s.sqrt().to_dense().tolist() == [2.0, 0.0]
    assert gn.nn.functional.relu(-s).to_dense().tolist() == [0.0, 0.0]


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="matmul: needs matrices"):
        given(4, 3, 5)[0] @ gn.ones(4, 2)
    with pytest.raises(ShapeError, match="add: sizes differ"):
        given(4, 3, 5)[0] + given(3, 4, 5)[0]


def test_positions_outside_are_refused():
    s = gn.sparse_coo_tensor([[0], [5]], [1.0], (2, 3))
    with pytest.raises(IndexError):
        (s @ gn.ones(3, 1)).tolist()
    s = gn.sparse_coo_tensor([[5], [0]], [1.0], (2, 3))
    with pytest.raises(IndexError):
        (s @ gn.ones(3, 1)).tolist()
    for places in ([[5], [0]], [[0], [5]], [[-1], [0]]):
        s = gn.sparse_coo_tensor(places, [1.0], (2, 3))
        for call in (lambda s: s.to_dense(), lambda s: s.coalesce().values()):
            with pytest.raises(IndexError):
                call(s).tolist()


def test_bits_depend_on_no_thread_and_no_compilation():
    s, _ = given(40, 30, 4000)
    d = gn.tensor(np.random.default_rng(2).standard_normal((30, 8), np.float32))
    found = []
    before = gn.get_num_threads()
    try:
        for threads in (1, 2):
            gn.set_num_threads(threads)
            found += [s @ d, gn.compile(lambda a, b: a @ b)(s, d)]
    finally:
        gn.set_num_threads(before)
    assert all(x.numpy().tobytes() == found[0].numpy().tobytes() for x in found)
