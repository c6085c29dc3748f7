"""Products by tiles: the bits of the CPU's kernels, by any number of teams, in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.codegen import choices
from gnomon.codegen.kernels import tiled
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.tiled import team_tile
from gnomon.nn import functional as F
from tests.cuda.cards import agrees, fake_card

R = np.random.default_rng(5)


def numbers(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


def product(x: gn.Tensor, w: gn.Tensor) -> gn.Tensor:
    return x @ w


PRODUCTS: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    "no steps": (product, (numbers(3, 0), numbers(0, 5))),
    "no rows": (product, (numbers(0, 3), numbers(3, 5))),
    "one of all": (product, (numbers(1, 1), numbers(1, 1))),
    "two rows": (product, (numbers(2, 33), numbers(33, 130))),
    "edges": (product, (numbers(33, 17), numbers(17, 65))),
    "leaves": (product, (numbers(9, 2048), numbers(2048, 20))),
    "odd leaves": (product, (numbers(9, 1044), numbers(1044, 3))),
    "both turned": (lambda x, w: x.T @ w.T, (numbers(21, 34), numbers(40, 21))),
    "linear": (lambda x, w: F.gelu(F.linear(x, w, w[:, 0])), (numbers(34, 48), numbers(70, 48))),
    "batches": (lambda x, w: x[:, :, ::2] @ w, (numbers(2, 10, 14), numbers(2, 7, 9))),
    "heads": (lambda x, w: gn.einsum("tbhd,sbhd->bhts", x, w), (numbers(9, 2, 3, 8),) * 2),
    "float64": (lambda x, w: x.double() @ w.double(), (numbers(33, 40), numbers(40, 36))),
    "bf16": (lambda x, w: x.bfloat16() @ w.bfloat16(), (numbers(9, 35), numbers(35, 40))),
    "small bf16": (
        lambda x, w: (x * 2e-38).bfloat16() @ w.bfloat16(),
        (numbers(9, 7), numbers(7, 40)),
    ),
    "half": (lambda x, w: x.half() @ w.half(), (numbers(9, 33), numbers(33, 40))),
    "bytes": (
        lambda x, w: (x * 20).to(gn.int8).int() @ (w * 20).to(gn.int8).int(),
        (numbers(9, 33), numbers(33, 40)),
    ),
    "windows": (
        lambda x, w: F.conv2d(x, w, padding=1, stride=2),
        (numbers(2, 4, 9, 8), numbers(9, 4, 3, 3)),
    ),
    "windows back": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        (numbers(1, 9, 5, 4), numbers(9, 8, 3, 3)),
    ),
    "prologue": (
        lambda x, w: F.layer_norm(x, (70,), x[0], x[1]) @ w,
        (numbers(40, 70), numbers(70, 40)),
    ),
    "not finite": (
        lambda x, w: (x.log() / 0) @ w,
        (numbers(9, 19), numbers(19, 17)),
    ),
}
"""Products of all kinds, with sizes about those of tiles and leaves."""


there = pytest.fixture(fake_card, name="there")


@pytest.mark.parametrize("shape", [(1, 128), (3, 128)])
def test_products_have_the_bits_of_the_cpu(there, shape):
    there.shape = shape
    for name in PRODUCTS:
        assert agrees(*PRODUCTS[name]), name


@pytest.mark.parametrize("name", ["edges", "linear", "windows", "prologue", "float64"])
def test_large_tiles_have_them_too(there, name, monkeypatch):
    monkeypatch.setattr(tiled, "ENOUGH", 1)
    there.shape = (2, 128)

    assert agrees(*PRODUCTS[name])


@pytest.mark.parametrize("name", ["two rows", "edges", "windows"])
def test_no_order_of_threads_changes_a_bit(there, name):
    there.shape, there.order = (2, 128), np.random.default_rng(0)

    assert agrees(*PRODUCTS[name])


def test_an_order_shows_where_nobody_waits(there):
    there.shape, there.order = (1, 128), np.random.default_rng(0)
    assert agrees(*PRODUCTS["edges"])
    waits = [b for kernel in there.kernels.values() for b in kernel.blocks if b.meets == ""]
    try:
        for block in waits:
            block.meets = None
        assert not agrees(*PRODUCTS["edges"])
    finally:
        for block in waits:
            block.meets = ""


def spec_of(batch: int, rows: int, columns: int, steps: int, scalar: str = "float") -> MatmulSpec:
    """A product of contiguous matrices."""
    return MatmulSpec(
        scalar,
        (Axis(batch, a=rows * steps, b=steps * columns, c=rows * columns),),
        (Axis(rows, a=steps, c=columns),),
        (Axis(columns, b=1, c=1),),
        (Axis(steps, a=1, b=columns),),
    )


@pytest.mark.parametrize(
    ("sizes", "tile"),
    [
        ((1, 4096, 4096, 512), (64, 128)),
        ((128, 64, 64, 512), (64, 128)),
        ((1, 64, 64, 512), (32, 64)),
        ((1, 8, 4096, 512), (8, 16)),
        ((1, 4096, 4096, 3), (32, 64)),
        ((1, 4096, 4096, 512, "double"), (64, 64)),
    ],
)
def test_tiles_are_large_where_there_are_many(sizes, tile):
    assert team_tile(spec_of(*sizes)) == tile
    assert choices.measured_tile(spec_of(*sizes), gn.compiler.target.CARD).tile == tile


def test_a_product_reads_what_it_needs(there):
    x, w = (gn.tensor(numbers(*shape), device="cuda") for shape in ((64, 64), (64, 64)))
    gn.evaluate([x, w])
    there.shape, there.traffic = (2, 128), type(there.traffic)()
    gn.evaluate(x @ w)

    assert there.traffic.share("read") > 0.9
    assert there.traffic.share("written") > 0.9
    # two tiles: rows once, columns twice, two leaves' sums, and steps after the last ones
    assert there.traffic.bytes["read"] < 4 * 64 * 64 * 6
