"""Losses of logits in chunks: the bits of the definition, whatever the cut; little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnomon.dtypes import bfloat16, dtype_of, float16, float32, int64
from gnomon.ir.node import Arena, Graph
from gnomon.ops.logit_rows import logit_rows
from gnomon.ops.logits import LogitCut
from gnomon.ops.registry import asks_for_chunks
from gnomon.settings import override
from tests.compiled import execute, program, threads
from tests.gradients import gradients
from tests.oracle.graphs import exact

WIDTH = 8


class Loss:
    """logit_rows and its slopes, of random tensors."""

    def __init__(
        self, rows: tuple[int, ...], classes: int, cut: tuple | None, **about: Any
    ) -> None:
        self.arena, self.arrays, self.leaves = Arena(), [], []
        rng = np.random.default_rng(1)
        kind = about.get("kind", float32)
        x = self.leaf(rng.standard_normal((*rows, WIDTH)).astype(kind.numpy))
        weight = self.leaf(rng.standard_normal((classes, WIDTH)).astype(kind.numpy))
        columns = self.arena.node("iota", (), size=classes, dtype=int64)
        by_shares = about.get("by_shares", False)
        target = None if by_shares else self.leaf(rng.integers(0, classes, rows))
        bias = self.leaf(rng.standard_normal(classes)) if about.get("bias") else None
        weights = self.leaf(rng.uniform(0.5, 2, classes)) if about.get("weights") else None
        shares = self.leaf(rng.random((*rows, classes))) if by_shares else None
        self.result = logit_rows(
            (x, weight, columns, target, bias, weights, shares),
            softcap=about.get("softcap"),
            spread=about.get("spread", False),
            cut=None if cut is None else LogitCut(*cut),
        )
        g = self.leaf(rng.standard_normal(self.result.shape))
        wanted = [v for v in (x, weight, bias) if v is not None]
        self.slopes = gradients(self.result, g, wanted)

    def leaf(self, array: np.ndarray):
        """An input that holds an array."""
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        self.arrays.append(array)
        self.leaves.append(self.arena.input(array.shape, dtype_of(array.dtype)))
        return self.leaves[-1]

    def graph(self, slopes: int = 3) -> Graph:
        """The result, and the first few slopes."""
        return Graph(self.leaves, [self.result, *self.slopes[:slopes]])

    def run(self) -> list[bytes]:
        """All results as bytes."""
        graph = self.graph()
        return [x.tobytes() for x in execute(program(graph), graph, self.arrays)]


EVERY = {"bias": True, "weights": True, "spread": True}
CASES = [
    ((64,), 512, EVERY, [(1, 1), (2, 1), (1, 4), (4, 2), (16, 4), (4, 3, True)]),
    ((64,), 512, {**EVERY, "by_shares": True, "softcap": 5.0}, [(2, 4), (5, 5, True)]),
    ((8, 128), 256, {"softcap": 3.0}, [(8, 1), (1, 2), (4, 2), (7, 16, True)]),
    ((61,), 509, {**EVERY, "kind": bfloat16}, [(2, 2, True), (9, 5, True), (61, 509, True)]),
    ((2, 32), 512, {"kind": float16, "bias": True}, [(3, 4, True)]),
    ((32,), 512, {"bias": True, "by_shares": True}, [(2, 4), (8, 2)]),
    ((5,), 7, {}, [(1, 1)]),
]


@pytest.mark.parametrize(("rows", "classes", "about", "cuts"), CASES, ids=range(len(CASES)))
def test_every_cut_gives_the_same_bits(rows, classes, about, cuts):
    whole = Loss(rows, classes, None, **about).run()

    for cut in cuts:
        assert Loss(rows, classes, cut, **about).run() == whole, cut


def test_the_number_of_threads_changes_no_bit():
    loss = Loss((64,), 512, (2, 4), bias=True)
    made = program(loss.graph())
    found = []

    for count in (1, 2, 3):
        with threads(count):
            found.append([x.tobytes() for x in execute(made, loss.graph(), loss.arrays)])

    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("settings", [{}, {"without": "fuse"}, {"without": "claim"}], ids=str)
def test_the_bits_are_the_oracles(settings):
    loss = Loss((32,), 512, (2, 4), bias=True, spread=True, softcap=2.0)
    graph = loss.graph()

    found = execute(program(graph, **settings), graph, loss.arrays)

    for a, b in zip(found, exact(graph, loss.arrays), strict=True):
        assert a.tobytes() == b.tobytes()


def products(graph: Graph) -> int:
    """The multiplications and additions of a program's products."""
    with override(without="epilogues,prologues"):
        kernels = program(graph).kernels
    return sum(k.flops for k in kernels if k.name == "contract")


def test_what_nobody_asks_for_is_not_computed():
    one = 2 * 64 * 512 * WIDTH
    loss = Loss((64,), 512, (2, 4))

    counts = [products(loss.graph(slopes)) for slopes in (0, 1, 2)]

    assert counts == [one, 3 * one, 4 * one]


def test_pieces_share_one_place():
    cut, whole = (program(Loss((64,), 512, c).graph()).memory.total for c in ((2, 4), None))

    assert cut < whole / 3


def test_without_a_cut_a_region_is_opened():
    regions = [
        [x for x in Loss((64,), 512, cut).graph().nodes if asks_for_chunks(x)]
        for cut in (None, (2, 2))
    ]

    assert not regions[0]


def test_kernels_of_turns_are_the_programs_own():
    made = program(Loss((64,), 512, (2, 4)).graph())

    assert len(made.kernels) == len(made.program.steps)
    assert len({k.code.symbol for k in made.kernels}) < len(made.kernels) / 2
