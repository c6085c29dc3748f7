"""Collectives that gradients pass, by the signatures of torch.distributed.nn."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.errors import ShapeError
from tests.distributed.on_threads import on_threads

F = dist.nn


def calls(T: ModuleType, F: Any) -> dict[str, Callable]:
    """Each function of a tensor of three numbers; T and F are modules of ours or PyTorch's."""
    return {
        "gather": lambda x: F.gather(x, 1),
        "all_gather": lambda x: F.all_gather(x),
        "reduce": lambda x: (F.reduce(x, 1),),
        "scatter": lambda x: (F.scatter([x, x * 2], 1),),
        "broadcast": lambda x: (F.broadcast(x, 1),),
        "all_to_all": lambda x: F.all_to_all([T.zeros(3), T.zeros(3)], [x, x * 3]),
        "all_to_all_single": lambda x: (F.all_to_all_single(T.zeros(4), T.cat([x, x[:1]])),),
        "reduce_scatter": lambda x: (F.reduce_scatter(T.zeros(3), [x, x * 3]),),
        "all_reduce": lambda x: (F.all_reduce(x),),
    }


CALLS = calls(gn, F)
EXPECTED = {
    "gather": [
        [[[0, 0, 0], [0, 0, 0]], [2, 4, 6]],
        [[[0, 1, 2], [1, 2, 3]], [4, 8, 12]],
    ],
    "all_gather": [
        [[[0, 1, 2], [1, 2, 3]], [3, 6, 9]],
        [[[0, 1, 2], [1, 2, 3]], [6, 12, 18]],
    ],
    "reduce": [[[[0, 1, 2]], [2, 4, 6]], [[[1, 3, 5]], [2, 4, 6]]],
    "scatter": [[[[1, 2, 3]], [0, 0, 0]], [[[2, 4, 6]], [5, 10, 15]]],
    "broadcast": [[[[1, 2, 3]], [0, 0, 0]], [[[1, 2, 3]], [3, 6, 9]]],
    "all_to_all": [
        [[[0, 1, 2], [1, 2, 3]], [7, 14, 21]],
        [[[0, 3, 6], [3, 6, 9]], [14, 28, 42]],
    ],
    "all_to_all_single": [[[[0, 1, 1, 2]], [5, 2, 2]], [[[2, 0, 3, 1]], [11, 4, 6]]],
    "reduce_scatter": [[[[1, 3, 5]], [7, 14, 21]], [[[3, 9, 15]], [7, 14, 21]]],
    "all_reduce": [[[[1, 3, 5]], [3, 6, 9]], [[[1, 3, 5]], [3, 6, 9]]],
}
"""Of each, by rank: results, and the gradient, as PyTorch's ranks by gloo give them."""


def weighted(made: tuple, rank: int, T: ModuleType = gn) -> Any:
    """A sum in which every element, result and rank counts for itself."""
    parts = [(k + 1) * (t * T.arange(1.0, len(t) + 1)).sum() for k, t in enumerate(made)]
    return sum(parts) * (rank + 1)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_pytorchs(name: str, compiled: bool):
    def work(rank: int, ranks: int) -> list:
        def step(x: gn.Tensor) -> tuple:
            made = CALLS[name](x)
            (g,) = gn.autograd.grad(weighted(made, rank), (x,))
            return [t.detach() for t in made], g

        x = (gn.arange(3.0) + rank).requires_grad_()
        made, g = (gn.compile(step) if compiled else step)(x)
        return [[t.tolist() for t in made], g.tolist()]

    assert on_threads(work, 2) == EXPECTED[name]


def test_what_is_given_for_results_is_written():
    def work(rank: int, ranks: int) -> list:
        row, both = gn.zeros(4), [gn.zeros(1), gn.zeros(1)]
        F.all_to_all_single(row, gn.arange(4.0), [2, 2], [2, 2])
        F.all_to_all(both, [gn.ones(1) * rank, gn.ones(1) * 5])
        with pytest.raises(ShapeError, match=r"expected an output of \(2,\): got \(3,\)"):
            F.reduce_scatter(gn.zeros(3), [gn.ones(2), gn.ones(2)])
        return [row.tolist(), [x.item() for x in both]]

    assert on_threads(work, 2) == [
        [[0.0, 1.0, 0.0, 1.0], [0.0, 1.0]],
        [[2.0, 3.0, 2.0, 3.0], [5.0, 5.0]],
    ]


def test_a_sum_of_infinite_numbers_leaves_other_ranks_gradients_alone():
    def work(rank: int, ranks: int) -> list:
        x = gn.full((2,), float("inf")).requires_grad_()
        made = F.reduce(x, 0)
        made.sum().backward()
        return [made.tolist(), x.grad.tolist()]

    assert on_threads(work, 2) == [[[float("inf")] * 2, [1.0, 1.0]]] * 2


def test_pytorchs_modules_are_found():
    from gnomon.distributed._functional_collectives import all_reduce
    from gnomon.distributed.nn.functional import all_gather

    assert all_gather is F.all_gather
    assert all_reduce is dist.functional.all_reduce
