"""Numbers that vary in a captured function: arithmetic is recorded, other uses get the value."""

from __future__ import annotations

import math
import operator

import pytest

import gnomon as gn
from gnomon.tensor.traced_numbers import TracedFloat, TracedInt, kind_of_number

FLOATS = {
    "add": lambda r: r + 1,
    "subtract from": lambda r: 1 - r,
    "ratio": lambda r: 3 / r,
    "square": lambda r: r * r,
    "negative": lambda r: -r,
    "size": abs,
    "power": lambda r: r**2,
    "root": math.sqrt,
    "floor": lambda r: r // 0.3,
    "rest": lambda r: r % 0.4,
    "rounded": lambda r: round(r, 1),
    "text": lambda r: float(f"{r:.2f}"),
    "largest": lambda r: max(r, 0.7),
    "truth": lambda r: 2.0 if r else 3.0,
    "compared": lambda r: 2.0 if 0.5 < r <= 1 else 3.0,
    "hashed": lambda r: {0.5: 4.0}.get(r, 5.0),
    "float": lambda r: float(r) * 2,
    "method": lambda r: float(r.is_integer()),
    "class": lambda r: 1.0 if isinstance(r, float) else 0.0,
}
INTEGERS = {
    "add": lambda n: n + 2,
    "product": lambda n: n * n - n,
    "ratio": lambda n: n / 3,
    "even": lambda n: 1 if n % 2 == 0 else 7,
    "index": lambda n: [5, 6, 7, 8][n],
    "range": lambda n: sum(range(n)),
    "bits": lambda n: n << 2 | 1,
    "class": lambda n: 1.0 if isinstance(n, int) else 0.0,
    "large": lambda n: (n + 1) * 10**12 * 10**12,
}


@pytest.mark.parametrize("name", FLOATS)
def test_a_float_that_varies_is_a_float(name):
    def step(x, r):
        made = FLOATS[name](r)
        return x * made, made

    compiled, values = gn.compile(step), (0.5, 0.75, 1.25, 0.5, 2.0)
    for r in values:
        wanted, got = (run(gn.tensor([1.0, 3.0]), r) for run in (step, compiled))
        assert (got[0].tolist(), got[1], type(got[1])) == (wanted[0].tolist(), wanted[1], float)


@pytest.mark.parametrize("name", INTEGERS)
def test_an_integer_that_varies_is_an_integer(name):
    def step(x, n):
        made = INTEGERS[name](n)
        return x + made / 10**20, x.long() + made % 5, made

    compiled = gn.compile(step)
    for n in (1, 2, 3, 2):
        wanted, got = (run(gn.tensor([1.0, 3.0]), n) for run in (step, compiled))
        assert [x.tolist() for x in got[:2]] == [x.tolist() for x in wanted[:2]]
        assert (got[2], type(got[2])) == (wanted[2], type(wanted[2]))


def test_a_divisor_that_is_none_raises_as_python_does():
    step = gn.compile(lambda x, r: x * (1.0 / r))
    for r in (1.0, 2.0):
        step(gn.ones(2), r)

    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        step(gn.ones(2), 0.0)


@pytest.mark.parametrize("f", [operator.mul, operator.sub, operator.truediv, operator.gt])
@pytest.mark.parametrize("dtype", [gn.float32, gn.float64, gn.float16, gn.int32, gn.int64])
def test_beside_a_tensor_it_is_as_weak_as_any_number(f, dtype):
    compiled = gn.compile(lambda x, r: (f(x, r), f(r, x)))
    for r in (0.1, 1.7, 3.3):
        x = gn.tensor([1, 2, 5], dtype=dtype)
        for wanted, got in zip((f(x, r), f(r, x)), compiled(x, r), strict=True):
            assert (wanted.dtype, wanted.tolist()) == (got.dtype, got.tolist())


def test_which_numbers_may_vary():
    assert [kind_of_number(x) for x in (0.5, 3, True, 1 << 40, "a")] == [
        *(TracedFloat, TracedInt),
        *(None, None, None),
    ]
    assert TracedFloat([gn.tensor(2.5)]) == 2.5
