"""Check a microbatch's gradient by computing it again on other cores and ranks, bit for bit.

It is for runs without replicas (replicas.py), whose hardware faults would stay unnoticed. The
second time one core of each rank does all of its rank's work, and the halves of the rows are
swapped, so that other ranks compute them: a sum of two halves has the same bits either way.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

import gnomon as gn
from gnomon.distributed.placing import split_rows
from gnomon.errors import GnomonError
from gnomon.models.causal import CausalLM
from gnomon.models.stored_parameters import own_part
from gnomon.runtime.system import core_numbers
from gnomon.runtime.threads import by_one_core
from gnomon.train.team import Team

__all__ = ["GradientCheck"]

ParameterGradients = dict[str, np.ndarray]


class GradientCheck:
    """A check that computes a microbatch's gradient twice, every N steps, and compares the bits."""

    def __init__(self, model: CausalLM, team: Team, microbatches: int, every: int) -> None:
        self.team, self.microbatches, self.every = team, microbatches, every
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        mesh, rows = team.mesh, team.plan.rows

        def gathered(window_bt: gn.Tensor) -> gn.Tensor:
            rows_bt = split_rows(window_bt, mesh, *rows)
            loss, *_ = gn.accumulate(model.objective, rows_bt, microbatches=1)
            return loss.detach()

        self.program, self.device = gn.compile(gathered), next(model.parameters()).device

    def before(self, step: int, window: np.ndarray) -> None:
        """Check the gradient of one of a step's microbatches if it is due; all ranks call it."""
        if not self.every or (step + 1) % self.every:
            return
        number, cores = step // self.every, core_numbers()
        core = cores[(number + self.team.rank) % len(cores)]
        rows = np.split(window, self.microbatches)[number % self.microbatches]
        exchanged = rows if len(rows) % 2 else np.roll(rows, len(rows) // 2, 0)
        first = self.gradients(rows)
        wrong = self.differing(first, self.gradients(exchanged, core))
        reports = self.team.gather([wrong, core, platform.node()])
        if any(names for names, _, _ in reports):
            third = self.team.gather(not self.differing(first, self.gradients(rows)))
            raise GnomonError(sentence(step + 1, reports, all(third)))

    def gradients(self, rows: np.ndarray, core: int | None = None) -> ParameterGradients:
        """The gradient of every parameter, this rank's parts; the model is unchanged."""
        before = {name: p.grad for name, p in self.parameters.items()}
        for p in self.parameters.values():
            p.grad = None
        with nullcontext() if core is None else by_one_core(core):
            self.program(gn.from_numpy(rows).to(self.device))
            found = {
                name: own_part(p.grad).array.copy()
                for name, p in self.parameters.items()
                if p.grad is not None
            }
        for name, p in self.parameters.items():
            p.grad = before[name]
        return found

    def differing(self, one: ParameterGradients, other: ParameterGradients) -> list[str]:
        """The names of parameters whose gradients differ in any bit."""
        return [name for name in one if one[name].tobytes() != other[name].tobytes()]


def sentence(step: int, reports: Sequence[tuple[list[str], int, str]], repeated: bool) -> str:
    """The message that names the ranks and parameters whose gradients differ.

    reports: the parameters, the core and the machine of each rank. repeated: whether a third
    computation equals the first.
    """
    differing = [rank for rank, (names, _, _) in enumerate(reports) if names]
    where = ", ".join(f"rank {rank} on {reports[rank][2]}" for rank in differing)
    name = reports[differing[0]][0][0]
    cores = ", ".join(f"core {core} of {host}" for _, core, host in reports)
    third = (
        f"A third time it had the bits of the first: look at {cores}, which computed the second."
        if repeated
        else "A third time it had not the bits of the first, which was wrong, or nothing repeats."
    )
    return (
        f"train: before step {step} the gradient of {name}, computed twice from one microbatch, "
        f"has not the same bits ({where}). {third} Memory, a core or a message was at fault, not "
        "the program. Go on from the newest checkpoint by --resume, on another machine."
    )
