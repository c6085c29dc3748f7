"""One training step as one compiled program: losses, gradients, clipping, AdamW.

Learning rates are inputs of the program: they change from step to step and the same program is
replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import gnomon as gn
from gnomon import nn, optim
from gnomon.capture.replay import CapturedProgram
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE
from gnomon.distributed.placing import split_rows
from gnomon.distributed.plans import PLAN, ShardingPlan
from gnomon.distributed.report import repetitions
from gnomon.distributed.token_dispatch.travel import RANK_SLOTS
from gnomon.models.causal import CausalLM
from gnomon.models.initialization import EMBEDDING
from gnomon.runtime import events
from gnomon.tensor.computed_values import ValueName, computed_values, whole_values
from gnomon.tensor.layouts import part_of
from gnomon.train.config import Config
from gnomon.train.replicas import checksum
from gnomon.train.state import optimizer_of

__all__ = ["TrainStep", "Values", "make_optimizer"]

Values = dict[ValueName, gn.Tensor]
Metrics = dict[str, gn.Tensor]
Taken = tuple[gn.Tensor, gn.Tensor, Metrics, Values, list[gn.Tensor]]
"""Loss, gradient norm, the model's metrics, values, and losses of own tokens, if wanted."""


def make_optimizer(model: CausalLM, config: Config) -> optim.AdamW:
    """AdamW in three groups: the embedding, matrices with weight decay, norm weights."""
    chosen = config.optimizer
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    embedding = [name for name, _ in named if name.endswith(EMBEDDING)]
    matrices = [name for name, p in named if p.ndim > 1 and name not in embedding]
    norms = [name for name, p in named if p.ndim == 1]
    groups = [
        {"names": embedding, "weight_decay": 0.0, "factor": chosen.embedding_factor},
        {"names": matrices, "weight_decay": chosen.weight_decay, "factor": 1.0},
        {"names": norms, "weight_decay": 0.0, "factor": 1.0},
    ]
    betas = (chosen.beta1, chosen.beta2)
    return optimizer_of(model, groups, lr=chosen.learning_rate, betas=betas, eps=chosen.eps)


def values_of(loss: gn.Tensor, parameters: Mapping[str, gn.Tensor]) -> Values:
    """The values behind a loss and its gradients, and the gradients by parameter."""
    gradients = {name: p.grad for name, p in parameters.items()}
    found = computed_values(loss, [*gradients.values()])
    whole = whole_values(gradients.values())
    named = (ValueName("gradient", name, "") for name in gradients)
    return found | dict(zip(named, whole, strict=True))


def most_slots(made: Taken) -> int:
    """The largest number of a block's slots for a rank in a step; 0 without experts."""
    slots = made[2].get(RANK_SLOTS)
    return 0 if slots is None else int(slots.item())


class TrainStep:
    """A compiled training step: from tokens and a learning rate to loss and gradient norm."""

    def __init__(
        self,
        model: CausalLM,
        optimizer: optim.AdamW,
        config: Config,
        mesh: DeviceMesh = ALONE,
        plan: ShardingPlan = PLAN,
        compares: bool = False,
    ) -> None:
        """Compile the step; compares: whether it returns the losses of this rank's own tokens."""
        named = {name: p for name, p in model.named_parameters() if p.requires_grad}
        parameters, microbatches = list(named.values()), config.train.microbatches
        largest, keeps = config.optimizer.clip_norm, config.train.record_hashes
        self.taken = self.kernels = 0
        self.device = config.run.device
        model.recomputes = config.train.recompute
        self.travel = plan.travel(mesh)
        model.send_tokens(self.travel)
        self.metrics: dict[str, float] = {}
        """The model's own metrics of the latest step."""
        self.values: Values = {}
        """The computed values of the latest step, if hashes are recorded."""
        self.own_losses: list[gn.Tensor] = []
        """The losses of this rank's own tokens in the latest step, if they are compared."""

        def taken_once(window_bt: gn.Tensor) -> Taken:
            optimizer.zero_grad()
            rows_bt = split_rows(window_bt, mesh, *plan.rows)
            loss, losses_bt, *found = gn.accumulate(
                model.objective, rows_bt, microbatches=microbatches
            )
            own = [part_of(losses_bt.detach(), plan.rows)] if compares else []
            values = values_of(loss, named) if keeps else {}
            norm = nn.utils.clip_grad_norm_(parameters, largest)
            # numbers that are none must not reach a parameter: whoever asks finds the step untaken
            taken = loss.detach().isfinite() & norm.isfinite()
            optimizer.step(only_if=taken)
            with gn.no_grad():
                metrics = model.settle([x.detach() for x in found], taken)
            return loss.detach(), norm, metrics, values, own

        self.function, self.optimizer = taken_once, optimizer
        self.programs = {0: gn.compile(taken_once)}
        """The step's compiled functions by expert capacity; 0 has places for all tokens."""
        self.program = self.programs[0]
        """The compiled function of the latest step."""

    def __call__(self, window: np.ndarray, rate: float) -> tuple[float, float]:
        """Train on (batch, length + 1) tokens; returns loss and gradient norm."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        # listening has its price, so only the first steps are listened to
        stop = events.subscribe(self.hear) if self.taken < 2 else None
        try:
            loss, norm, metrics, self.values, self.own_losses = self.run(
                gn.from_numpy(window).to(self.device)
            )
        finally:
            if stop:
                stop()
        self.taken += 1
        self.metrics = {name: value.item() for name, value in metrics.items()}
        return loss.item(), norm.item()

    def run(self, window_bt: gn.Tensor) -> Taken:
        """The step's results; it runs again with places for all tokens if some had none."""
        if self.travel is None:
            return self.program(window_bt)
        return self.travel.replayed(lambda: self.run_with_places(window_bt), most_slots)

    def run_with_places(self, window_bt: gn.Tensor) -> Taken:
        """Run the program compiled for the current expert capacity.

        Each capacity has a compiled function of its own: capacities are sizes, and a number that
        changes between calls of one function would become an input of its program.
        """
        assert self.travel is not None
        places = self.travel.capacity
        if places not in self.programs:
            self.programs = {0: self.programs[0], places: gn.compile(self.function)}
        self.program = self.programs[places]
        return self.program(window_bt)

    @property
    def own_checksum(self) -> int:
        """A checksum of the losses of this rank's own tokens of the latest step."""
        return checksum([losses_bt.cpu().numpy() for losses_bt in self.own_losses])

    @property
    def captured(self) -> CapturedProgram:
        """The captured program of the latest step."""
        *_, kept = self.program.programs.values()
        return kept[-1][1]

    def repetitions(self) -> list[str]:
        """A line for each larger product of a step that all ranks repeat."""
        return repetitions(self.captured.graph)

    def hear(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Record the number of kernels of a step, from the profiling event."""
        if kind == "run":
            self.kernels = len(fields["program"].steps)
