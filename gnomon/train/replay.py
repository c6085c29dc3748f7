"""Repeat steps from the last state on which replicas agreed, to find which rank was at fault.

With three or more replicas the majority decides (replicas.py). With two, a rank is at fault if it
does not repeat its own results. A fault reaches both with the next gradients, so the rank whose
results changed first is named, by the losses of its own tokens, which it computes alone. If that
decides nothing, each rank computes the rows of the other.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

import gnomon as gn
from gnomon.errors import GnomonError
from gnomon.nn.module import Module
from gnomon.optim import Optimizer
from gnomon.runtime.buffer import memory_limit
from gnomon.train.progress import peak_memory
from gnomon.train.replicas import Difference, Replicas, Sums
from gnomon.train.state import own_parts, put_back
from gnomon.train.team import Team

__all__ = ["KeptState", "Replay", "Verdict"]

KEEP_EVERY = 4
"""The comparisons between two copies of the state: a copy takes longer than a comparison."""


class KeptState:
    """A copy of this rank's part of a state and of the random state, if memory suffices."""

    def __init__(self, model: Module, optimizer: Optimizer, beside: int = 1) -> None:
        """Prepare a copy; beside: the number of ranks that share this machine's memory."""
        self.model, self.optimizer = model, optimizer
        self.limit = memory_limit() // beside
        self.step: int | None = None
        """The number of steps before the saved state; None if none is saved."""
        self.draws = gn.get_rng_state()
        self.arrays: dict[str, np.ndarray] = {}

    def keep(self, step: int) -> None:
        """Copy the state; drop the copy if memory does not suffice."""
        self.step = None
        parts = {name: part.array for name, part in own_parts(self.model, self.optimizer).items()}
        more = sum(x.nbytes for name, x in parts.items() if name not in self.arrays)
        if peak_memory() + more > self.limit:
            self.arrays = {}
            return
        for name, array in parts.items():
            if name in self.arrays:
                np.copyto(self.arrays[name], array)
            else:
                self.arrays[name] = array.copy()
        self.step, self.draws = step, gn.get_rng_state()

    def put_back(self) -> None:
        """Restore the copied state."""
        put_back(self.model, self.optimizer, self.arrays)
        gn.set_rng_state(self.draws)


class ReplayedStep(NamedTuple):
    """A repeated step: the checksum of own losses, and all ranks' checksums of the state."""

    own: int
    sums: list[Sums]


@dataclass(frozen=True)
class Verdict:
    """The ranks at fault, or those that remain undecided, with the outcome of repeated steps."""

    ranks: tuple[int, ...]
    why: str
    """The difference as the end of a sentence; empty if no majority decides which copy is wrong."""
    after: int | None
    """The step from which steps were repeated; None without a saved state."""
    parted: int | None = None
    """The first repeated step after which replicas differed again; None if they agreed."""

    def sentences(self, done: int, hosts: Sequence[str]) -> str:
        """The verdict as a message."""
        named = ", ".join(f"rank {rank} on {hosts[rank]}" for rank in self.ranks)
        if self.after is None:
            outcome = "There is no earlier state to take steps again from."
        elif self.parted is None:
            outcome = (
                f"Steps {self.after + 1} to {done}, taken again, agree on all ranks: the fault "
                "has passed."
            )
        else:
            outcome = (
                f"Steps taken again after step {self.after} differ after step {self.parted}: the "
                "fault lasts."
            )
        return (
            f"after step {done} replicas of the state do not have the same bits: {named} "
            f"{self.why or 'differ from each other'}. {outcome} Memory, a core or a message was at "
            "fault, not the program. The newest checkpoint is of a step at which all agreed: go on "
            "from it by --resume, without that machine."
        )


