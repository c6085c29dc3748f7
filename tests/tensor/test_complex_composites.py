"""Composite functions of complex numbers, beside numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

RNG = np.random.default_rng(3)


def drawn(*shape: int) -> np.ndarray:
    """Complex normal numbers."""
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


X, Y, Z, V = drawn(3, 5), drawn(3, 5), drawn(3, 5), drawn(4)
REAL, COUNTS = RNG.random(5), np.array([1, 2, 1, 3, 1])
CASES = {
    "lerp": ((X, Y, 0.25), X + 0.25 * (Y - X)),
    "lerp from the far side": ((X, Y, 0.75), X + 0.75 * (Y - X)),
    "lerp by a tensor": ((X, Y, Z), X + Z * (Y - X)),
    "addcmul": ((X, Y, Z), X + Y * Z),
    "addcdiv": ((X, Y, Z), X + Y / Z),
    "dist": ((X, Y), np.linalg.norm(X - Y)),
    "dist to real numbers": ((X, REAL, 1), np.abs(X - REAL).sum()),
    "float_power": ((X, 2), X**2),
    "float_power of a real number": ((REAL, V[0]), REAL ** V[0]),
    "trapezoid": ((X,), np.trapezoid(X)),
    "trapezoid of places": ((X, REAL), np.trapezoid(X, REAL)),
    "trapezoid of complex places": ((X, drawn(5)), None),
    "cov": ((X,), np.cov(X)),
    "cov of one variable": ((V,), np.cov(V)),
    "corrcoef": ((X,), np.corrcoef(X)),
    "corrcoef of one variable": ((V,), np.corrcoef(V)),
    "vander": ((V, 3), np.vander(V, 3)),
    "vander of no powers": ((V, 0), np.vander(V, 0)),
    "vander from the zeroth power": ((V, 3, True), np.vander(V, 3, True)),
    "cartesian_prod": ((V, REAL), None),
    "block_diag": ((X, REAL[None], V[:, None]), None),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_numpys(case):
    given, wanted = CASES[case]
    name = case.split(" ")[0]
    function = getattr(gn, name)

    made = function(*[gn.asarray(x) if isinstance(x, np.ndarray) else x for x in given]).numpy()

    if name == "trapezoid" and wanted is None:
        wanted = np.trapezoid(X, given[1])
    if name == "cartesian_prod":
        wanted = np.array([(v, r) for v in V for r in REAL])
    if name == "block_diag":
        wanted = np.zeros((8, 11), complex)
        wanted[:3, :5], wanted[3, 5:10], wanted[4:, 10] = X, REAL, V
    assert made.dtype == np.asarray(wanted).dtype
    assert made.shape == np.shape(wanted)
    np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("count", [-1, 1 << 40])
def test_powers_of_complex_numbers_are_as_many_as_those_of_real_ones(count):
    for x in (V, REAL):
        with pytest.raises(ArgumentError, match="vander: gives 0 to 65536 powers"):
            gn.vander(gn.asarray(x), count)


def test_covariances_of_weighted_columns():
    made = gn.cov(
        gn.asarray(X), correction=0, fweights=gn.asarray(COUNTS), aweights=gn.asarray(REAL)
    )

    np.testing.assert_allclose(
        made.numpy(), np.cov(X, ddof=0, fweights=COUNTS, aweights=REAL), rtol=1e-12
    )


@pytest.mark.parametrize("size", [(3, 5), (1, 1), (0, 2)])
def test_a_spread_comes_with_the_mean(size):
    x = gn.asarray(X[: size[0], : size[1]])

    for name, spread in (("var_mean", gn.Tensor.var), ("std_mean", gn.Tensor.std)):
        found, middle = getattr(gn, name)(x, 1, correction=0)
        assert found.dtype is gn.float64
        np.testing.assert_array_equal(found.numpy(), spread(x, 1, correction=0).numpy())
        np.testing.assert_array_equal(middle.numpy(), x.mean(1).numpy())


def test_shapes_of_others_are_taken_whatever_they_hold():
    z, real = gn.ones(2, 3, dtype=gn.complex64), gn.arange(6.0)

    assert z.reshape_as(real).shape == (6,)
    assert real.view_as(z).shape == (2, 3)
    assert real[:3].expand_as(z).dtype is gn.float32
    assert z[0].expand_as(z).shape == (2, 3)
    shown = z.view_as(gn.ones(3, 2, dtype=gn.complex128))
    shown[0] = 5j
    assert z[0].tolist() == [5j, 5j, 1]


def test_gradients_pass():
    x = gn.asarray(X).requires_grad_()
    y = gn.asarray(Y)

    assert gn.autograd.gradcheck(lambda x: gn.lerp(x, y, 0.25), x)
    assert gn.autograd.gradcheck(lambda x: gn.cov(x), x)
    assert gn.autograd.gradcheck(lambda x: gn.addcdiv(y, y, x), x)


def test_normal_numbers_have_their_variance():
    gn.manual_seed(0)
    z = gn.empty(20000, dtype=gn.complex64).normal_(1.0, 3.0)

    assert abs(z.mean().item() - 1) < 0.1
    assert abs(z.std().item() - 3) < 0.1
    assert abs(z.real.std().item() - 3 / 2**0.5) < 0.1


INTEGERS = np.array([-3, -1, 0, 2, 3])


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float64])
@pytest.mark.parametrize("number", [0.5j, 2.2 - 1.6j, -2 + 0j])
def test_a_complex_number_to_real_powers(number, kind):
    wanted = number ** INTEGERS.astype(complex)

    made = number ** gn.asarray(INTEGERS.astype(kind))

    assert made.dtype is (gn.complex128 if kind is np.float64 else gn.complex64)
    np.testing.assert_allclose(made.numpy(), wanted, rtol=2e-6, atol=1e-7)


def test_powers_of_nothing_are_those_of_numpy():
    base, powers = np.zeros(5, complex), np.array([0, 2, -1, 1j, 1 + 1j])
    with np.errstate(all="ignore"):
        wanted = base**powers

    made = gn.asarray(base) ** gn.asarray(powers)

    np.testing.assert_array_equal(made.numpy(), wanted)
    assert (0j ** gn.tensor([2, 0])).tolist() == [0, 1]


def test_a_quotient_by_a_complex_nothing_is_complex():
    made = gn.tensor([1, 2]) / 0j

    assert made.dtype is gn.complex64
    assert made.real.isinf().all()
    assert (gn.tensor([1 + 1j]) / 0j).imag.isinf().all()


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic_takes_what_is_not_0(name):
    x, y = np.array([0, 1j, 0, 2]), np.array([0, 0, 3, -1])

    for kind in (complex, int):
        found = getattr(gn, name)(gn.asarray(x), gn.asarray(y.astype(kind)))
        assert found.tolist() == getattr(np, name)(x, y).tolist()
        swapped = getattr(gn, name)(gn.asarray(y.astype(kind)), gn.asarray(x))
        assert swapped.tolist() == found.tolist()
