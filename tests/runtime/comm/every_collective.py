"""Every collective of several sizes, as a rank's own program. Not a test."""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import (
    all_gather,
    all_reduce,
    all_to_all,
    permute_ranks,
    reduce_scatter,
)
from tests.distributed.rank_programs import compiled

SIZES = (1, 3, 1000)


def every_collective(rank: int, ranks: int) -> dict[str, np.ndarray]:
    """What each gives on this rank, by name, all of one program."""
    rng = np.random.default_rng(rank)
    found: dict[str, np.ndarray] = {}
    for dtype in (np.float32, np.int64):
        for size in SIZES:
            x = rng.standard_normal((ranks * size, 2 * ranks)) * 100
            found |= of_array(x.astype(dtype), ranks, f"{np.dtype(dtype)} {size}")
    return found


def of_array(array: np.ndarray, ranks: int, name: str) -> dict[str, np.ndarray]:
    """All collectives of one array."""
    x = Arena().input(array.shape, dtype_of(array.dtype), "x")
    made = {
        "gather": all_gather(x, 0, "a", ranks),
        "gather columns": all_gather(x, 1, "a", ranks),
        "sum": all_reduce(x, "a", ranks),
        "max": all_reduce(x, "a", ranks, "max"),
        "scatter": reduce_scatter(x, 0, "a", ranks),
        "scatter columns": reduce_scatter(x, 1, "a", ranks),
        "to all": all_to_all(x, 0, 1, "a", ranks),
        "ring": permute_ranks(x, 1, "a", ranks),
        "sum of a sum": all_reduce(all_reduce(x, "a", ranks) * x, "a", ranks),
    }
    values = compiled(Graph([x], list(made.values())), [array])
    return {f"{name} {key}": value for key, value in zip(made, values, strict=True)}