@dataclass
class Replay:
    """The comparison of replicas and, if they differ, the search for the rank at fault."""

    replicas: Replicas
    kept: KeptState
    team: Team
    take: Callable[[int, bool], int]
    """Runs a step, with this rank's rows or another's; returns a checksum of the losses of its own
    tokens.
    """
    reload: Callable[[], int | None]
    """Loads the newest checkpoint; returns its step, or None."""
    save: Callable[[int], None]
    """Saves the state as the checkpoint of a step."""
    rows: int
    """A number that must be divisible by the number of ranks that continue without a faulty one."""
    seen: dict[int, int] = field(default_factory=dict)
    """The checksums of own losses by step, since the latest copy of the state."""
    agreed: int = 0
    """The number of agreeing comparisons since the latest copy."""
    keeps: bool = True
    """Whether the state is copied after the current comparison."""

    def sums(self, saves: bool) -> Sums:
        """The checksums to compare, with the optimizer's state if a copy or checkpoint follows."""
        self.keeps = saves or self.agreed + 1 >= KEEP_EVERY
        return self.replicas.sums(with_state=self.keeps)

    def meet(self, done: int) -> None:
        """Compare all ranks after `done` steps, and save the state in memory."""
        self.keeps = True
        self.compare(done, self.team.gather(self.replicas.sums()))

    def compare(self, done: int, sums: Sequence[Sums]) -> None:
        """Compare all ranks' checksums: copy a state equal on all, else name a rank at fault."""
        difference = self.replicas.difference(sums)
        if difference is not None:
            self.refuse(done, self.verdict(done, sums, difference))
        if self.keeps:
            self.kept.keep(done)
            self.seen.clear()
        self.agreed = 0 if self.keeps else self.agreed + 1

    def refuse(self, done: int, verdict: Verdict) -> NoReturn:
        """Stop with a verdict; a copied state on which all ranks agreed is saved first."""
        if verdict.after and self.back() == verdict.after:
            self.save_agreed(verdict.after)
        hosts = self.team.gather(platform.node())
        if verdict.why:
            self.team.leave_out(verdict.ranks, hosts, self.rows)
        raise GnomonError(f"train: {verdict.sentences(done, hosts)}")

    def save_agreed(self, step: int) -> None:
        """Save the restored state as a checkpoint, if all ranks agree on it."""
        if self.replicas.difference(self.team.gather(self.replicas.sums())) is None:
            self.save(step)

    def verdict(self, done: int, sums: Sequence[Sums], difference: Difference) -> Verdict:
        """Repeat the steps, and decide which ranks were at fault."""
        after, outvoted = self.back(), "differs from the other replicas"
        if after is None or after >= done:
            return Verdict(difference.ranks, outvoted * difference.outvoted, None)
        straight = self.steps_from(after, done)
        parted = self.parted(after, straight)
        if difference.outvoted:
            return Verdict(difference.ranks, outvoted, after, parted)
        moments = dict(enumerate(self.team.gather(self.moment(after, straight, sums))))
        named = first_ranks({rank: moments[rank] for rank in difference.ranks})
        if not named:
            self.back()
            exchanged = self.steps_from(after, done, exchanged=True)
            parted = parted or self.parted(after, exchanged)
            named = first_ranks({r: diverges(straight, exchanged, r) for r in difference.ranks})
        why = "does not repeat its own first run" if named else ""
        return Verdict(named or difference.ranks, why, after, parted)

    def back(self) -> int | None:
        """Restore the ranks' copied state, or the newest checkpoint; returns its step, or None."""
        kept = self.team.gather(self.kept.step)
        if None in kept:
            return self.reload()
        self.kept.put_back()
        return kept[0]

    def steps_from(self, after: int, done: int, exchanged: bool = False) -> list[ReplayedStep]:
        """Repeat steps, and compare all ranks after each."""
        taken = []
        for step in range(after, done):
            own = self.take(step, exchanged)
            taken.append(ReplayedStep(own, self.team.gather(self.replicas.sums())))
        return taken

    def parted(self, after: int, taken: Sequence[ReplayedStep]) -> int | None:
        """The first step after which replicas differ; None if they agree."""
        differing = (k for k, x in enumerate(taken) if self.replicas.difference(x.sums))
        return next((after + 1 + k for k in differing), None)

    def moment(self, after: int, taken: Sequence[ReplayedStep], sums: Sequence[Sums]) -> int | None:
        """The first repeated step whose results differ from this rank's first run, or None."""
        for k, (own, _) in enumerate(taken):
            if self.seen.get(after + k, own) != own:
                return k
        before, after = (found[self.team.rank] for found in (sums, taken[-1].sums))
        return None if before == after[: len(before)] else len(taken)


def diverges(
    first: Sequence[ReplayedStep], second: Sequence[ReplayedStep], rank: int
) -> int | None:
    """The index of the first step after which a rank's states differ between two repetitions."""
    pairs = enumerate(zip(first, second, strict=True))
    return next((k for k, (x, y) in pairs if x.sums[rank] != y.sums[rank]), None)


def first_ranks(moments: Mapping[int, int | None]) -> tuple[int, ...]:
    """The ranks that differed first; empty if all did at once, or none did.

    >>> first_ranks({0: 3, 1: 2}), first_ranks({0: None, 1: 2}), first_ranks({0: 2, 1: 2})
    ((1,), (1,), ())
    """
    known = {rank: when for rank, when in moments.items() if when is not None}
    found = tuple(rank for rank, when in known.items() if when == min(known.values()))
    return found if len(found) < len(moments) else ()
