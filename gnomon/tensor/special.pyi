"""What gnomon.tensor.special offers; written by tools/stubs.py."""

import builtins
from collections.abc import Sequence
from gnomon.tensor.tensor import Tensor
from typing import Any
_bool = builtins.bool
_float = builtins.float
_int = builtins.int
_type = builtins.type
def bessel_j0(x: Tensor) -> Tensor:
    """The plain Bessel function of the first kind of order 0."""
def bessel_j1(x: Tensor) -> Tensor:
    """The plain Bessel function of the first kind of order 1."""
def bessel_y0(x: Tensor) -> Tensor:
    """The plain Bessel function of the second kind of order 0."""
def bessel_y1(x: Tensor) -> Tensor:
    """The plain Bessel function of the second kind of order 1."""
def chebyshev_polynomial_t(x: Any, n: Any) -> Tensor:
    """The polynomial chebyshev_polynomial_t of degree n, a number or one for each element."""
def chebyshev_polynomial_u(x: Any, n: Any) -> Tensor:
    """The polynomial chebyshev_polynomial_u of degree n, a number or one for each element."""
def chebyshev_polynomial_v(x: Any, n: Any) -> Tensor:
    """The polynomial chebyshev_polynomial_v of degree n, a number or one for each element."""
def chebyshev_polynomial_w(x: Any, n: Any) -> Tensor:
    """The polynomial chebyshev_polynomial_w of degree n, a number or one for each element."""
def digamma(x: Tensor) -> Tensor:
    """The derivative of lgamma."""
def entr(x: Tensor) -> Tensor:
    """−x · log(x): 0 at 0, −∞ below."""
def erf(x: Tensor) -> Tensor:
    """The error function."""
def erfc(x: Tensor) -> Tensor:
    """1 − erf(x), accurate where erf(x) is near 1."""
def erfcx(x: Tensor) -> Tensor:
    """e^(x²) · erfc(x), where its factors leave the range of floats."""
def erfinv(x: Tensor) -> Tensor:
    """The inverse of erf, by an approximation and three steps of Halley's method."""
def exp2(x: Tensor) -> Tensor:
    """2 to the power x."""
def expit(x: Tensor) -> Tensor:
    """1 / (1 + exp(−x))."""
def expm1(x: Tensor) -> Tensor:
    """exp(x) − 1, exact near 0."""
def gammainc(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The regularized lower incomplete gamma function P(x, y)."""
def gammaincc(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The regularized upper incomplete gamma function Q(x, y) = 1 − P(x, y)."""
def gammaln(x: Tensor) -> Tensor:
    """log of |gamma(x)|, where gamma(n) is (n − 1)!."""
def hermite_polynomial_h(x: Any, n: Any) -> Tensor:
    """The polynomial hermite_polynomial_h of degree n, a number or one for each element."""
def hermite_polynomial_he(x: Any, n: Any) -> Tensor:
    """The polynomial hermite_polynomial_he of degree n, a number or one for each element."""
def i0(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0e(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0, times e^(−|x|)."""
def i1(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def i1e(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1, times e^(−|x|)."""
def laguerre_polynomial_l(x: Any, n: Any) -> Tensor:
    """The polynomial laguerre_polynomial_l of degree n, a number or one for each element."""
def legendre_polynomial_p(x: Any, n: Any) -> Tensor:
    """The polynomial legendre_polynomial_p of degree n, a number or one for each element."""
def log1p(x: Tensor) -> Tensor:
    """log(1 + x), exact near 0."""
def log_ndtr(x: Tensor) -> Tensor:
    """The logarithm of the share of the normal distribution below x."""
def log_softmax(x: Tensor, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
    """log(softmax(x)), without underflow."""
def logit(x: Tensor, eps: _float | None = ...) -> Tensor:
    """log(x / (1 − x)); with eps, x is first clamped to [eps, 1 − eps]."""
def logsumexp(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow."""
def modified_bessel_i0(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def modified_bessel_i1(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def modified_bessel_k0(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""
def modified_bessel_k1(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""
def multigammaln(x: Tensor, p: _int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
def ndtr(x: Tensor) -> Tensor:
    """The share of the normal distribution below x."""
def ndtri(x: Tensor) -> Tensor:
    """The value below which a share x of the normal distribution is."""
def polygamma(n: _int, x: Tensor = ..., *, input: Tensor = ..., tensor: Tensor = ..., self: Tensor = ..., a: Tensor = ...) -> Tensor:
    """The n-th derivative of digamma."""
def psi(x: Tensor) -> Tensor:
    """The derivative of lgamma."""
def round(x: Tensor, *, decimals: _int = ...) -> Tensor:
    """Round to a number of decimals; halves go to the even digit."""
def scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0, times e^x."""
def scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1, times e^x."""
def shifted_chebyshev_polynomial_t(x: Any, n: Any) -> Tensor:
    """The polynomial shifted_chebyshev_polynomial_t of degree n, a number or one for each element."""
def shifted_chebyshev_polynomial_u(x: Any, n: Any) -> Tensor:
    """The polynomial shifted_chebyshev_polynomial_u of degree n, a number or one for each element."""
def shifted_chebyshev_polynomial_v(x: Any, n: Any) -> Tensor:
    """The polynomial shifted_chebyshev_polynomial_v of degree n, a number or one for each element."""
def shifted_chebyshev_polynomial_w(x: Any, n: Any) -> Tensor:
    """The polynomial shifted_chebyshev_polynomial_w of degree n, a number or one for each element."""
def sinc(x: Tensor) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
def softmax(x: Tensor, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
    """Exponentials along an axis, divided by their sum."""
def spherical_bessel_j0(x: Tensor) -> Tensor:
    """sin(x) / x, and 1 at 0."""
def xlog1py(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x · log(1 + y), 0 where x is 0 and y is not NaN."""
def xlogy(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x · log(y), and 0 where x is 0."""
def zeta(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Hurwitz's zeta function: Σ (y + k)^−x over all k ≥ 0."""
