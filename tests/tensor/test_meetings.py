"""Sums over ranks that gradients pass."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.runtime.comm.groups import membership
from gnomon.tensor.meetings import summed
from tests.distributed.on_threads import on_threads


def slopes(x: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
    """A sum over ranks, and the gradient of its square."""
    x = x.clone().requires_grad_()
    made = summed(membership().world(), x)
    (made * made).sum().backward()
    return made.detach(), x.grad


@pytest.mark.parametrize("compiled", [False, True])
def test_a_sums_gradient_is_that_of_the_sum_of_all_ranks_losses(compiled: bool):
    def on_rank(rank: int, ranks: int) -> list:
        call = gn.compile(slopes) if compiled else slopes
        return [y.tolist() for y in call(gn.tensor([1.0 + rank, 2.0]))]

    assert on_threads(on_rank, 2) == [[[3.0, 4.0], [12.0, 16.0]]] * 2
