"""The conformance kit: every collective on every dtype, and what numpy says of it. Not a test.

A row is done on all ranks of whatever backend runs it; values are small whole numbers, so that sums
are exact in every dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce as folded
from typing import NamedTuple

import numpy as np

import gnomon as gn
import gnomon.distributed as dist
from gnomon.dtypes import ALL, DType
from gnomon.errors import CollectiveError
from gnomon.ops.group_folds import FOLDS, Reduction, refusal_of

Arrays = list[np.ndarray]
Do = Callable[[int, int], list[gn.Tensor]]
ROWS = 6
"""Rows of what each rank has: 2 and 3 ranks divide them."""


class Row(NamedTuple):
    """One line of the table: what ranks do, and what each should have (of its rank and all)."""

    name: str
    do: Do
    expected: Callable[[int, int], Arrays]


def part(rank: int, ranks: int, dtype: DType) -> np.ndarray:
    """What a rank has at first: (6 * ranks, 2)."""
    made = (np.arange(12 * ranks).reshape(-1, 2) * 7 + 3 * rank) % 4
    return (made % 2 == 1) if dtype.kind == "bool" else made


def tensor(rank: int, ranks: int, dtype: DType) -> gn.Tensor:
    """The same as a tensor."""
    return gn.tensor(part(rank, ranks, dtype).tolist(), dtype=dtype)


def shown(x: gn.Tensor) -> np.ndarray:
    """A tensor's value in a dtype that numpy has."""
    return np.asarray(x.tolist())


def rows() -> Iterator[Row]:
    """Every row that has to work."""
    for dtype in ALL:
        for op in FOLDS.values():
            if not refusal_of(op, dtype):
                yield from folding(dtype, op)
        yield from moving(dtype)


NUMPY = {
    "SUM": np.add,
    "AVG": np.add,
    "PREMUL_SUM": np.add,
    "PRODUCT": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
}


def fold_of(ranks: int, dtype: DType, op: Reduction) -> np.ndarray:
    """A fold of what all ranks have."""
    parts = [part(k, ranks, dtype) for k in range(ranks)]
    if op.factor is not None:
        parts = [op.factor * x for x in parts]
    made = folded(NUMPY[op.name], parts)
    if op.name == "AVG":
        wide = np.float64 if dtype.itemsize == 8 else np.float32
        return (made.astype(wide) / wide(ranks)).astype(dtype.numpy).astype(np.float64)
    return made


def folding(dtype: DType, op: Reduction) -> Iterator[Row]:
    """The folds of one kind, of one dtype."""

    def all_reduce(rank: int, ranks: int) -> list[gn.Tensor]:
        x = tensor(rank, ranks, dtype)
        dist.all_reduce(x, op)
        return [x]

    def reduce(rank: int, ranks: int) -> list[gn.Tensor]:
        x = tensor(rank, ranks, dtype)
        dist.reduce(x, ranks - 1, op)
        return [x] if rank == ranks - 1 else []

    def scatter(rank: int, ranks: int) -> list[gn.Tensor]:
        made, listed = gn.zeros(6, 2, dtype=dtype), gn.zeros(6, 2, dtype=dtype)
        dist.reduce_scatter_single(made, tensor(rank, ranks, dtype), op)
        parts = [tensor(rank, ranks, dtype)[6 * k : 6 * k + 6] for k in range(ranks)]
        dist.reduce_scatter(listed, parts, op)
        return [made, listed]

    def whole(rank: int, ranks: int) -> Arrays:
        return [fold_of(ranks, dtype, op)]

    def own(rank: int, ranks: int) -> Arrays:
        return 2 * [fold_of(ranks, dtype, op)[6 * rank : 6 * rank + 6]]

    name = f"{dtype.name} {op.name}"
    yield Row(f"all_reduce {name}", all_reduce, whole)
    yield Row(f"reduce {name}", reduce, lambda r, n: whole(r, n) if r == n - 1 else [])
    yield Row(f"reduce_scatter {name}", scatter, own)


