"""Layouts of a training step over a world: meshes, each with its forecast, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.plans import PLAN, ShardingPlan
from gnomon.errors import ConfigError, LayoutError
from gnomon.program.units import metric
from gnomon.train.chips import Chip
from gnomon.train.config import Config
from gnomon.train.forecast import COARSE, DEPTHS, Forecast, forecast

__all__ = ["BEST", "RankedLayout", "best_layouts", "layouts_of"]

BEST = 10
"""The number of layouts to show."""
REASONS = 4
"""The maximum number of reasons in the error that no layout fits."""

ReportProgress = Callable[[Sequence[DeviceMesh]], Iterable[DeviceMesh]]
"""A function that iterates over layouts and shows the progress."""


class RankedLayout(NamedTuple):
    """A layout, its forecast, and its work: a rank's flops over an equal part of one process's."""

    mesh: DeviceMesh
    forecast: Forecast
    work: float
    """1 if nothing is computed twice."""


def without_progress(meshes: Sequence[DeviceMesh]) -> Iterable[DeviceMesh]:
    """The meshes, without a progress bar."""
    return meshes


def layouts_of(world: int, plan: ShardingPlan = PLAN) -> Iterator[DeviceMesh]:
    """Every mesh of `world` ranks over the mesh axes of a plan.

    >>> [" ".join(f"{name}={n}" for name, n in mesh.axes) for mesh in layouts_of(2)]
    ['data=1 shard=1 tensor=2', 'data=1 shard=2 tensor=1', 'data=2 shard=1 tensor=1']
    """
    names = list(dict.fromkeys((*plan.rows, *plan.fully, *plan.axes.values())))
    for sizes in factors(world, len(names)):
        yield DeviceMesh.of(tuple(zip(names, sizes, strict=True)))


def factors(world: int, count: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as a product of `count` factors, in order."""
    if count == 1:
        yield (world,)
        return
    for first in range(1, world + 1):
        if world % first == 0:
            yield from ((first, *rest) for rest in factors(world // first, count - 1))


def why_not(config: Config, mesh: DeviceMesh, plan: ShardingPlan) -> str:
    """The reason why a step cannot be sharded over a mesh; empty if it can."""
    sizes, model = dict(mesh.axes), config.model
    rows, ranks = config.train.batch_size, prod(sizes.get(name, 1) for name in plan.rows)
    if ranks > rows:
        return f"{ranks} ranks are more than the {rows} rows of a batch (train.batch_size)"
    named = {"heads": model.num_attention_heads, "intermediate": model.inner_size}
    for name, size in named.items():
        split = plan.axes.get(name, "")
        if size % sizes.get(split, 1):
            return f"{sizes[split]} ranks along {split!r} do not divide {name} ({size})"
    odd = [name for name in plan.fully if sizes.get(name, 1) & (sizes.get(name, 1) - 1)]
    return f"{sizes[odd[0]]} ranks along {odd[0]!r}: that takes a power of two" if odd else ""


def best_layouts(
    config: Config,
    world: int,
    chip: Chip,
    plan: ShardingPlan = PLAN,
    report: ReportProgress = without_progress,
) -> list[RankedLayout]:
    """The fastest layouts among those that fit in memory, at most ten."""
    if world < 1:
        raise ConfigError(f"plan: --world: expected int >= 1: got {world}.")
    reasons, possible = dict[str, None](), list[DeviceMesh]()
    for mesh in layouts_of(world, plan):
        why = why_not(config, mesh, plan)
        (reasons.setdefault(why) if why else possible.append(mesh))
    found: dict[DeviceMesh, Forecast] = {}
    for depths in (COARSE, DEPTHS) if config.model.num_hidden_layers > COARSE[1] else (COARSE,):
        made = (
            (mesh, tried_layout(config, mesh, chip, plan, depths, reasons))
            for mesh in report(possible)
        )
        found = {mesh: each for mesh, each in made if each is not None}
        possible = sorted(found, key=lambda mesh: found[mesh].seconds)[:BEST]
    if not possible:
        refuse_all_layouts(world, chip, reasons)
    alone = forecast(config, DeviceMesh.of(()), chip, plan, COARSE).flops / world
    return [RankedLayout(mesh, found[mesh], found[mesh].flops / alone) for mesh in possible]


def tried_layout(
    config: Config,
    mesh: DeviceMesh,
    chip: Chip,
    plan: ShardingPlan,
    depths: tuple[int, int],
    reasons: dict[str, None],
) -> Forecast | None:
    """The forecast of a layout; if it does not fit, None, and the reason is recorded."""
    try:
        made = forecast(config, mesh, chip, plan, depths)
    except LayoutError as wrong:
        reasons.setdefault(str(wrong))
        return None
    if made.memory > chip.memory:
        reasons.setdefault(f"{spelled(mesh)} {too_large(made, chip)}")
        return None
    return made


def too_large(made: Forecast, chip: Chip) -> str:
    """A message on the memory that a layout needs and that the chip has."""
    needs, has = metric(made.memory, "B"), metric(chip.memory, "B")
    return f"needs {needs} on each rank: {chip.name} has {has}"


def spelled(mesh: DeviceMesh) -> str:
    """A mesh in the command line's notation."""
    return ",".join(f"{name}={count}" for name, count in mesh.divided) or "one rank"


def refuse_all_layouts(world: int, chip: Chip, reasons: Iterable[str]) -> None:
    """Raise an error that says why no layout fits."""
    shown = "".join(f"\n  {reason}" for reason in list(reasons)[:REASONS])
    raise ConfigError(
        f"plan: no layout of {world} ranks of {chip.name} fits:{shown}\n"
        "Take another world, or change sizes: --set train.batch_size=..."
    )
