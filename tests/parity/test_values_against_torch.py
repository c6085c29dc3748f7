"""Values where ordinary tests do not look: NaN, infinities, ends of ranges, numbers beside dtypes.

What comes is torch's, its dtype too, eager and compiled.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

inf, nan = math.inf, math.nan
ODD = [1.0, nan, 3.0, inf, -inf, 2.0]
MATRICES = {
    "below": [[1.0, 2.0], [nan, 4.0]],
    "above": [[4.0, nan], [1.0, 3.0]],
    "first": [[nan, 1.0], [1.0, 3.0]],
    "last": [[4.0, 1.0], [1.0, nan]],
    "infinite last": [[4.0, 1.0], [1.0, inf]],
    "infinite first": [[inf, 1.0], [1.0, 4.0]],
    "infinite aside": [[4.0, inf], [inf, 4.0]],
}


def told(x):
    """A result as dtypes and arrays."""
    if isinstance(x, (tuple, list)):
        return [part for each in x for part in told(each)]
    if not hasattr(x, "numpy"):
        return [("", np.asarray(x))]
    values = x.float() if "bfloat16" in str(x.dtype) else x
    return [(str(x.dtype).rpartition(".")[2], values.numpy())]


def outcome(function, lib):
    """What a function gives; nothing where that is an error."""
    try:
        return told(function(lib))
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
        return []


def check(function, rtol=0.0):
    """Both libraries give one outcome, and so does the compiled function."""
    wanted = outcome(function, torch)
    for run in (function, gn.compile(function)):
        found = outcome(run, gn)
        assert [dtype for dtype, _ in found] == [dtype for dtype, _ in wanted]
        for (_, mine), (_, theirs) in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * 1e-4)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_of_nan_and_infinities(name, how):
    # torch multiplies infinity by 0 where there is no way to go, as numpy does not
    shares = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
    lone = [0.25, 0.5] if how == "linear" else shares if how != "midpoint" else [0.5]
    for row, q in (
        ([1.0, 4.0, 8.0, 2.0], shares),
        ([1.0, nan, 2.0], shares),
        ([nan, nan], shares),
        ([1.0, inf, -inf, 2.0], lone),
        ([[1.0, 2.0], [nan, 3.0]], shares),
    ):
        dim = None if isinstance(row[0], float) else 1
        check(
            lambda lib, row=row, q=q, dim=dim: getattr(lib, name)(
                lib.tensor(row), lib.tensor(q), dim, interpolation=how
            ),
            rtol=1e-6,
        )


ORDERS = {
    "median": lambda lib, x: [x.median(), x.nanmedian(), lib.median(x, 0), lib.nanmedian(x, 0)],
    "kthvalue": lambda lib, x: [lib.kthvalue(x, k) for k in (1, 3, 5, 6)],
    "sort": lambda lib, x: [lib.sort(x, 0), lib.sort(x, 0, descending=True), lib.argsort(x)],
    "topk": lambda lib, x: [lib.topk(x, 3), lib.topk(x, 3, largest=False)],
    "unique": lambda lib, x: lib.unique(x),
    "cummax": lambda lib, x: [lib.cummax(x, 0), lib.cummin(x.repeat(2), 0)],
    "aminmax": lambda lib, x: [lib.aminmax(x), x.max(0), x.min(0), x.argmax(), x.argmin()],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ORDERS)
def test_orders_of_nan_and_infinities(name, dtype):
    check(lambda lib: ORDERS[name](lib, lib.tensor(ODD, dtype=getattr(lib, dtype))))


@pytest.mark.parametrize("right", [False, True])
def test_places_of_nan_and_infinities_in_rows_that_have_them(right):
    values = [nan, -inf, inf, 0.0, 1.0, 2.0, 5.0]
    for row in (
        [1.0, 2.0, 3.0],
        [-inf, 1.0, 2.0, inf, nan],
        [1.0, nan, nan],
        [nan],
        [2.0, 1.0, 0.0],
    ):
        check(lambda lib, row=row: lib.bucketize(lib.tensor(values), lib.tensor(row), right=right))
        check(
            lambda lib, row=row: lib.searchsorted(
                lib.tensor([row, row[::-1]]), lib.tensor([values, values]), right=right
            )
        )


def test_places_in_rows_of_any_length(rng):
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 100):
        row, values = rng.integers(0, 9, n), rng.integers(-1, 11, (3, 5))
        for right in (False, True):
            check(
                lambda lib, row=row, values=values, right=right: lib.searchsorted(
                    lib.tensor(row), lib.tensor(values), right=right, out_int32=right
                )
            )


FACTORS = {
    "inv": lambda lib, a, b: [lib.linalg.inv(a), lib.linalg.inv_ex(a)],
    "solve": lambda lib, a, b: [lib.linalg.solve(a, b), lib.linalg.solve_ex(a, b)],
    "solve_triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b[:, None], upper=True),
    "cholesky": lambda lib, a, b: lib.linalg.cholesky(a),
    "cholesky_ex": lambda lib, a, b: lib.linalg.cholesky_ex(a)[1],
    "cholesky of many": lambda lib, a, b: lib.linalg.cholesky_ex(lib.stack([a, lib.eye(2)]))[1],
    "det": lambda lib, a, b: [lib.linalg.det(a), lib.linalg.slogdet(a)[1]],
    "svdvals": lambda lib, a, b: lib.linalg.svdvals(a),
    "pinv": lambda lib, a, b: lib.linalg.pinv(a),
    "matrix_exp": lambda lib, a, b: lib.linalg.matrix_exp(a),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", FACTORS)
def test_factors_of_nan_and_infinities(name, matrix):
    a = MATRICES[matrix]
    check(lambda lib: FACTORS[name](lib, lib.tensor(a), lib.tensor([1.0, 2.0])), rtol=1e-5)


def test_equations_whose_sides_are_not_finite():
    for b in ([nan, 1.0], [inf, 1.0], [1.0, -inf]):
        check(lambda lib, b=b: lib.linalg.solve(lib.tensor([[1.0, 2], [3, 4]]), lib.tensor(b)))


# numbers beside tensors

INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
HALVES = ("float16", "bfloat16")
NUMBERS = (0.1, 1 / 3, 1e6, 1e-8, 3, -70000.0, 2.0, 0.5, 65519)
BESIDE = {
    "mul": lambda lib, x, y, c: x * c,
    "rmul": lambda lib, x, y, c: c * x,
    "mul_": lambda lib, x, y, c: x.clone().mul_(c),
    "div": lambda lib, x, y, c: x / c,
    "floor_divide": lambda lib, x, y, c: x // c,
    "div trunc": lambda lib, x, y, c: lib.div(x, c, rounding_mode="trunc"),
    "add": lambda lib, x, y, c: x + c,
    "sub": lambda lib, x, y, c: c - x,
    "lerp": lambda lib, x, y, c: lib.lerp(x, y, c),
    "addcmul": lambda lib, x, y, c: lib.addcmul(x, x, y, value=c),
    "addcdiv": lambda lib, x, y, c: lib.addcdiv(x, x, y, value=c),
    "leaky_relu": lambda lib, x, y, c: lib.nn.functional.leaky_relu(x, c),
    "elu": lambda lib, x, y, c: lib.nn.functional.elu(x, c),
    "float_power": lambda lib, x, y, c: lib.float_power(x, c).to(lib.bfloat16),
    "eq": lambda lib, x, y, c: [lib.full_like(x, c) == c, x > c],
    "clamp": lambda lib, x, y, c: x.clamp(-abs(c), abs(c)),
    "add alpha": lambda lib, x, y, c: lib.add(x, y, alpha=c),
    "sub alpha": lambda lib, x, y, c: lib.sub(x, y, alpha=c),
    "add_ alpha": lambda lib, x, y, c: x.clone().add_(y, alpha=c),
}


FUSED = ("addcmul", "addcdiv", "lerp")


def check_each(function, choices, rtol=0.0):
    """One outcome for each choice that torch has an answer for; all of them are compiled as one."""
    known = [
        each for each in choices if outcome(lambda lib, each=each: function(lib, *each), torch)
    ]
    assert known
    check(lambda lib: [function(lib, *each) for each in known], rtol)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", BESIDE)
def test_numbers_beside_narrow_floats(name, dtype, rng):
    # torch computes the last few in another way: whole vectors of any width
    values = rng.standard_normal((2, 311)) * 3
    special = [[0.0, 1.0, -2.0, 65504.0, 6e-5, 1e-7, inf, -inf, nan], [1.0, 2.0, -3.0] * 3]
    x, y = np.concatenate([values, special], 1)

    def function(lib, c):
        return BESIDE[name](lib, *(lib.tensor(v, dtype=getattr(lib, dtype)) for v in (x, y)), c)

    # where terms cancel, a fused multiply-add has digits that two roundings have not
    check_each(function, [(c,) for c in NUMBERS], 1e-2 if name in FUSED else 0.0)


@pytest.mark.parametrize("other", [*INTEGERS, "bool", *HALVES, "float32", "float64"])
def test_alpha_multiplies_in_the_dtype_of_the_result(other):
    def function(lib, name, own, alpha):
        return getattr(lib, name)(
            lib.tensor([1, 2], dtype=getattr(lib, own)),
            lib.tensor([100, 50], dtype=getattr(lib, other)),
            alpha=alpha,
        )

    owns = (*INTEGERS, "bool", "float32", *HALVES)
    check_each(function, list(product(("add", "sub", "rsub"), owns, (1, 2, 3))))


# indices

MASKS = {
    "vector": ([1, 0, 2, 0, 1], (5,)),
    "matrix": ([[1, 0, 1], [0, 1, 255]], (2, 3)),
    "rows": ([0, 1], (2, 3)),
    "another size": ([1, 0, 1], (4,)),
    "no axes": (1, (4,)),
}


@pytest.mark.filterwarnings("ignore:indexing with dtype", "ignore:where received a uint8")
@pytest.mark.parametrize("name", MASKS)
def test_a_tensor_of_bytes_is_a_mask(name):
    values, shape = MASKS[name]

    def function(lib):
        x, mask = lib.arange(float(math.prod(shape))).reshape(shape), lib.tensor(values).byte()
        return [x[mask], x[..., None][mask], lib.where(lib.ones(2).byte(), 1.0, 2.0)]

    def written(lib):
        x, mask = lib.arange(float(math.prod(shape))).reshape(shape), lib.tensor(values).byte()
        x[mask] = x[mask] * 2 + 1
        return x

    check(function)
    check(written)


INDICES = (
    *("[[0, 1]]", "[[0, 1], [1, 2]]", "[[[0, 1], [1, 0]]]", "[[0, 1], 1]", "[[0], [1], [2]]"),
    *("[[[0, 1]], [[1, 2]]]", "[[True, False]]", "[True, False]", "[[0, 1], [1, 2], [3, 0]]"),
    *(
        "[slice(0, 1)]",
        "[[[0]], [[1]]]",
        "[]",
        "[[]]",
        "[[1, 0], slice(None)]",
        "[None]",
        "[..., 0]",
    ),
    *("([0, 1], [1, 2])", "([[0, 1], [1, 0]],)", "[0, 1]", "(slice(None), [0, 2])", "[0, None]"),
    *("[lib.tensor([0, 1]), lib.tensor([1, 2])]", "[lib.tensor(0), lib.tensor(1)]", "[0] * 40"),
    *("[np.array([0, 1])]", "True", "False", "(True, 0)", "lib.tensor(True)", "[True]"),
    *("(0, True)", "(slice(None), True)", "(True, [0, 1])", "(None, True)", "[[0], 1.5]"),
)


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", INDICES)
def test_what_a_list_is_as_an_index(index):
    place = eval(f"lambda lib: {index}")

    def read(lib):
        return lib.arange(24.0).reshape(2, 3, 4)[place(lib)]

    def written(lib):
        x = lib.arange(24.0).reshape(2, 3, 4)
        x[place(lib)] = -1.0
        return x

    check(read)
    check(written)


# dtypes that stay


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float16", "float64", "complex64"])
def test_packing_keeps_dtypes(dtype):
    def function(lib):
        rnn, kind = lib.nn.utils.rnn, getattr(lib, dtype)
        rows = [lib.tensor(x, dtype=kind) for x in ([[1, 0], [0, 2]], [[3, 1]])]
        packed = rnn.pack_sequence(rows)
        both = rnn.pad_packed_sequence(packed, padding_value=1, total_length=3)
        return [packed.data, rnn.unpack_sequence(packed), both, rnn.pad_sequence(rows)]

    check(function)


WHOLE = [
    0.0,
    -0.0,
    1.9,
    -1.9,
    127.5,
    128.0,
    255.0,
    256.0,
    300.7,
    -300.7,
    65535.0,
    65536.0,
    7e4,
    -7e4,
]
BEYOND = [2147483520.0, -2147483648.0, 1e10, -1e10, 1e20, inf, -inf, nan]
LARGE = [2147483520.0, -2147483648.0, 4294967040.0, -4294967296.0]


@pytest.mark.parametrize("given", ["float32", "float64", *HALVES])
def test_floats_become_integers_as_on_x86(given):
    def function(lib):
        found = []
        for dtype in ("uint8", "int8", "int16", "uint16", "int32", "int64", "uint32", "uint64"):
            # torch's wide integers differ by the processor beyond their limits
            wide = dtype[-2:] in ("32", "64")
            more = BEYOND if not wide else LARGE if "64" in dtype else []
            most = 6e4 if wide and given == "float16" else inf
            x = lib.tensor([v for v in WHOLE + more if not abs(v) > most], dtype=lib.float64)
            found.append(x.to(getattr(lib, given)).to(getattr(lib, dtype)))
        return found

    check(function)


# special functions at their ends

ENDS = [0.0, 1e-45, 1e-40, 1e-38, 1e-30, 0.5, 1.0, 9.0, 30.0, 1e10, 1e30, 3e38, inf, nan]
"""And their opposites; of float64 also what float32 does not reach."""
FAR_ENDS = [1e-310, 1e-308, 1e-200, 1e154, 1e200, 1.7e308, 709.0, 745.0, 26.5, 26.7]
SPECIAL = (
    *("i0", "i0e", "i1", "i1e", "modified_bessel_k0", "scaled_modified_bessel_k1", "erfcx"),
    *("log_ndtr", "ndtri", "spherical_bessel_j0", "bessel_y1", "entr", "digamma", "gammaln"),
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_at_their_ends(name, dtype):
    ends = ENDS + (FAR_ENDS if dtype == "float64" else [])
    # far out torch's Y has few digits, and its K is NaN at the least number
    bad = {"bessel_y1": (1e10, 1e30), "scaled_modified_bessel_k1": (1e-45,)}
    ends = [x for x in ends if x not in bad.get(name, ())]
    values = [*ends, *(-x for x in ends)]

    check(
        lambda lib: getattr(lib.special, name)(lib.tensor(values, dtype=getattr(lib, dtype))),
        rtol=3e-5 if dtype == "float32" else 1e-7,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", *HALVES])
def test_decimals(dtype):
    values = [
        0.5,
        1.5,
        0.05,
        0.25,
        0.35,
        1.005,
        2.675,
        15.0,
        25.0,
        125.0,
        -2.5,
        1.115,
        inf,
        nan,
        -0.0,
    ]

    def function(lib):
        x = lib.tensor(values, dtype=getattr(lib, dtype))
        return [x.round(decimals=k) for k in (0, 1, 2, 3, 10, 40, -1, -2, -40)]

    check(function)


def test_powers_and_scales_of_narrow_floats():
    x = [127.0, -100.0, 3.0, 0.1, 6e4, inf, 0.0, 1e-4]

    def function(lib):
        found = []
        for dtype in (*HALVES, "float32", "float64"):
            v = lib.tensor(x, dtype=getattr(lib, dtype))
            found += [v**k for k in (-3, -1, 2, 3, 5)] + [v.pow(-2)]
            exponents = lib.tensor([3, -7, 0, 20, -140, 5, 9, 140])
            found += [lib.ldexp(v, exponents), lib.ldexp(v, exponents.to(lib.int32))]
        return [*found, lib.ldexp(lib.tensor([1, 3]), lib.tensor([2, -1]))]

    check(function, rtol=1e-2)


def test_differences_of_truth_values():
    check(lambda lib: lib.tensor([[True, True, False], [False, True, False]]).diff(n=1))
    check(lambda lib: lib.diff(lib.tensor([True, False, True, True]), 2))
