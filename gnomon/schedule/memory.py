"""Where intermediate values live: one block of memory, shared by values never alive together.

Largest first, each at the lowest place that is free for the whole of its life: freeing large
buffers early is what lowers the peak. Lives are counted in calls, so barriers must keep calls apart
where memory is used again (gnomon/schedule/order.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

ALIGN = 64


@dataclass(frozen=True)
class Life:
    """A value's bytes, the call that writes it and the last one that reads it."""

    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """The offset of each value, the bytes of the whole block, and the least any plan could need."""

    offsets: tuple[int, ...]
    total: int
    bound: int


def plan_memory(lives: Sequence[Life], heirs: Iterable[tuple[int, int]] = ()) -> MemoryPlan:
    """Offsets such that values alive together never overlap.

    An heir (value, operand) lies where the operand did, which dies in the call that makes it.

    >>> chain = [Life(64, 0, 1), Life(64, 1, 2), Life(64, 2, 3)]
    >>> plan_memory(chain).total, plan_memory(chain, [(2, 1), (1, 0)]).total
    (128, 64)
    """
    owner = owners(lives, dict(heirs))
    merged = {k: life for k, life in enumerate(lives) if owner[k] == k}
    for k, life in enumerate(lives):
        whole = merged[owner[k]]
        merged[owner[k]] = replace(whole, last=max(whole.last, life.last))
    plan = disjoint(list(merged.values()))
    offsets = dict(zip(merged, plan.offsets, strict=True))
    return replace(plan, offsets=tuple(offsets[k] for k in owner))


def owners(lives: Sequence[Life], heirs: Mapping[int, int]) -> list[int]:
    """For each value the first of those whose place it has."""
    found = list(range(len(lives)))
    for k in sorted(found, key=lambda k: lives[k].first):
        found[k] = found[heirs[k]] if k in heirs else k
    return found


def disjoint(lives: Sequence[Life]) -> MemoryPlan:
    """Offsets for values that have places of their own."""
    offsets = [0] * len(lives)
    placed: list[int] = []
    for k in sorted(range(len(lives)), key=lambda k: (-lives[k].nbytes, lives[k].first)):
        offsets[k] = lowest_gap(lives[k], [(offsets[j], lives[j]) for j in placed])
        placed.append(k)
    total = max((offsets[k] + rounded(life.nbytes) for k, life in enumerate(lives)), default=0)
    return MemoryPlan(tuple(offsets), total, liveness_bound(lives))


def lowest_gap(life: Life, others: Sequence[tuple[int, Life]]) -> int:
    """The lowest offset at which no value alive at the same time is met."""
    taken = sorted(
        (offset, offset + rounded(other.nbytes))
        for offset, other in others
        if other.first <= life.last and life.first <= other.last
    )
    place = 0
    for start, end in taken:
        if start - place >= rounded(life.nbytes):
            break
        place = max(place, end)
    return place


def rounded(nbytes: int) -> int:
    """Bytes up to a whole number of cache lines."""
    return -(-nbytes // ALIGN) * ALIGN


def liveness_bound(lives: Sequence[Life]) -> int:
    """The most bytes alive during one call."""
    steps: dict[int, int] = {}
    for life in lives:
        steps[life.first] = steps.get(life.first, 0) + rounded(life.nbytes)
        steps[life.last + 1] = steps.get(life.last + 1, 0) - rounded(life.nbytes)
    alive = most = 0
    for step in sorted(steps):
        alive += steps[step]
        most = max(most, alive)
    return most
