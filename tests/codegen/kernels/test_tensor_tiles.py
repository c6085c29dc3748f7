"""Products by tensor cores: the sums of the model, in chains and trees that no tile changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from benchmarks.cuda import tensor_sums
from benchmarks.cuda.tensor_sums import on_card, product, same
from gnomon.codegen.kernels import tensor_tiles
from gnomon.codegen.kernels.tensor_tiles import tensor_tile
from gnomon.codegen.machine import CARD, TENSOR_CARD
from gnomon.compiler import target
from gnomon.nn import functional as F
from gnomon.settings import override
from tests.codegen.kernels.test_tiled import spec_of
from tests.cuda.cards import HOPPER, bits, card, card_of_teams
from tests.cuda.fake_driver import FakeDriver

there = pytest.fixture(card_of_teams(2, HOPPER), name="there")

R = np.random.default_rng(17)


def drawn(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


def cancelling(rows: int, columns: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    return tensor_sums.cancelling(R, rows, columns, steps)


LAYOUTS: dict[str, Callable[[gn.Tensor, gn.Tensor], gn.Tensor]] = {
    "rows": lambda a, b: a @ b,
    "columns": lambda a, b: F.linear(a, b.T.contiguous()),
    "both": lambda a, b: a.T.contiguous().T @ b.T.contiguous().T,
}
CASES = [
    ("bf16", "rows", (1, 1, 1)),
    ("bf16", "columns", (3, 130, 260)),
    ("bf16", "rows", (17, 40, 512)),
    ("bf16", "both", (40, 24, 528)),
    ("bf16", "both", (65, 70, 33)),
    ("f16", "rows", (17, 70, 256)),
    ("f16", "columns", (20, 24, 40)),
]
"""Factors, how they lie, and rows, columns and steps."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_products_have_the_sums_of_the_model(there, case):
    kind, layout, (rows, columns, steps) = case
    x, w = cancelling(rows, columns, steps)

    found = LAYOUTS[layout](on_card(x, kind), on_card(w, kind))

    assert same(found, product(x, w, kind), kind)


def test_infinities_nan_and_denormals_are_the_models(there):
    x, w = drawn(20, 48), drawn(48, 24)
    x[0, 3], x[1, 40], w[5, 2], x[2] = np.inf, np.nan, -np.inf, x[2] * 1e-39
    w[7] *= 2.0**120

    assert same(on_card(x, "bf16") @ on_card(w, "bf16"), product(x, w, "bf16"), "bf16")


def test_neighbours_are_copied_by_eight(there):
    known = set(there.modules.values())
    for sizes, expected in (((24, 40, 72), True), ((24, 41, 71), False)):
        x, w = cancelling(*sizes)
        gn.evaluate((on_card(x, "bf16") @ on_card(w, "bf16")).sin())
        made = [text for text in there.modules.values() if text not in known and "mma.sync" in text]
        known.update(made)
        assert any("ld.global.v4.b32" in text for text in made) == expected


def test_memory_at_odd_places_is_read_value_by_value(there):
    flat = drawn(1 + 32 * 64)
    memory = on_card(flat, "bf16")
    gn.evaluate(memory)
    x, w = memory[1:].view(32, 64), drawn(64, 24)

    assert same(x @ on_card(w, "bf16"), product(flat[1:].reshape(32, 64), w, "bf16"), "bf16")


def test_large_tiles_have_the_bits_of_small_ones(there, monkeypatch):
    x, w = cancelling(130, 136, 96)
    monkeypatch.setattr(tensor_tiles, "ENOUGH", 1)

    for b in (on_card(w, "bf16"), on_card(np.ascontiguousarray(w.T), "bf16").T):
        assert same(on_card(x, "bf16") @ b, product(x, w, "bf16"), "bf16")