def moving(dtype: DType) -> Iterator[Row]:
    """The movements of one dtype."""

    def every(ranks: int) -> Arrays:
        return [part(k, ranks, dtype) for k in range(ranks)]

    def blank(rows: int) -> gn.Tensor:
        return gn.zeros(rows, 2, dtype=dtype)

    def gather(rank: int, ranks: int) -> list[gn.Tensor]:
        x, one = tensor(rank, ranks, dtype), blank(6 * ranks * ranks)
        listed, at_root = ([blank(6 * ranks) for _ in range(ranks)] for _ in range(2))
        dist.all_gather_single(one, x)
        dist.all_gather(listed, x)
        dist.gather(x, at_root if rank == 0 else None, dst=0)
        return [one, *listed, *(at_root if rank == 0 else [])]

    def gathered(rank: int, ranks: int) -> Arrays:
        parts = every(ranks)
        return [np.concatenate(parts), *parts, *(parts if rank == 0 else [])]

    def spread(rank: int, ranks: int) -> list[gn.Tensor]:
        x, own = tensor(rank, ranks, dtype), blank(6)
        parts = [x[6 * k : 6 * k + 6] for k in range(ranks)]
        dist.scatter(own, parts if rank == ranks - 1 else None, src=ranks - 1)
        dist.broadcast(x, src=1)
        return [own, x]

    def spread_out(rank: int, ranks: int) -> Arrays:
        return [part(ranks - 1, ranks, dtype)[6 * rank : 6 * rank + 6], part(1, ranks, dtype)]

    def exchange(rank: int, ranks: int) -> list[gn.Tensor]:
        x, even = tensor(rank, ranks, dtype), blank(6 * ranks)
        dist.all_to_all_single(even, x)
        goes, comes = uneven(rank, ranks), [uneven(k, ranks)[rank] for k in range(ranks)]
        odd = blank(sum(comes))
        dist.all_to_all_single(odd, x[: sum(goes)], comes, goes)
        listed = [blank(6) for _ in range(ranks)]
        dist.all_to_all(listed, [x[6 * k : 6 * k + 6] for k in range(ranks)])
        return [even, odd, *listed]

    def exchanged(rank: int, ranks: int) -> Arrays:
        own = [x[6 * rank : 6 * rank + 6] for x in every(ranks)]
        odd = []
        for k, x in enumerate(every(ranks)):
            start = sum(uneven(k, ranks)[:rank])
            odd.append(x[start : start + uneven(k, ranks)[rank]])
        return [np.concatenate(own), np.concatenate(odd), *own]

    def ring(rank: int, ranks: int) -> list[gn.Tensor]:
        x, before, after = tensor(rank, ranks, dtype), blank(6 * ranks), blank(6)
        right, left = (rank + 1) % ranks, (rank - 1) % ranks
        ops = [dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, before, left)]
        dist.batch_isend_irecv(ops).wait_all()
        if rank == 0:
            dist.send(x[:6], 1, tag=3)
        if rank == 1:
            dist.recv(after, 0, tag=3)
        return [before, *([after] if rank == 1 else [])]

    def turned(rank: int, ranks: int) -> Arrays:
        came = [part((rank - 1) % ranks, ranks, dtype)]
        return came + ([part(0, ranks, dtype)[:6]] if rank == 1 else [])

    yield Row(f"gathers {dtype.name}", gather, gathered)
    yield Row(f"scatter, broadcast {dtype.name}", spread, spread_out)
    yield Row(f"all_to_all {dtype.name}", exchange, exchanged)
    yield Row(f"messages {dtype.name}", ring, turned)


def uneven(rank: int, ranks: int) -> list[int]:
    """How many rows a rank sends to each in an uneven exchange: none, to itself at times."""
    return [(rank + 2 * k) % 4 for k in range(ranks)]


def refused() -> Iterator[tuple[str, DType, Reduction, str]]:
    """Every row that must be refused, and why."""
    for dtype in ALL:
        for op in FOLDS.values():
            reason = refusal_of(op, dtype)
            if reason:
                yield "all_reduce", dtype, op, reason


def failures(rank: int, ranks: int, narrow: bool = False) -> list[str]:
    """The rows that give something else on this rank; both ways, refused rows too."""
    wrong = []
    for row in rows():
        if narrow and not any(x in row.name for x in ("float32", "bfloat16", "int64", "bool")):
            continue
        made, expected = [shown(x) for x in row.do(rank, ranks)], row.expected(rank, ranks)
        if [x.tolist() for x in made] != [x.tolist() for x in expected]:
            wrong.append(f"{row.name}: {made} is not {expected}")
    for name, dtype, op, reason in refused():
        try:
            dist.all_reduce(gn.zeros(2, dtype=dtype), op)
        except CollectiveError as error:
            told = f"{name}: {dist.get_backend()}: {op!r} of {dtype.name}: {reason}."
            wrong += [] if str(error) == told else [f"{told} is not {error}"]
        else:
            wrong.append(f"{name} {op!r} of {dtype.name} is not refused")
    return wrong
