"""Which tiles a product may take, and which it takes."""

from __future__ import annotations

import pytest

from gnomon.codegen import choices
from gnomon.codegen.choices import Choice, candidates, class_of, decide, measured_tile
from gnomon.codegen.kernels.blocking import choose_tile, fits
from gnomon.codegen.kernels.unpacked import reader_of
from gnomon.codegen.machine import AVX2, AVX512
from gnomon.ir import memo
from gnomon.ir.sizes import ShapeEnv
from tests.codegen.kernels.operands import plain


@pytest.fixture(autouse=True)
def _nothing_decided():
    memo.clear()


@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=lambda machine: machine.name)
@pytest.mark.parametrize("sizes", [(512, 512, 512), (64, 384, 384), (2048, 65, 512)])
def test_candidates_are_made_from_the_problem(sizes, machine):
    rows, columns, steps = sizes
    found = candidates(plain("NN", rows, columns, steps), machine)

    model = choose_tile(machine, "float", rows, columns)
    assert found[0] == (model.rows, model.columns)
    assert 1 < len(found) <= choices.MOST
    assert all(fits(machine, high, wide // machine.lanes("float")) for high, wide in found)


def test_few_rows_are_read_where_they_lie():
    assert candidates(plain("NN", 1, 512, 512), AVX2) == []


def test_a_product_takes_what_its_class_was_found_to():
    spec, near, other = (plain("NN", rows, 512, 384) for rows in (512, 540, 1024))
    decide(class_of(spec, AVX2), Choice((4, 16), (((6, 16), 2.0), ((4, 16), 1.0)), 0.1))

    assert measured_tile(spec, AVX2).tile == measured_tile(near, AVX2).tile == (4, 16)
    assert measured_tile(other, AVX2).tile == other.tile


@pytest.mark.parametrize("varies", range(3))
def test_a_product_of_many_sizes_asks_nothing_that_was_found_of_some(varies: int):
    sizes, env = [64, 384, 512], ShapeEnv()
    decide(class_of(plain("NN", *sizes), AVX2), Choice((4, 16), (((4, 16), 1.0),), 0.1))
    sizes[varies] = env.symbol(sizes[varies])

    measured_tile(plain("NN", *sizes), AVX2)

    assert not env.guards


def test_regret_is_what_the_model_alone_would_cost():
    assert Choice((4, 16), (((6, 16), 3.0), ((4, 16), 2.0)), 0.1).regret == 0.5
    assert Choice((6, 16), (((6, 16), 2.0), ((4, 16), 3.0)), 0.1).regret == 0.0


def test_steps_that_vary_are_asked_for_no_guard():
    sizes = ShapeEnv()
    for steps, left in ((sizes.symbol(48), "near"), (sizes.symbol(100_000), "far")):
        spec = measured_tile(plain("TN", 64, 96, steps), AVX2)
        assert (spec.left, spec.tile) == (left, (0, 0))
    assert measured_tile(plain("TN", 8, 96, sizes.symbol(48)), AVX2).tile != (0, 0)
    few = ShapeEnv()
    for rows, left in ((few.symbol(9), "copied"), (few.symbol(16), "near")):
        spec = measured_tile(plain("NN", rows, 96, 64), AVX2)
        assert spec.left == left
        assert (reader_of(spec) is None) == (left == "copied")
    assert [text for text in sizes.guards if "a2" in text or "a0" in text or "a1" in text] == []
    assert measured_tile(plain("TN", 64, 96, 48), AVX2).left == "near"


def test_of_many_counts_of_rows_each_may_be_few_or_many():
    sizes = ShapeEnv()
    rows = [sizes.symbol(16 + k) for k in range(choices.FEW_SIZES + 1)]
    found = [measured_tile(plain("NN", n, 96, 64), AVX2) for n in rows]

    assert {spec.left for spec in found} == {"copied"}
    assert [reader_of(spec) for spec in found] == [None] * len(rows)
    assert not sizes.guards
