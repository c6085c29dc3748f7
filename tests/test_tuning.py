"""Products are measured where that is asked for; the clock is the test's own."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import tuning
from gnomon.codegen import choices
from gnomon.codegen.choices import candidates
from gnomon.codegen.scope import budget
from gnomon.ir.node import Graph
from gnomon.ops.primitives import contract
from gnomon.processor import machine
from gnomon.settings import current, override
from tests.codegen.kernels.operands import plain
from tests.compiled import execute, program
from tests.schedule.kernels_of import graph, leaf
from tests.strategies import same_bits


@pytest.fixture(autouse=True)
def _nothing_decided(monkeypatch, tmp_path):
    monkeypatch.setattr(choices, "_choices", {})
    with override(cache_dir=str(tmp_path)):
        yield


def product(rows: int = 96, columns: int = 48, steps: int = 40) -> Graph:
    """A product and what is made of it."""
    x = leaf(rows, steps)
    y = x.arena.input((steps, columns), x.dtype)
    return graph(contract("ab,bc->ac", x, y) * 2.0)


def test_the_quickest_candidate_is_taken():
    spec = plain("NN", 96, 48, 40)
    shapes = candidates(spec, machine())
    for number, shape in enumerate(shapes):
        ticks = iter(clock(len(shapes), number))
        found = tuning.measure(spec, machine(), lambda ticks=ticks: next(ticks), 1e9)

        assert found.tile == shape
        assert (found.regret == 0) == (number == 0)


def clock(shapes: int, quick: int) -> list[float]:
    """What a clock says: at the start, around each run, after each turn, at last."""
    now, told = 0.0, [0.0]
    for turn in range(tuning.ROUNDS):
        for number in range(shapes):
            told.append(now)
            now += 0.1 if number == quick else 1.0
            told.append(now)
        told += [now] if turn else []
    return [*told, now]


def test_every_candidate_has_the_same_bits(rng):
    made = product()
    arrays = [rng.normal(size=x.shape).astype(np.float32) for x in made.inputs]
    (plainly,) = execute(program(made), made, arrays)
    with budget.set(0.5):
        (tuned,) = execute(program(made), made, arrays)

    assert same_bits(plainly, tuned)


def test_a_product_is_measured_once_and_remembered():
    for source in ("measured", "remembered"):
        choices._choices.clear()
        with budget.set(2.0):
            assert f"{source} in" in program(product()).explain_gemm()


def test_without_being_asked_nothing_is_measured():
    assert "by the model" in program(product()).explain_gemm()
    assert not choices._choices


def test_what_is_beyond_the_budget_is_left_to_the_model():
    seconds = iter(range(100))
    kernels = program(product()).kernels

    with budget.set(0.5):
        tuning.improve(kernels, machine(), current(), lambda: next(seconds))
    assert not choices._choices


def test_a_compiled_function_measures_in_the_mode_that_asks_for_it():
    x, w = gn.ones(64, 40), gn.ones(40, 32)
    quick, tuned = gn.compile(lambda: x @ w), gn.compile(lambda: x @ w + 0, mode="max-autotune")
    assert (quick() == tuned()).all()

    assert "measured in" in tuned.explain_gemm()
