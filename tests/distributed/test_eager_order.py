"""An eager collective runs at its call: ranks that look at values differently still meet."""

from __future__ import annotations

from functools import partial

import pytest

import gnomon as gn
import gnomon.distributed as dist
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads
from tests.distributed.random_programs import digests


def looking(rank: int, ranks: int, programs: int = 25) -> list[str]:
    """The digests of programs whose ranks look."""
    return digests(range(programs), rank, ranks, looks=True)


def plainly(rank: int, ranks: int, programs: int = 25) -> list[str]:
    """The digests of the same programs whose ranks do not."""
    return digests(range(programs), rank, ranks, looks=False)


@pytest.fixture(scope="module")
def plain() -> list[list[str]]:
    """What ranks have that do not look."""
    return on_threads(plainly, 2)


def test_ranks_that_print_drop_or_branch_differently_finish_with_the_same_bits(plain: list):
    assert on_threads(looking, 2) == plain


def test_processes_that_look_have_the_bits_of_threads(plain: list):
    assert on_mpi(looking, 2) == plain


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3])
def test_two_hundred_programs_finish_with_the_same_bits(ranks: int):
    found = on_threads(partial(looking, programs=200), ranks)

    assert found == on_threads(partial(plainly, programs=200), ranks)


def test_equal_collectives_are_each_done():
    def twice(rank: int, ranks: int) -> list[float]:
        x = gn.ones(2)
        kept = dist.functional.all_reduce(x)
        if rank == 0:
            del kept
        dist.functional.all_reduce(x)
        dist.all_reduce(x)
        return x.tolist()

    assert on_threads(twice, 2) == [[2.0, 2.0]] * 2


def test_a_compiled_forward_that_waits_for_its_gradients_meets_at_its_call():
    def train(rank: int, ranks: int) -> list[float]:
        forward = gn.compile(lambda x: dist.functional.all_reduce(x * x))
        x, came = gn.ones(2, requires_grad=True), gn.zeros(2)
        y = forward(x)
        if rank == 0:  # nobody reads y here
            dist.recv(came, 1)
        else:
            dist.send(y.detach(), 0)
        y.sum().backward()
        return [*x.grad.tolist(), *came.tolist()]

    assert on_threads(train, 2, patience=20) == [[4.0, 4.0, 2.0, 2.0], [4.0, 4.0, 0.0, 0.0]]
