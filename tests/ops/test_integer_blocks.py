"""Linear layers of weights that ask for int8 activations: their definition, and who asks."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon import nn
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Arena
from gnomon.ops.blocks import FORMATS
from gnomon.ops.integer_blocks import INT8, TERMS, block_product_int8
from gnomon.ops.interpret import interpret
from gnomon.settings import override
from gnomon.tensor.encoded import from_blocks
from tests.integer_oracle import product
from tests.quantized import numbers_of, random_blocks, same


def weight(kind: str = "Q8_0", rows: int = 20, count: int = 8) -> gn.Tensor:
    """A weight that asks for int8."""
    return from_blocks(gn.tensor(random_blocks(kind, rows, count)), kind, INT8)


@pytest.mark.parametrize("kind", TERMS)
def test_without_a_kernel_it_is_what_numpy_makes_of_whole_numbers(kind: str):
    form = FORMATS[kind]
    raw = random_blocks(kind, 7, 9)
    x = np.random.default_rng(1).standard_normal((3, 9 * form.elements)).astype(np.float32)

    with override(without="claim"):
        found = F.linear(gn.tensor(x), from_blocks(gn.tensor(raw), kind, INT8))

    np.testing.assert_array_equal(found.numpy(), product(x, kind, raw))


@pytest.mark.parametrize("kind", TERMS)
def test_the_interpreter_agrees(kind: str):
    raw, arena = random_blocks(kind, 4, 3), Arena()
    x = np.random.default_rng(2).standard_normal((2, 3 * FORMATS[kind].elements))
    nodes = arena.input(x.shape, gn.float32), arena.input(raw.shape, gn.uint8)
    arrays = dict(zip(nodes, (x.astype(np.float32), raw), strict=True))

    (found,) = interpret([block_product_int8(*nodes, kind=kind)], arrays)

    np.testing.assert_allclose(found, product(arrays[nodes[0]], kind, raw), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_K", "Q6_K"])
def test_it_is_near_the_product_of_decoded_numbers(kind: str):
    raw = random_blocks(kind, 64, 16)
    x = gn.randn(4, 16 * FORMATS[kind].elements)
    exact = F.linear(x, gn.tensor(numbers_of(kind, raw)))

    found = F.linear(x, from_blocks(gn.tensor(raw), kind, INT8))

    assert gn.quant.sqnr(exact, found) > 40


def test_the_weight_says_so_wherever_it_goes():
    x, w = gn.randn(3, 256), weight()
    expected = F.linear(x, w)
    layer = nn.Linear(256, 20, bias=False)
    layer.weight = nn.Parameter(w, requires_grad=False)

    assert not same(expected, F.linear(x, w.clone()))  # a copy holds decoded numbers
    for other in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert same(other(x), expected)
        assert same(gn.compile(other)(x), expected)
    assert same(F.linear(input=x, weight=w.detach()), expected)
    assert all(same(y, expected) for y in F.linears(x, [w, w]))
    assert same(x @ w.T, F.linear(x, w.clone()))  # no layer: a product of decoded numbers


def test_rows_lie_in_any_shape_and_dtype():
    w = weight()
    x, bias = gn.randn(2, 3, 256), gn.randn(20)
    expected = F.linear(x.reshape(6, 256), w).reshape(2, 3, 20)

    assert same(F.linear(x, w), expected)
    assert same(F.linear(x, w, bias), expected + bias)
    assert same(F.linear(x[1, 2], w), expected[1, 2])
    assert same(F.linear(x.transpose(0, 1), w), expected.transpose(0, 1))
    assert same(F.linear(x[:, ::2], w), expected[:, ::2])
    half = x.to(gn.bfloat16)
    assert same(F.linear(half, w), F.linear(half.float(), w))
    assert F.linear(x.double(), w).dtype is gn.float64


def test_nothing_gives_nothing():
    assert F.linear(gn.ones(0, 256), weight()).shape == (0, 20)
    empty = from_blocks(gn.zeros(0, 34, dtype=gn.uint8), "Q8_0", INT8)
    assert F.linear(gn.ones(2, 32), empty).shape == (2, 0)
    none = from_blocks(gn.zeros(3, 0, dtype=gn.uint8), "Q8_0", INT8)
    assert same(F.linear(gn.ones(2, 0), none), gn.zeros(2, 3))
    with override(without="claim"):
        assert same(F.linear(gn.ones(2, 0), none), gn.zeros(2, 3))


def test_gradients_pass_as_if_nothing_was_rounded():
    w = weight()
    x = gn.randn(3, 256, requires_grad=True)
    F.linear(x, w).square().sum().backward()

    g = 2 * F.linear(x, w).detach()
    assert np.allclose(x.grad.numpy(), (g @ w.clone()).numpy(), rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match=r"weight must be \(out, 64\) for x \(2, 64\): got \(20"):
        F.linear(gn.ones(2, 64), weight())
    with pytest.raises(ShapeError, match=r"bias must be \(20,\): got \(3,\)"):
        F.linear(gn.ones(2, 256), weight(), gn.ones(3))
    raw = gn.tensor(random_blocks("FLOAT8_32", 2, 1))
    with pytest.raises(ArgumentError, match=r"FLOAT8_32 holds no whole numbers.*Leave activations"):
        from_blocks(raw, "FLOAT8_32", INT8)
    with pytest.raises(ArgumentError, match=r"rounded to 'int8' or not at all: got 'int4'"):
        from_blocks(raw, "FLOAT8_32", "int4")