FUSED: dict[str, tuple[tuple[Callable, ...], tuple[np.ndarray, ...]]] = {
    "an epilogue": (
        (lambda x, w: (F.linear(x, w, w[:, 0]), x, w), lambda y, x, w: F.gelu(y) * 2),
        (drawn(34, 48), drawn(70, 48)),
    ),
    "a prologue": (
        (lambda x, w: (F.layer_norm(x, (72,), x[0], x[1]), w), lambda y, w: y @ w),
        (drawn(40, 72), drawn(72, 40)),
    ),
    "heads": (
        (
            lambda x, w: (x.transpose(0, 1).contiguous(), w.transpose(0, 1).contiguous()),
            lambda x, w: x @ w.transpose(1, 2),
        ),
        (drawn(9, 2, 24), drawn(11, 2, 24)),
    ),
    "a gradient": (
        (lambda x, w: ((x @ w).relu(), x, w), lambda y, x, w: (y > 0).to(x.dtype).T @ x),
        (drawn(33, 40), drawn(40, 36)),
    ),
}
"""Programs of several parts, and what they are given."""


@pytest.mark.parametrize("name", FUSED)
def test_fused_parts_have_the_bits_of_parts_alone(there, name):
    (first, second), given = FUSED[name]
    x, w = (on_card(v, "bf16") for v in given)
    together = bits(second(*first(x, w)))

    apart = first(x, w)
    gn.evaluate(*apart)

    assert bits(second(*apart)) == together


def test_rows_have_the_bits_that_they_have_among_others(there):
    x, w = (on_card(v, "bf16") for v in cancelling(70, 40, 256))
    whole = (x @ w).float().cpu().numpy()

    for rows in (slice(0, 1), slice(3, 20), slice(30, 70)):
        part = x[rows].clone()
        gn.evaluate(part)
        assert np.array_equal((part @ w).float().cpu().numpy(), whole[rows])


def test_windows_have_the_sums_of_their_product(there):
    x, w = drawn(2, 16, 6, 5), drawn(9, 16, 1, 1)
    flat = x.transpose(0, 2, 3, 1).reshape(-1, 16)

    found = F.conv2d(on_card(x, "bf16"), on_card(w, "bf16"))

    expected = product(flat, np.ascontiguousarray(w.reshape(9, 16).T), "bf16")
    assert same(found.permute(0, 2, 3, 1).reshape(-1, 9), expected, "bf16")


def test_one_code_serves_all_sizes(there):
    f = gn.compile(lambda x, w: x @ w, dynamic=True)
    w = drawn(40, 24)
    for rows in (5, 33, 16, 70):
        x = drawn(rows, 40)
        assert same(f(on_card(x, "bf16"), on_card(w, "bf16")), product(x, w, "bf16"), "bf16")


def in_an_order(there: FakeDriver, order: int) -> bool:
    """Whether a product has the model's sums where threads run in an order drawn by a seed."""
    x, w = cancelling(20, 40, 260)
    there.order = np.random.default_rng(order)
    return same(on_card(x, "bf16") @ on_card(w, "bf16"), product(x, w, "bf16"), "bf16")


def test_an_order_of_threads_changes_a_bit_only_where_nobody_waits(there):
    assert in_an_order(there, 0)
    waits = [b for kernel in there.kernels.values() for b in kernel.blocks if b.meets == ""]
    try:
        for block in waits:
            block.meets = None
        assert not all(in_an_order(there, order) for order in range(3))
    finally:
        for block in waits:
            block.meets = ""


def test_no_steps_give_zeros(there):
    assert (on_card(drawn(3, 0), "bf16") @ on_card(drawn(0, 5), "bf16")).tolist() == [[0.0] * 5] * 3


def test_other_cards_and_those_that_are_asked_have_the_bits_of_the_cpu(there):
    x, w = cancelling(20, 40, 100)
    a, b = (gn.tensor(v).bfloat16() for v in (x, w))
    expected = bits(a @ b)

    with override(numerics="portable"):
        assert bits(on_card(x, "bf16") @ on_card(w, "bf16")) == expected
    assert bits(on_card(x, "bf16") @ on_card(w, "bf16")) != expected
    with card():
        assert bits(on_card(x, "bf16") @ on_card(w, "bf16")) == expected


def test_tiles_are_large_where_there_are_many():
    assert tensor_tile(spec_of(1, 4096, 4096, 512)) == (128, 128)
    assert tensor_tile(spec_of(1, 100, 4096, 512)) == (64, 64)
    assert tensor_tile(spec_of(1, 16, 4096, 512)) == (16, 128)


def test_the_card_says_whether_it_has_the_model(there):
    assert target.machine_of_card() is TENSOR_CARD
    with card():
        assert target.machine_of_card() is CARD
