"""How logits are cut: memory kept to a limit, or refused with what it would take."""

from __future__ import annotations

import pytest

from gnomon.dtypes import DType, bfloat16, float16, float32, int64
from gnomon.errors import ArgumentError
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import constant
from gnomon.ops.linear_cross_entropy import linear_cross_entropy
from gnomon.ops.logits import LogitCut
from gnomon.ops.pieces import LossSizes, choose_cut
from tests.compiled import program
from tests.gradients import gradients

ROWS, WIDTH, CLASSES = 256, 64, 4096
PROBLEM = LossSizes((ROWS,), WIDTH, CLASSES, 4, 4)


def arena_bytes(
    kind: DType = float32, sizes: tuple[int, int, int] = (ROWS, WIDTH, CLASSES), **named
) -> int:
    """What a loss and both its slopes take beside tensors given and made."""
    arena = Arena()
    rows, width, classes = sizes
    shapes = ((rows, width), (classes, width), (rows,))
    leaves = [
        arena.input(shape, dtype) for shape, dtype in zip(shapes, (kind, kind, int64), strict=True)
    ]
    loss = linear_cross_entropy(*leaves, **named)
    slopes = gradients(loss, constant(arena, 1.0, loss.dtype), leaves[:2])
    return program(Graph(leaves, [loss, *slopes])).memory.total


@pytest.mark.parametrize("strategy", ["full", "batch", "vocab", "auto"])
def test_a_program_takes_no_more_than_was_reckoned(strategy):
    cut = choose_cut(PROBLEM, strategy, None)

    assert arena_bytes(strategy=strategy) <= PROBLEM.memory(cut)


@pytest.mark.parametrize("limit", [1 << 19, 1 << 20, 1 << 22, 1 << 24])
def test_a_limit_is_kept(limit):
    assert arena_bytes(max_memory=limit) <= limit


ABOUT = [{"softcap": 3.0, "label_smoothing": 0.1, "z_loss": 0.1}, {"kind": bfloat16}]


@pytest.mark.parametrize("named", ABOUT, ids=["settings", "bfloat16"])
def test_a_limit_is_kept_whatever_the_loss(named):
    limit = 1 << 22

    assert 1 << 18 < arena_bytes(max_memory=limit, **named) <= limit


@pytest.mark.parametrize("kind", [float32, bfloat16], ids=str)
@pytest.mark.parametrize("classes", [4095, 4099])
@pytest.mark.parametrize("limit", [1 << 19, 1 << 20, 1 << 21])
def test_a_limit_is_kept_whatever_the_number_of_classes(kind, classes, limit):
    assert arena_bytes(kind, (ROWS, WIDTH, classes), max_memory=limit) <= limit


@pytest.mark.parametrize("kind", [bfloat16, float16], ids=str)
@pytest.mark.parametrize("strategy", ["auto", "batch", "vocab"])
@pytest.mark.parametrize("classes", [32000, 32001])
def test_at_the_size_that_matters_a_loss_adds_less_than_two_percent(kind, strategy, classes):
    rows, width = 4096, 8192
    given = 2 * (rows + classes) * width  # bytes of x and weight, and again of their slopes

    assert arena_bytes(kind, (rows, width, classes), strategy=strategy) <= 0.02 * 2 * given


def test_a_limit_that_cannot_be_kept_is_refused():
    with pytest.raises(ArgumentError, match=r"max_memory 1000 is too little: .* needs \d+ bytes"):
        arena_bytes(max_memory=1000)


def test_the_least_that_is_told_is_enough():
    with pytest.raises(ArgumentError) as told:
        choose_cut(PROBLEM, "vocab", 1)

    least = int(str(told.value).split(" needs ")[1].split()[0])
    assert choose_cut(PROBLEM, "vocab", least) is not None


def test_time_is_spent_only_where_memory_asks_for_it():
    assert choose_cut(PROBLEM, "auto", 1 << 30) is None
    assert choose_cut(PROBLEM, "auto", 1 << 20) is not None


def test_small_logits_are_not_cut():
    assert choose_cut(LossSizes((16,), 512, 100, 4, 4), "auto", None) is None


def test_pieces_have_no_more_rows_than_allowed():
    assert choose_cut(PROBLEM, "batch", None, most_rows=40) == LogitCut(8, 1)
