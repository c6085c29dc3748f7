"""One process and several ranks give the same bits: loss, gradients, parameters, optimizer state.

A small part runs always; the whole matrix of layouts carries the marker `proof`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gnomon.ops import canonical
from gnomon.settings import override
from tests.distributed.programs import Sizes, Step, decoder, mlp
from tests.distributed.ranks import Hashes, OnMesh, alone
from tests.witnesses import forgotten

SIX_HEADS = Sizes(heads=6, vocabulary=300)
"""Six heads; 300 words are two leaves of 150."""
FOUR = Sizes(heads=8, vocabulary=1000)
"""For four ranks: 1000 words are four leaves of 250."""
NOT_DIVIDED = Sizes(heads=3, head=128, vocabulary=307)
"""Three heads on two ranks repeat attention; of a prime vocabulary the table's width is split."""
LONG = Sizes(rows=4, tokens=256, heads=4, shared_by=2, vocabulary=256)
"""Several leaves of tokens, and query heads that share key heads."""
DEEP = Sizes(heads=6, vocabulary=300, layers=2)

STEPS = {
    "mlp": lambda optimizer: mlp(optimizer),
    "blocks": lambda optimizer: decoder(optimizer, SIX_HEADS),
    "four": lambda optimizer: decoder(optimizer, FOUR),
    "undivided": lambda optimizer: decoder(optimizer, NOT_DIVIDED),
    "long": lambda optimizer: decoder(optimizer, LONG),
    "deep": lambda optimizer: decoder(optimizer, DEEP),
}
WORDS = {"blocks": 300, "four": 1000, "undivided": 307, "long": 256, "deep": 300}

DATA2, DATA4 = (("data", 2),), (("data", 4),)
TENSOR2, TENSOR4 = (("tensor", 2),), (("tensor", 4),)
BOTH = (*DATA2, *TENSOR2)
EIGHT = (("data", 4), ("tensor", 2))


@cache
def given(name: str, optimizer: str) -> tuple[Step, tuple[np.ndarray, ...], Hashes]:
    """A step, its inputs, and what one process gives."""
    step = STEPS[name](optimizer)
    arrays = tuple(step.arrays(seed=7, vocabulary=WORDS.get(name, 0)))
    return step, arrays, alone(step, arrays)


def check(name: str, optimizer: str, axes: tuple, microbatches: int, fully: bool = False) -> OnMesh:
    """The ranks' hashes are one process's."""
    step, arrays, expected = given(name, optimizer)

    divided = OnMesh(step, *axes, microbatches=microbatches, fully=fully)

    assert divided.run(arrays) == expected
    return divided


def is_spread(divided: OnMesh, parameters: bool = True) -> None:
    """Nobody computes everything, nobody keeps everything."""
    assert divided.share_of_flops() <= 1.1
    assert not parameters or divided.share_of_parameters() <= 1.1


@pytest.mark.parametrize(
    ("name", "axes", "microbatches"),
    [
        ("mlp", DATA4, 2),
        ("mlp", TENSOR4, 1),
        ("mlp", BOTH, 4),
        ("blocks", DATA2, 1),
        ("blocks", TENSOR2, 1),
        ("blocks", BOTH, 2),
    ],
)
def test_ranks_give_the_bits_of_one_process(name, axes, microbatches):
    is_spread(check(name, "sgd", axes, microbatches))


def test_microbatches_give_the_bits_of_one_batch():
    check("mlp", "adamw", (), 2)
    check("mlp", "adamw", (), 8)


def test_fully_split_parameters_give_the_bits_of_one_process():
    check("mlp", "adamw", DATA2, 1, fully=True)


@pytest.mark.parametrize(
    ("name", "axes", "microbatches"), [("mlp", DATA4, 2), ("mlp", BOTH, 4), ("blocks", BOTH, 1)]
)
def test_so_do_ranks_whose_leaves_are_many_blocks(name, axes, microbatches, monkeypatch):
    step, arrays, before = given(name, "adamw")
    monkeypatch.setattr(canonical, "BLOCK", 2)

    with forgotten():
        expected = alone(step, arrays)
        got = OnMesh(step, *axes, microbatches=microbatches).run(arrays)

    assert expected != before
    assert got == expected


def test_without_canonical_order_the_bits_differ():
    step, arrays, expected = given("mlp", "sgd")

    with override(numerics="fast"):
        got = OnMesh(step, *DATA4).run(arrays)

    assert got["grad:in"] != expected["grad:in"]
    assert got["new:in"] != expected["new:in"]


MATRIX = [
    (name, optimizer, axes, microbatches)
    for name, meshes in {
        "mlp": ((), DATA2, DATA4, TENSOR2, TENSOR4, BOTH),
        "blocks": ((), DATA2, DATA4, TENSOR2, BOTH),
        "four": (TENSOR4, BOTH),
        "deep": (DATA2, TENSOR2, BOTH),
    }.items()
    for optimizer in ("sgd", "adamw")
    for axes in meshes
    for microbatches in (1, 2, 4)
    if (microbatches, axes) != (4, DATA4)
]


def label(case: object) -> str:
    """How a case is called in a report."""
    if isinstance(case, tuple):
        return "x".join(f"{name}{count}" for name, count in case) or "one"
    return str(case)


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize(("name", "optimizer", "axes", "microbatches"), MATRIX, ids=label)
def test_every_layout_gives_the_bits_of_one_process(name, optimizer, axes, microbatches):
    is_spread(check(name, optimizer, axes, microbatches))


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize("axes", [TENSOR2, BOTH], ids=label)
@pytest.mark.parametrize("microbatches", [1, 2, 4])
def test_heads_and_words_that_ranks_do_not_divide_give_the_same_bits(axes, microbatches):
    is_spread(check("undivided", "adamw", axes, microbatches))


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize("axes", [(), DATA2, DATA4, TENSOR2, BOTH], ids=label)
def test_long_rows_and_shared_key_heads_give_the_same_bits(axes):
    divided = check("long", "adamw", axes, 1 if axes == DATA4 else 2)

    # the many positions have no split axis, so parameters are not counted
    is_spread(divided, parameters=False)


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize("name", ["mlp", "blocks"])
@pytest.mark.parametrize("axes", [DATA2, (*DATA2, *TENSOR2)], ids=label)
def test_fully_split_blocks_give_the_same_bits(name, axes):
    check(name, "adamw", axes, 2, fully=True)


@pytest.mark.proof
@pytest.mark.share(6)
@pytest.mark.parametrize("axes", [DATA4, EIGHT, (("data", 2), ("tensor", 4))], ids=label)
def test_more_rows_for_more_ranks_and_microbatches(axes):
    step = mlp("adamw", rows=16)
    arrays = step.arrays(seed=3)

    assert OnMesh(step, *axes, microbatches=4).run(arrays) == alone(step, arrays)
