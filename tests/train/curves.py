"""Curves of the public model under the public step: a hash of everything after each step.

Ranks are threads. What one process gives is computed once for each configuration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE, mesh_of
from gnomon.distributed.plans import PLAN, ShardingPlan, distribute
from gnomon.distributed.ranks import run_ranks
from gnomon.models.causal import CausalLM
from gnomon.models.qwen3_moe_config import PRESETS
from gnomon.models.registry import kind_of
from gnomon.models.stored_parameters import load_parameters
from gnomon.train import checkpoint
from gnomon.train.config import Config
from gnomon.train.recipes import configure
from gnomon.train.state import (
    load_optimizer,
    optimizer_arrays,
    parameter_arrays,
)
from gnomon.train.step import TrainStep, make_optimizer

Arrays = dict[str, np.ndarray]
RATE = 1e-3
PATIENCE = 600.0
ROWS = 16

SIZES = {"num_hidden_layers": 2, "max_position_embeddings": 32}
MODELS = {
    "six heads": dict(
        vocab_size=300,
        hidden_size=96,
        intermediate_size=128,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=16,
    ),
    "one key head": dict(
        vocab_size=307,
        hidden_size=128,
        intermediate_size=128,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=32,
    ),
}
EXPERTS = {
    "experts": dict(
        model_type="qwen3_moe",
        vocab_size=300,
        hidden_size=96,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=16,
        num_experts=8,
        num_experts_per_tok=3,
        moe_intermediate_size=64,
        router_aux_loss_coef=0.01,
        router_bias_rate=0.01,
    ),
    "debug": asdict(PRESETS["debug"]),
}
"""Heads that are no power of two, vocabularies that 128 does not divide, fewer key heads than
ranks; the table of words is the head of scores in all of them."""


@dataclass(frozen=True)
class Curve:
    """The hash after each step, its loss and norm, and flops of a rank's products in the last."""

    hashes: tuple[str, ...]
    losses: tuple[tuple[float, float], ...]
    flops: int


def config_of(
    model: str, microbatches: int = 1, layers: int = 0, recompute: bool = False
) -> Config:
    """A configuration of a model's name, with so many layers instead of its own."""
    named = SIZES | (MODELS | EXPERTS)[model]
    named |= {"num_hidden_layers": layers or named["num_hidden_layers"]}
    sizes = [f"model.{name}={str(value).lower()}" for name, value in named.items()]
    train = [f"train.batch_size={ROWS}", "train.sequence_length=32", "evaluation.stride=32"]
    train += [f"train.microbatches={microbatches}", f"train.recompute={str(recompute).lower()}"]
    return configure("tiny-moe" if model in EXPERTS else "tiny", [*sizes, *train])


def batches(config: Config, steps: int) -> Iterator[np.ndarray]:
    """Tokens of so many steps."""
    rng = np.random.default_rng(5)
    shape = (config.train.batch_size, config.train.sequence_length + 1)
    for _ in range(steps):
        yield rng.integers(0, config.model.vocab_size, shape, np.int64)


def made(config: Config, mesh: DeviceMesh, plan: ShardingPlan = PLAN) -> tuple[TrainStep, CausalLM]:
    """A rank's step and model, before the first step."""
    kind = kind_of(config.model)
    model = kind.model(config.model)
    kind.initialize(model, config.run.seed)
    distribute(model, plan.table(model, kind.axes, mesh), mesh)
    return TrainStep(model, make_optimizer(model, config), config, mesh, plan), model


def stepped(
    config: Config, mesh: DeviceMesh, steps: int, plan: ShardingPlan = PLAN
) -> tuple[TrainStep, CausalLM]:
    """The same after so many steps."""
    step, model = made(config, mesh, plan)
    for window in batches(config, steps):
        step(window, RATE)
    return step, model


def curve(config: Config, mesh: DeviceMesh, steps: int, plan: ShardingPlan = PLAN) -> Curve:
    """One rank's view of a run: the same on every rank."""
    return curve_from(made(config, mesh, plan), batches(config, steps))[0]


def curve_from(
    begun: tuple[TrainStep, CausalLM], windows: Iterable[np.ndarray]
) -> tuple[Curve, tuple[Arrays, Arrays]]:
    """The curve of the next steps, and the whole parameters and averages after them."""
    step, model = begun
    hashes, losses, parameters, averages = [], [], {}, {}
    for window in windows:
        loss, norm = step(window, RATE)
        parameters, averages = parameter_arrays(model), optimizer_arrays(model, step.optimizer)
        told = f"{loss.hex()} {norm.hex()} {checkpoint.fingerprint(parameters | averages)}"
        hashes.append(hashlib.sha256(told.encode()).hexdigest()[:16])
        losses.append((loss, norm))
    return Curve(tuple(hashes), tuple(losses), flops_of(step)), (parameters, averages)


def restarted(model: str, meshes: Sequence[str], steps: int) -> list[list[Curve]]:
    """Every rank's view of a run that goes on over another mesh after each of so many steps."""
    config = config_of(model)
    windows = list(batches(config, steps * len(meshes)))
    found: list[list[Curve]] = []
    kept: tuple[Arrays, Arrays] | None = None
    for number, name in enumerate(meshes):
        mesh, own = mesh_of(name), windows[number * steps :][:steps]

        def work(rank: int, mesh: DeviceMesh = mesh, own: Sequence = own, kept: Any = kept) -> Any:
            step, inner = made(config, mesh)
            if kept:
                load_parameters(inner, kept[0], mesh, rank)
                load_optimizer(inner, step.optimizer, kept[1], mesh, rank)
            return curve_from((step, inner), own)

        told = run_ranks(mesh, work, PATIENCE)
        found.append([each for each, _ in told])
        kept = told[0][1]
    return found


def flops_of(step: TrainStep) -> int:
    """The flops of the products of a step's program."""
    kernels = step.captured.executable.kernels
    return sum(k.flops * k.times for k in kernels if is_product(k))


def is_product(kernel: Any) -> bool:
    """Whether a kernel computes products, of which flops are counted."""
    return any(x.op in ("contract", "region") for x in kernel.nodes)


@cache
def alone(model: str, steps: int) -> Curve:
    """The curve of one process, all rows at once."""
    return curve(config_of(model), ALONE, steps)


def on(
    model: str, mesh: str, steps: int, microbatches: int = 1, plan: ShardingPlan = PLAN
) -> list[Curve]:
    """Every rank's view of a run over a mesh."""
    config, found = config_of(model, microbatches), mesh_of(mesh)
    return run_ranks(found, lambda rank: curve(config, found, steps, plan), PATIENCE)
