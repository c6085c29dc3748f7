"""Products of few rows by teams: the bits of the CPU's kernels, whoever computes which chunk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.codegen.kernels.tiled import team_tile
from gnomon.ir.sizes import ShapeEnv
from gnomon.nn import functional as F
from tests.codegen.kernels.test_tiled import spec_of
from tests.cuda.cards import agrees, card_of_teams

R = np.random.default_rng(13)


def numbers(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


FEW: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    "a row": (lambda x, w: x @ w, (numbers(1, 70), numbers(70, 33))),
    "leaves": (lambda x, w: x @ w, (numbers(2, 2048), numbers(2048, 5))),
    "odd leaves": (lambda x, w: F.linear(x, w), (numbers(3, 1044), numbers(20, 1044))),
    "linear and more": (
        lambda x, w: F.gelu(F.linear(x, w, w[:, 0])) * 2,
        (numbers(5, 96), numbers(40, 96)),
    ),
    "a prologue": (
        lambda x, w: F.layer_norm(x, (70,), x[0], x[1]) @ w,
        (numbers(7, 70), numbers(70, 40)),
    ),
    "batches": (lambda x, w: x @ w, (numbers(3, 8, 20), numbers(3, 20, 17))),
    "columns": (lambda x, w: w.T @ x.T, (numbers(2, 40), numbers(40, 50))),
    "float64": (lambda x, w: x.double() @ w.double(), (numbers(2, 300), numbers(300, 9))),
    "bf16": (lambda x, w: x.bfloat16() @ w.bfloat16(), (numbers(2, 301), numbers(301, 9))),
    "half": (lambda x, w: x.half() @ w.half(), (numbers(4, 33), numbers(33, 9))),
}
"""Products of one to eight rows."""


there = pytest.fixture(card_of_teams(2), name="there")


def test_few_rows_have_the_bits_of_the_cpu(there):
    for name in FEW:
        assert agrees(*FEW[name]), name


def test_no_order_of_threads_changes_a_bit(there):
    there.order = np.random.default_rng(0)

    assert agrees(*FEW["leaves"])


@pytest.mark.parametrize(("rows", "high"), [(1, 1), (2, 2), (3, 4), (8, 8)])
def test_a_tile_has_all_rows(rows, high):
    spec = spec_of(1, rows, 4096, 4096)

    assert team_tile(spec) == (high, 16)
    assert team_tile(spec, splits=False) == (8, 128)


def test_rows_known_at_a_call_have_no_tile_of_few():
    rows = ShapeEnv().symbol(3)

    assert team_tile(spec_of(1, rows, 4096, 4096)) == (8, 128)
