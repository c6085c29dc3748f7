"""Axes without elements: every kernel still writes every result, at every size that comes next.

The generator is tests/fuzz_empty.py; beside PyTorch it runs in tests/parity.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest

import gnomon as gn
from gnomon.compiler import pipeline
from gnomon.errors import IndexOutOfBounds, ShapeError
from gnomon.nn import functional as F
from tests.fenced import close, fenced, judged
from tests.fuzz_empty import alike, check, lawful
from tests.test_shapes import KERNELS, LOOPS, fresh, gradient

Shape = tuple[int, int]
TURNS: tuple[tuple[Shape, ...], ...] = (
    ((0, 10), (4, 10), (4, 0), (6, 33), (0, 0), (1, 5)),
    ((5, 10), (9, 10), (0, 10), (33, 10), (1, 10)),
    ((4, 5), (4, 9), (4, 33), (4, 0), (4, 1)),
    ((3, 0), (0, 3), (1, 1), (1, 0), (0, 1)),
)
"""Sizes in the order in which they come; at some, a program may be refused."""

FUNCTIONS: dict[str, Callable] = {
    **LOOPS,
    **KERNELS,
    **{f"gradient of {name}": gradient(LOOPS[name]) for name in ("softmax", "norm", "turned")},
    "several results": lambda x: several(x),
    "running best": lambda x: x.cummax(1).values.exp().sum(1),
    "joined": lambda x: gn.cat([x * 2, x.exp(), x[:, :0]], 1).sum(0),
    "slice": gradient(lambda x: x[1:, :0] * x[:0, :1].sum() + x[:1, 1:].sum()),
    "convolution": lambda x: F.conv1d(F.pad(x[:, None], (2, 2)), gn.ones(3, 1, 3)).relu().sum(2),
    **{
        f"gradient of a convolution by steps of {n}": gradient(
            lambda x, n=n: F.conv1d(x[:, None], gn.ones(3, 1, 3), stride=n, padding=2).exp().sum(2)
        )
        for n in (1, 2)
    },
    "pooling": gradient(lambda x: F.max_pool1d(F.pad(x[:, None], (2, 3)), 3, 2)),
    "epilogue": lambda x: F.gelu(x @ gn.ones(x.shape[1], 7) + 1).sum(1),
    "prologue": lambda x: (x.exp() * 2) @ gn.ones(x.shape[1], 20),
}


def several(x: gn.Tensor) -> gn.Tensor:
    """Results with and without elements, by one kernel if it can."""
    v = x * x + 1
    a = v.sum(1)
    return gn.cat([v, (a + 1)[:, None], a[:, None]], 1)


def outcome(run: Callable, x: gn.Tensor) -> np.ndarray | str:
    """A result, or the name of an error."""
    try:
        return run(x.clone()).detach().numpy()
    except gn.errors.GnomonError as error:
        return type(error).__name__


SELDOM = (pytest.mark.proof, pytest.mark.share(6))


@pytest.mark.parametrize(
    "turns", [0, *(pytest.param(k, marks=SELDOM) for k in range(1, len(TURNS)))]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_of_nothing_come_between_others(name: str, turns: int):
    function = FUNCTIONS[name]

    with fresh(True), fenced(), judged(lawful):
        compiled = gn.compile(function)
        for n, m in TURNS[turns]:
            x = gn.from_numpy(np.random.default_rng(n * m).standard_normal((n, m), np.float32))
            found, right = outcome(compiled, x), outcome(function, x)
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_hold_at_every_size(seed: int):
    with fenced(), judged(lawful):
        check(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 31000, 1000))
def test_many_random_programs_hold_at_every_size(seed: int):
    with fenced(), judged(lawful):
        for k in range(20):
            check(seed + k)


def test_the_fuzzer_sees_results_that_are_not_written():
    without = patch.object(pipeline, "empty", lambda graph: graph)
    with without, fenced(), judged(close), pytest.raises(AssertionError, match="is right"):
        check(33)


def test_what_rounding_may_do_is_excused_and_no_more():
    x = gn.tensor([3.0, -3.0])
    ways = {"lost": lambda: (x + 1e4) - 1e4, "kept": lambda: x * 2}

    for name, off, right in (("lost", 5e-3, True), ("lost", 0.1, False), ("kept", 0.01, False)):
        made = ways[name]().numpy()
        assert alike([made + off], [made], lambda n=name: [ways[n]().numpy()]) is right


@pytest.mark.parametrize("seed", [9016, 9146])
def test_programs_whose_results_rounding_decides_are_not_taken_for_wrong(seed: int):
    with fenced(), judged(lawful):
        assert check(seed) == 10


def test_a_fold_of_nothing_after_others():
    def function(x):
        v = x * x + 1
        a = v.sum(1)
        return v, a, a + 1

    compiled = gn.compile(function)
    for n in (5, 9, 33, 0):
        _, a, b = compiled(gn.from_numpy(np.ones((4, n), np.float32)))

        assert a.tolist() == [2.0 * n] * 4
        assert b.tolist() == [2.0 * n + 1] * 4


LOOKUPS = {
    "rows": lambda table, index: table[index],
    "embedding": lambda table, index: F.embedding(index, table),
    "index_select": lambda table, index: gn.index_select(table, 0, index),
    "bags": lambda table, index: F.embedding_bag(index[None], table, mode="sum"),
}


@pytest.mark.parametrize(("name", "compiled"), [*product(LOOKUPS, (False, True))])
def test_a_lookup_in_a_table_without_rows_is_reported(name: str, compiled: bool):
    run = gn.compile(LOOKUPS[name]) if compiled else LOOKUPS[name]
    index = gn.tensor([0, 1])

    for rows in (3, 4, 5):
        assert run(gn.ones(rows, 3), index).sum() == 6
    with fenced(), pytest.raises(IndexOutOfBounds, match=r"is outside|out of bounds"):
        gn.evaluate(run(gn.from_numpy(np.zeros((0, 3), np.float32)), index))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("target", [[0, 1], [7, -100], [-100, 0]])
def test_a_class_where_there_are_none_is_reported(target: list, reduction: str, compiled: bool):
    def loss(x, weight, target):
        settings = {"reduction": reduction, "label_smoothing": 0.125}
        return F.linear_cross_entropy(x, weight, target, **settings)

    run = gn.compile(loss) if compiled else loss
    given = gn.ones(2, 3), gn.zeros(0, 3)

    with fenced(), pytest.raises(IndexOutOfBounds, match="a position is outside its axis"):
        gn.evaluate(run(*given, gn.tensor(target)))
    nothing = run(*given, gn.tensor([-100, -100]))
    assert nothing.isnan() if reduction == "mean" else not nothing.any()


def test_rows_added_to_a_table_without_rows_are_refused():
    with pytest.raises(IndexOutOfBounds, match="scatter: an axis of size 0 has no positions"):
        gn.zeros(0, 3).index_add(0, gn.tensor([0]), gn.ones(1, 3))


CHOICES = ("amax", "amin", "argmax", "argmin", "max", "min", "median")


@pytest.mark.parametrize("name", CHOICES)
def test_nothing_is_chosen_of_nothing(name: str):
    with pytest.raises(ShapeError, match=r"nothing to choose from: x \(3, 0\) is empty along"):
        getattr(gn, name)(gn.zeros(3, 0), 1)


def test_folds_of_nothing_are_their_identities():
    x = gn.from_numpy(np.zeros((2, 0), np.float32))

    assert x.sum(1).tolist() == [0, 0]
    assert x.prod(1).tolist() == [1, 1]
    assert x.mean(1).isnan().all()
    assert x.logsumexp(1).tolist() == [-np.inf, -np.inf]
    assert (x > 0).any(1).tolist() == [False, False]
    assert (x > 0).all(1).tolist() == [True, True]
    assert x.median().isnan()
    assert (x @ x.T).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ShapeError, match=r"quantile: nothing to choose from"):
        x.quantile(0.5)
    with pytest.raises(ShapeError, match=r"norm: nothing to choose from"):
        gn.linalg.vector_norm(x, float("inf"))


def test_batches_of_nothing_leave_running_statistics_alone():
    norm = gn.nn.BatchNorm1d(3)

    y = norm(gn.zeros(0, 3))

    assert y.shape == (0, 3)
    assert norm.running_mean.tolist() == [0, 0, 0]
    assert norm.running_var.tolist() == [1, 1, 1]


def test_edges_of_an_empty_axis_cannot_be_continued():
    for mode in ("reflect", "replicate", "circular"):
        with pytest.raises(ShapeError, match=rf"pad: {mode} pads of 1 and 1 do not fit axis 2"):
            F.pad(gn.zeros(1, 2, 0), (1, 1), mode=mode)
    with pytest.raises(ShapeError, match="pad: cuts of -1 and 2 do not fit axis 1"):
        F.pad(gn.zeros(2, 0), (-1, 2))
