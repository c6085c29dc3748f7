"""Collectives that give new tensors: their values and gradients, eager and captured, alike."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.errors import ArgumentError, GradientError
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads

F = dist.functional
SPLITS = {0: [1, 3], 1: [2, 4]}
"""Of each rank, the rows that it sends to both."""


def weighted(y: gn.Tensor) -> gn.Tensor:
    """A sum in which every element counts for itself."""
    return (y * gn.arange(y.numel(), dtype=gn.float32).reshape(y.shape)).sum()


def calls(rank: int) -> dict:
    """Each function of a tensor (4, 2) of rank 0, (6, 2) of rank 1 where rows may differ."""
    goes, comes = SPLITS[rank], [SPLITS[k][rank] for k in (0, 1)]
    return {
        "gather": lambda x: F.all_gather_single(x[:4], 0),
        "columns": lambda x: F.all_gather_tensor(x[:4], 1),
        "scatter": lambda x: F.reduce_scatter_single(x[:4], "sum", 0),
        "average": lambda x: F.reduce_scatter_tensor(x[:4], "avg", 1),
        "sum": lambda x: F.all_reduce(x[:4]),
        "mean": lambda x: F.all_reduce(x[:4], "avg"),
        "product": lambda x: F.all_reduce(x[:4], dist.ReduceOp.PREMUL_SUM(2.0)),
        "exchange": lambda x: F.all_to_all_single(x, comes, goes),
        "broadcast": lambda x: F.broadcast(x[:4], 1),
        "several": lambda x: F.all_gather_single_coalesced([x[:2], x[2:4]])[1],
    }


def gradients(rank: int, ranks: int) -> list:
    """Of each function the result and the gradient: eager, then in a captured step."""
    found = []
    for call in calls(rank).values():

        def step(x: gn.Tensor, call=call) -> tuple[gn.Tensor, gn.Tensor]:
            y = call(x)
            (g,) = gn.autograd.grad(weighted(y), (x,))
            return y.detach(), g

        x = gn.arange(8.0 if rank == 0 else 12.0).reshape(-1, 2).requires_grad_()
        eager, compiled = step(x), gn.compile(step)(x)
        assert [t.tolist() for t in eager] == [t.tolist() for t in compiled]
        found.append([t.tolist() for t in eager])
    return found


def expected() -> list:
    """The same computed by one process of both ranks' tensors, by PyTorch's rules for gradients."""
    parts = [gn.arange(n).reshape(-1, 2).requires_grad_() for n in (8.0, 12.0)]
    four = [x[:4] for x in parts]
    sent = [x.split(SPLITS[k]) for k, x in enumerate(parts)]
    results = {
        "gather": 2 * [gn.cat(four)],
        "columns": 2 * [gn.cat(four, 1)],
        "scatter": [(four[0] + four[1])[:2], (four[0] + four[1])[2:]],
        "average": [((four[0] + four[1]) / 2)[:, k : k + 1] for k in (0, 1)],
        "sum": 2 * [four[0] + four[1]],
        "mean": 2 * [(four[0] + four[1]) / 2],
        "product": 2 * [2 * (four[0] + four[1])],
        "exchange": [gn.cat([sent[0][k], sent[1][k]]) for k in (0, 1)],
        "broadcast": 2 * [four[1] + four[0] * 0],
        "several": 2 * [gn.cat([x[2:4] for x in four])],
    }
    found = []
    for made in results.values():
        grads = gn.autograd.grad(weighted(made[0]) + weighted(made[1]), parts, retain_graph=True)
        found.append([[made[k].tolist(), grads[k].tolist()] for k in (0, 1)])
    return found


def test_gradients_are_those_of_the_sum_over_ranks():
    found = on_threads(gradients, 2)

    assert [list(pair) for pair in zip(*found, strict=True)] == expected()


def test_processes_have_the_gradients_of_threads():
    assert on_mpi(gradients, 2) == on_threads(gradients, 2)


def test_what_has_no_gradient_is_refused():
    def refused(rank: int, ranks: int) -> None:
        x = gn.ones(2, requires_grad=True)
        with pytest.raises(GradientError, match=r"all_reduce: ReduceOp.MAX has no gradient"):
            F.all_reduce(x, "max")
        with pytest.raises(ArgumentError, match="'median' is no ReduceOp"):
            F.all_reduce(x, "median")
        assert F.all_reduce(x.detach() * rank, "max").tolist() == [1.0, 1.0]

    on_threads(refused, 2)


def test_a_rank_may_send_nothing_or_receive_nothing():
    """Values and gradients where rank 0 sends all rows to rank 2, and rank 1 none to anybody."""
    goes = [[0, 0, 3], [0, 0, 0], [0, 0, 1]]

    def one(rank: int, ranks: int) -> list:
        comes = [row[rank] for row in goes]

        def step(x: gn.Tensor) -> list[gn.Tensor]:
            y = F.all_to_all_single(x, comes, goes[rank])
            return [y.detach(), *gn.autograd.grad(y.square().sum(), (x,))]

        x = (gn.arange(2.0 * sum(goes[rank])).reshape(-1, 2) + rank).requires_grad_()
        eager, compiled = step(x), gn.compile(step)(x)
        assert [t.tolist() for t in eager] == [t.tolist() for t in compiled]
        return [t.tolist() for t in eager]

    rows = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [2.0, 3.0]]
    double = [[2 * v for v in row] for row in rows]
    assert on_threads(one, 3) == [[[], double[:3]], [[], []], [rows, double[3:]]]


def test_sizes_may_vary_between_calls_of_a_captured_function():
    def varying(rank: int, ranks: int) -> list:
        step = gn.compile(lambda x, goes: F.all_to_all_single(x, [goes[rank]] * 2, goes))
        x = gn.arange(4.0) + 10 * rank
        return [step(x, goes).tolist() for goes in ([1, 3], [2, 2], [3, 1], [1, 3])]

    zero, one = on_threads(varying, 2)

    assert zero == [[0, 10], [0, 1, 10, 11], [0, 1, 2, 10, 11, 12], [0, 10]]
    assert one == [[1, 2, 3, 11, 12, 13], [2, 3, 12, 13], [3, 13], [1, 2, 3, 11, 12, 13]]
