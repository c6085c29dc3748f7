"""Rows for functions of PyTorch that come down to others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.parity.record import Table, between, distinct, exactly, integers, normal

TABLE = Table()
add, each = TABLE.add, TABLE.each

add(
    "addbmm",
    lambda lib, x, a, b: lib.addbmm(x, a, b, beta=0.5, alpha=2),
    normal(3, 5),
    normal(2, 3, 4),
    normal(2, 4, 5),
)
add(
    "addbmm_",
    lambda lib, x, a, b: (x * 1).addbmm_(a, b),
    normal(3, 5),
    normal(2, 3, 4),
    normal(2, 4, 5),
)
add("cumulative_trapezoid", lambda lib, y: lib.cumulative_trapezoid(y, dx=0.5, dim=0), normal(4, 3))
add(
    "cumulative_trapezoid at places",
    lambda lib, y, x: lib.cumulative_trapezoid(y, x),
    normal(2, 4),
    normal(4),
)
add("gradient", lambda lib, x: lib.gradient(x), normal(4, 5))
add("gradient of one axis", lambda lib, x: lib.gradient(x, spacing=0.5, dim=1), normal(4, 5))
add("gradient with parabolas", lambda lib, x: lib.gradient(x, edge_order=2), normal(4, 5))
add(
    "gradient at places",
    lambda lib, x, a: lib.gradient(x, spacing=(a,), dim=0, edge_order=2),
    normal(4, 5),
    exactly([0.0, 1.0, 1.5, 3.0]),
)
add("renorm", lambda lib, x: lib.renorm(x, 2, 0, 1.0), normal(4, 3), slack=4.0)
add("renorm of an inner axis", lambda lib, x: x.renorm(1, 1, 0.5), normal(4, 3, 2), slack=4.0)
add("frobenius_norm", lambda lib, x: lib.frobenius_norm(x, [0, 1]), normal(3, 4))
add("nuclear_norm", lambda lib, x: lib.nuclear_norm(x), normal(3, 4), slack=8.0)
add("norm_except_dim", lambda lib, x: lib.norm_except_dim(x, 2, 1), normal(3, 4))
add(
    "conv_tbc",
    lambda lib, x, w, b: lib.conv_tbc(x, w, b, 1),
    normal(5, 2, 3),
    normal(3, 3, 4),
    normal(4),
    slack=4.0,
)
add(
    "affine_grid_generator",
    lambda lib, x: lib.affine_grid_generator(x, (2, 1, 3, 4), False),
    normal(2, 2, 3),
)
add(
    "grid_sampler",
    lambda lib, x, g: lib.grid_sampler(x, g, 0, 1, False),
    normal(2, 2, 4, 3),
    between(-0.9, 0.9, 2, 3, 3, 2),
    slack=16.0,
)
add("rsub", lambda lib, x, y: lib.rsub(x, y, alpha=2), normal(3), normal(2, 3))
add("ldexp", lambda lib, x, i: lib.ldexp(x, i), normal(4), exactly([3, 0, 2, 5], "int64"))
add("ldexp_", lambda lib, x, i: (x * 1).ldexp_(i), normal(4), exactly([3, 0, 2, 5], "int64"))
add("logaddexp2", lambda lib, x, y: lib.logaddexp2(x, y), normal(2, 3), normal(3), slack=2.0)
each(
    "angle isreal real conj resolve_conj resolve_neg conj_physical sgn fix",
    lambda f, x: f(x),
    exactly([1.5, -2.0, 0.0, -0.0]),
    gradient=False,
)
add("angle of integers", lambda lib, x: lib.angle(x), integers(-3, 3, 4))
each("is_conj is_neg is_nonzero is_signed", lambda f, x: f(x), normal(1), gradient=False)
add(
    "is_same_size",
    lambda lib, x, y: [x.is_same_size(y), lib.is_same_size(x, x)],
    normal(2),
    normal(3),
    gradient=False,
)
add("fill", lambda lib, x: lib.fill(x, 2.5), normal(3), gradient=False)
each("msort diagflat", lambda f, x: f(x), distinct(4, 3))
add("diagflat off the diagonal", lambda lib, x: x.diagflat(-2), normal(3))
HOLES = np.array([[1.0, np.nan, 3, 2], [np.nan, np.nan, 5, 7], [4, 3, 2, 1]])
add("nanmedian", lambda lib, x: lib.nanmedian(x), exactly(HOLES), gradient=False)
add("nanmedian of an axis", lambda lib, x: x.nanmedian(1), exactly(HOLES))
add("nanmedian of no axes", lambda lib, x: [lib.nanmedian(x), x.nanmedian(0, True)], normal())
add(
    "quantiles of no axes",
    lambda lib, x: [lib.quantile(x, 0.5, 0), lib.nanquantile(x, 0.5, 0, True)],
    normal(),
)
add("frexp of no axes", lambda lib, x: list(lib.frexp(x)), normal())
add("masked_select of no axes", lambda lib, x: x.masked_select(x == x), normal())
add("nanmedian keeps", lambda lib, x: x.nanmedian(0, True), exactly(HOLES))
add("nanquantile", lambda lib, x: lib.nanquantile(x, 0.3), exactly(HOLES), gradient=False)
for word in ("linear", "lower", "higher", "nearest", "midpoint"):
    add(
        f"nanquantile {word}",
        lambda lib, x, q, word=word: x.nanquantile(q, 1, True, interpolation=word),
        exactly(HOLES),
        exactly([0.1, 0.55, 0.9]),
        gradient=False,
    )
add("nanquantile's gradient", lambda lib, x: lib.nanquantile(x, 0.4, dim=0), distinct(5, 3))
add("constant_pad_nd", lambda lib, x: lib.constant_pad_nd(x, (1, 2, 0, 1), 0.5), normal(2, 3))
add("diagonal_scatter", lambda lib, x, y: lib.diagonal_scatter(x, y, 1), normal(3, 4), normal(3))
add("select_scatter", lambda lib, x, y: x.select_scatter(y, 1, -1), normal(3, 4), normal(3))
add("slice_scatter", lambda lib, x, y: x.slice_scatter(y, 1, 0, 4, 2), normal(3, 4), normal(3, 2))
add("as_strided", lambda lib, x: lib.as_strided(x * 1, (2, 3), (1, 2), 1), normal(4, 3))
add(
    "as_strided_scatter",
    lambda lib, x, y: (x * 1).as_strided_scatter(y, (2, 3), (1, 2), 1),
    normal(4, 3),
    exactly(np.ones((2, 3))),
    gradient=False,
)
PLACES = exactly([0, 5, 3], "int64")
add("put", lambda lib, x, i, y: x.put(i, y), normal(2, 3), PLACES, normal(3))
add("put adds", lambda lib, x, i, y: x.put(i, y, accumulate=True), normal(2, 3), PLACES, normal(3))
for word in ("prod", "mean", "amax", "amin"):
    add(
        f"index_reduce {word}",
        lambda lib, x, i, y, word=word: x.index_reduce(0, i, y, word, include_self=False),
        normal(3, 2),
        exactly([2, 0, 2], "int64"),
        distinct(3, 2),
        gradient=word != "prod",
    )
each("dsplit hsplit", lambda f, x: f(x, 2), normal(2, 4, 6))
add("split_with_sizes", lambda lib, x: x.split_with_sizes([1, 3], 1), normal(2, 4))
each("unsafe_chunk unsafe_split", lambda f, x: f(x, 2, 1), normal(2, 4))
each("row_stack", lambda f, x, y: f([x, y]), normal(3), normal(2, 3))
add("sum_to_size", lambda lib, x: x.sum_to_size(3, 1), normal(2, 3, 4))
add("unravel_index", lambda lib, i: lib.unravel_index(i, (4, 3)), integers(0, 12, 5))
add("histogram", lambda lib, x: list(lib.histogram(x, 4)), normal(20), gradient=False)
add(
    "histogram of given bins",
    lambda lib, x, e, w: list(lib.histogram(x, e, weight=w, density=True)),
    normal(20),
    exactly([-1.0, 0.0, 0.3, 2.0]),
    between(0, 1, 20),
    gradient=False,
)
add("histogramdd", lambda lib, x: lib.histogramdd(x, [3, 2])[0], normal(20, 2), gradient=False)
add("frexp", lambda lib, x: list(lib.frexp(x)), exactly([6.0, -0.3, 0.0, 1e-30]))
add(
    "nonzero_static",
    lambda lib, x: lib.nonzero_static(x, size=3),
    exactly([0.0, 2.0, 3.0, 0.0]),
    gradient=False,
)
add("triu_indices of int32", lambda lib: lib.triu_indices(3, 4, 1, dtype=lib.int32))
add("mH", lambda lib, x: x.mH, normal(2, 3))
add("argwhere by method", lambda lib, x: x.argwhere(), integers(0, 2, 3, 4))
each("gcd lcm", lambda f, i, j: f(i, j), integers(-30, 30, 2, 5), integers(-30, 30, 5))
add("range", lambda lib: lib.range(1, 2.6, 0.5), gradient=False)
add("scalar_tensor", lambda lib: [lib.scalar_tensor(2), lib.scalar_tensor(2, dtype=lib.int64)])
add("kaiser_window", lambda lib: lib.kaiser_window(7, True, 8.0, dtype=lib.float64))
each("relu_ sigmoid_ floor_ neg_ deg2rad_ abs_", lambda f, x: f(x * 1), distinct(5))
each("celu_ selu_", lambda f, x: f(x * 1), distinct(5))
add("clamp_ by function", lambda lib, x: lib.clamp_(x * 1, -0.5, 0.5), distinct(5))
each("squeeze_copy detach_copy t_copy", lambda f, x: f(x), normal(1, 3), gradient=False)
add("unbind_copy", lambda lib, x: list(lib.unbind_copy(x, 1)), normal(2, 3))
add(
    "a copy of a view is apart",
    lambda lib, x: [lib.view_copy(x * 1, (3, 2)).zero_(), x],
    normal(2, 3),
    gradient=False,
)
add("apply_", lambda lib, x: x.apply_(lambda v: v * 2 + 1), distinct(4), gradient=False)
add("map_", lambda lib, x, y: x.map_(y, lambda a, b: a - b), distinct(4), normal(4), gradient=False)
add("resize_", lambda lib, x: x.resize_(2, 2), normal(5), gradient=False)
add("new", lambda lib, x: list(x.new([1.0, 2.0]).shape), normal(2), gradient=False)
KINDS = "is_cpu is_meta is_sparse is_quantized is_xpu is_nested is_cuda output_nr name"
add(
    "what a tensor is",
    lambda lib, x: [getattr(x, kind) for kind in KINDS.split()],
    normal(2),
    gradient=False,
)
add(
    "switches",
    lambda lib: [
        lib.get_num_interop_threads() > 0,
        lib.is_autocast_enabled("cpu"),
        lib.is_storage(1),
        lib.typename(1.5),
    ],
)
# special functions

WIDE = exactly([-30.0, -4.2, -1.0, -0.3, 0.4, 1.0, 2.2, 4.7, 26.0])
ABOVE = exactly([0.1, 0.9, 1.7, 2.4, 26.0])


def special(names: str, *makers: Any, **options: Any) -> None:
    """A row for each function of special."""
    for name in names.split():

        def call(lib: Any, *tensors: Any, name: str = name) -> Any:
            return getattr(lib.special, name)(*tensors)

        add(f"special.{name}", call, *makers, slack=16.0, **options)


special("i0e i1e ndtr log_ndtr", WIDE)
special("erfcx", exactly([-4.2, -1.0, 0.0, 0.4, 2.2, 26.0]))
special("i0 i1", exactly([-8.0, -0.3, 0.4, 2.2, 9.0]))
# between 3 and 20 torch is right to 1e-9 alone: mpmath has the word in tests/ops/test_bessel.py
special(
    "bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 "
    "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 "
    "spherical_bessel_j0",
    ABOVE,
    gradient=False,
)
special("ndtri entr", between(0.05, 0.95, 6))
special("xlog1py xlogy", exactly([0.0, 1.5, 2.0]), between(0.5, 2, 3))
special("zeta", exactly([1.5, 2.0, 7.3]), exactly([0.2, 3.0, 12.0]), gradient=False)
TOPS, LIMITS = exactly([0.5, 1.5, 4.0]), exactly([0.4, 3.0, 3.0])
special("gammainc gammaincc", TOPS, LIMITS, gradient=False)
special("digamma psi gammaln erf erfc erfinv exp2 expm1 log1p", between(0.1, 0.9, 6))
special("logit expit sinc", between(0.1, 0.9, 6))
for n in (0, 1, 2, 4):
    some = exactly([0.4, 2.2, 7.5])
    add(
        f"polygamma {n}",
        lambda lib, x, n=n: lib.polygamma(n, x),
        some,
        slack=100.0 if n == 1 else 16.0,
    )
add("mvlgamma", lambda lib, x: lib.mvlgamma(x, 3), between(2, 5, 4), slack=4.0)
add("igamma's slope", lambda lib, a, x: lib.igamma(a.detach(), x), TOPS, LIMITS, slack=16.0)
DEGREES = exactly([0, 1, 2, 5, 3], "int64")
for kind in ("t", "u", "v", "w"):
    special(f"chebyshev_polynomial_{kind}", between(-0.9, 0.9, 5), DEGREES, gradient=False)
    name = f"shifted_chebyshev_polynomial_{kind}"
    special(name, between(0.1, 0.9, 5), DEGREES, gradient=False)
for kind in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"):
    special(kind, between(-0.9, 0.9, 5), DEGREES, gradient=False)
special("legendre_polynomial_p", between(-0.9, 0.9, 5), DEGREES, gradient=False)
