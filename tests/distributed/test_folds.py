"""Sums of which each rank keeps a stretch, folded as they come: the bits of eager ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed import functional as F
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_tcp import on_tcp
from tests.distributed.on_threads import on_threads

STRETCHES = (1, 100, 9_000, 1 << 14, 40_001)
"""Elements that a rank keeps: of a line, of a window, and of what is read in one piece, or more."""


def numbers(rank: int, count: int, dtype: gn.dtype) -> gn.Tensor:
    """Numbers of a rank's own whose sums are rounded."""
    return (gn.arange(count) * 0.37 + rank * 1.7).sin().to(dtype)


def bits(x: gn.Tensor) -> bytes:
    """The bytes of all elements."""
    return x.numpy().tobytes()


def scatter(op: str) -> Callable[[gn.Tensor], gn.Tensor]:
    """A fold of which each rank keeps a stretch."""
    return lambda x: F.reduce_scatter_tensor(x, op, 0, dist.group.WORLD)


def folds(rank: int, ranks: int) -> list[str]:
    """What compiled folds give, which are those of eager ones, in short."""
    made = hashlib.sha256()
    for dtype in (gn.float32, gn.bfloat16):
        for op in ("sum", "max", "product", "avg"):
            compiled = gn.compile(scatter(op))
            for stretch in STRETCHES:
                x = numbers(rank, ranks * stretch, dtype)
                eager = scatter(op)(x)
                for _ in range(2):
                    found = compiled(x)
                    assert bits(found) == bits(eager), (dtype, op, stretch)
                made.update(bits(eager))
    return [made.hexdigest(), *several(rank, ranks)]


def several(rank: int, ranks: int) -> list[str]:
    """Folds that are under way together, and are read in another order."""
    xs = [numbers(rank + 5 * k, ranks * n, gn.float32) for k, n in enumerate(STRETCHES)]

    def all_of_them(*xs: gn.Tensor) -> list[gn.Tensor]:
        begun = [scatter("sum")(x) for x in xs]
        return [x * 2 for x in reversed(begun)]

    found = gn.compile(all_of_them)(*xs)
    assert list(map(bits, found)) == list(map(bits, all_of_them(*xs)))
    return [hashlib.sha256(bits(x)).hexdigest() for x in found]


@pytest.mark.parametrize("ranks", [2, 3])
def test_processes_fold_as_threads_do(ranks: int):
    expected = on_threads(folds, ranks)

    assert on_mpi(folds, ranks) == expected
    assert on_tcp(folds, ranks, "node") == expected


def test_ranks_fold_in_their_order():
    rows = [numbers(rank, 3 * 20_000, gn.float32).numpy().reshape(3, -1) for rank in range(3)]

    def step(rank: int, ranks: int) -> str:
        x = numbers(rank, ranks * 20_000, gn.float32)
        return hashlib.sha256(bits(gn.compile(scatter("sum"))(x))).hexdigest()

    expected = [(rows[0][k] + rows[1][k]) + rows[2][k] for k in range(3)]
    assert on_threads(step, 3) == [hashlib.sha256(x.tobytes()).hexdigest() for x in expected]
