"""Several groups made at once, and a barrier that says which ranks did not come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from time import monotonic, sleep
from typing import Any

from gnomon.distributed.groups import Group, get_rank, new_group, resolve
from gnomon.distributed.point_to_point import irecv, isend
from gnomon.errors import ArgumentError, CollectiveError
from gnomon.tensor.collectives import TAGS
from gnomon.tensor.creation import zeros
from gnomon.tensor.works import Work

__all__ = ["monitored_barrier", "new_subgroups", "new_subgroups_by_enumeration"]

LOOK = 0.001
"""Seconds between two looks for a message."""
PATIENCE = timedelta(minutes=30)
HERE = TAGS - 1
"""The tag of a barrier's messages."""


def new_subgroups(
    group_size: int | None = None, group: Group = None, *args: Any, **ignored: Any
) -> tuple[Any, list[Any]]:
    """The group of this rank, and all groups, of consecutive ranks; all ranks call it.

    Errors: ArgumentError for a size that is not given, or that ranks are no multiple of.
    """
    known = resolve(group)
    ranks = [] if known is None else list(known.ranks)
    if group_size is None:
        raise ArgumentError("new_subgroups: expected group_size: got none. Say how many ranks.")
    if group_size <= 0:
        raise ArgumentError(f"The arg 'group_size' ({group_size}) must be positive")
    if len(ranks) < group_size:
        raise ArgumentError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})"
        )
    if len(ranks) % group_size:
        raise ArgumentError(
            f"The world size ({len(ranks)}) must be divisible by 'group_size={group_size}'"
        )
    parts = [ranks[k : k + group_size] for k in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], *args: Any, **ignored: Any
) -> tuple[Any, list[Any]]:
    """The group of this rank, None where it is in none, and all groups, each of listed ranks.

    Errors: ArgumentError for an empty list, or a rank in two groups.
    """
    if not ranks_per_subgroup_list:
        raise ArgumentError("The arg 'ranks_per_subgroup_list' cannot be empty")
    taken: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in taken:
                raise ArgumentError(
                    f"Rank {rank} has appeared in both subgroup {taken[rank]} and {ranks}"
                )
            taken[rank] = ranks
    groups, own = [new_group(ranks) for ranks in ranks_per_subgroup_list], taken.get(get_rank())
    pairs = zip(ranks_per_subgroup_list, groups, strict=True)
    return next((made for ranks, made in pairs if ranks is own), None), groups


def monitored_barrier(
    group: Group = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """Return when all ranks have called it; the first rank names those that did not in time.

    wait_all_ranks: name all that did not come, and not the first alone.

    Errors: CollectiveError with the numbers of ranks that did not come.
    """
    known = resolve(group)
    if known is None:
        return
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    patience = PATIENCE.total_seconds() if seconds is None else seconds
    end, own = monotonic() + patience, known.rank()
    others = range(1, known.size()) if own == 0 else [0]
    if own:
        isend(zeros(1), group=known, tag=HERE, group_dst=0)
    works = {k: irecv(zeros(1), group=known, tag=HERE, group_src=k) for k in others}
    late = []
    for k, work in works.items():
        if not (work is None or came(work, end)):
            late.append(known.ranks[k])
            if not wait_all_ranks:
                break
    if late:
        whose = f"Rank {own} timed out: rank" if own else "rank"
        raise CollectiveError(
            f"monitored_barrier: {whose} {', '.join(map(str, late))} did not come in "
            f"{patience * 1000:.0f} ms."
        )
    if own == 0:
        for work in [isend(zeros(1), group=known, tag=HERE, group_dst=k) for k in others]:
            if work is not None:
                work.wait()


def came(work: Work, end: float) -> bool:
    """Whether a message arrives before a deadline."""
    while not work.is_completed():
        if monotonic() > end:
            return False
        sleep(LOOK)
    return True
