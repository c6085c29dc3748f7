"""gn.special: its names, and polynomials."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

SERIES = {
    "chebyshev_polynomial_t": np.polynomial.Chebyshev,
    "hermite_polynomial_h": np.polynomial.Hermite,
    "hermite_polynomial_he": np.polynomial.HermiteE,
    "laguerre_polynomial_l": np.polynomial.Laguerre,
    "legendre_polynomial_p": np.polynomial.Legendre,
}


@pytest.mark.parametrize("name", SERIES)
def test_polynomials_are_numpys(name):
    x = np.linspace(-1.5, 2, 7)

    for n in (0, 1, 2, 5, 9):
        made = getattr(gn.special, name)(gn.tensor(x), n)
        wanted = SERIES[name].basis(n)(x)
        np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_each_element_has_its_degree():
    x, n = gn.tensor([0.3, 0.3, 0.3]), gn.tensor([0, 2, -1])

    made = gn.special.shifted_chebyshev_polynomial_t(x, n)

    np.testing.assert_allclose(made.numpy(), [1, 2 * 0.16 - 1, 0], rtol=1e-5)


def test_names_of_the_module_are_operations_of_the_package():
    x = gn.tensor([0.25])

    assert gn.special.psi(x).tolist() == gn.digamma(x).tolist()
    assert gn.special.gammaln(x).tolist() == gn.lgamma(x).tolist()
    assert gn.special.multigammaln(x + 3, 2).tolist() == (x + 3).mvlgamma(2).tolist()
    assert x.polygamma(1).tolist() == gn.special.polygamma(1, x).tolist()
    assert not hasattr(gn, "bessel_j0")
