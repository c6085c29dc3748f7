"""Numbers that follow from sizes are computed when the file runs, as Python computes them."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import TraceError
from gnomon.ir.sizes import ShapeEnv
from gnomon.ir.sym_float import as_float
from gnomon.onnx.sizes import float_of_sizes, integer_of_sizes
from gnomon.onnx.writer import OnnxWriter
from tests.onnx.running import exported

pytestmark = pytest.mark.unit

NUMBERS = {
    "sums": lambda n, m: (n + m, n - m + 20, 2 * n + 3 * m),
    "products": lambda n, m: (n * m, n * n * m, (n + 1) * (m + 2)),
    "quotients": lambda n, m: (n // 2, (n + m) // 3, n * m // 4, -(-n // 2)),
    "remainders": lambda n, m: (n % 2, (n * m) % 5),
    "ratios": lambda n, m: (1 / n, n / m, (n + 1) / 3),
    "floats": lambda n, m: (0.5 * n, n - 0.25, 2.0 - m, n / m * 0.5),
    "roots": lambda n, m: (n**0.5, m**-0.5, n**2),
}


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_numbers_of_sizes(name):
    def function(x):
        n, m = x.shape
        return tuple(x.sum() * 0 + k for k in NUMBERS[name](n, m))

    others = [(gn.ones(*shape),) for shape in ((2, 7), (9, 3), (6, 6), (1, 5))]
    exported(function, gn.ones(3, 4), others=others, dynamic_axes={"x": {0: "n", 1: "m"}})


def test_a_function_that_onnx_has_not_is_refused():
    env = ShapeEnv()
    n = env.symbol(5)
    writer = OnnxWriter({}, {})
    writer.env, writer.symbols = env, ["n"]
    with pytest.raises(TraceError, match="follows from sizes by a function that ONNX has not"):
        integer_of_sizes(writer, n.late(int.bit_length))


def test_a_number_is_written_once():
    env = ShapeEnv()
    n = env.symbol(5)
    writer = OnnxWriter({}, {})
    writer.env, writer.symbols = env, ["n"]
    assert writer.number(n * 2) == writer.number(n * 2)
    half = as_float(n, 64)
    assert float_of_sizes(writer, half) == float_of_sizes(writer, half)
