"""The output of `gnomon plan`: a table of layouts as text or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from rich.console import Console, Group
from rich.progress import track
from rich.table import Table
from rich.text import Text

from gnomon.distributed.plans import PLAN
from gnomon.program.units import counted, metric
from gnomon.settings import current
from gnomon.train.chips import ASKER, Chip, chip_of
from gnomon.train.config import Config
from gnomon.train.forecast import DEPTHS
from gnomon.train.layouts import RankedLayout, best_layouts, spelled
from gnomon.train.recipes import configure
from gnomon.train.team import read_plan

__all__ = ["LayoutOptions", "as_json", "page", "print_plan"]

REPEATS = 1.1
"""The ratio of work from which the page explains repeated work."""


class LayoutOptions(NamedTuple):
    """The options of `gnomon plan`."""

    recipe: str
    world: int
    chip: str = ASKER
    changes: tuple[str, ...] = ()
    plan: Path | None = None
    json: bool = False


def print_plan(wanted: LayoutOptions) -> int:
    """Print the best layouts of a recipe, with a progress bar on stderr; returns the exit code."""
    config, chip = configure(wanted.recipe, list(wanted.changes)), chip_of(wanted.chip)
    plan = PLAN if wanted.plan is None else read_plan(wanted.plan)
    aside = Console(stderr=True)
    progress = partial(track, description="layouts", console=aside, transient=True)
    found = best_layouts(config, wanted.world, chip, plan, progress)
    if wanted.json:
        sys.stdout.write(as_json(config, chip, wanted.world, found) + "\n")
    else:
        Console(soft_wrap=True, highlight=False).print(page(config, chip, wanted.world, found))
    return 0


def page(config: Config, chip: Chip, world: int, found: Sequence[RankedLayout]) -> Group:
    """The table of layouts, best first, with its footnotes."""
    layers = config.model.num_hidden_layers
    title = f"{config.run.name}, {counted(layers, 'layer')}, on {world:,} of {chip.name}"
    table = Table(title=title, box=None, title_justify="left", pad_edge=False)
    table.add_column("layout", no_wrap=True)
    for name in ("step", "waiting", "memory", "work"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("sent by each rank")
    for mesh, figures, work in found:
        table.add_row(
            spelled(mesh),
            metric(figures.seconds, "s") if figures.seconds >= 1 else milliseconds(figures.seconds),
            f"{figures.waiting / figures.seconds:.0%}",
            metric(figures.memory, "B"),
            f"{work:.2f}",
            ", ".join(f"{name} {metric(size, 'B')}" for name, size in figures.sent.items()) or "-",
        )
    return Group(table, *(Text(line) for line in notes(layers, found)))


def milliseconds(seconds: float) -> str:
    """The text of a time below a second.

    >>> milliseconds(0.01677)
    '16.8 ms'
    """
    return f"{1e3 * seconds:.3g} ms"


def notes(layers: int, found: Sequence[RankedLayout]) -> Iterator[str]:
    """Footnotes of the table, line by line."""
    yield ""
    yield "Modelled by the chip's peaks: bounds by which layouts compare, not times to be measured."
    yield "work: a rank's flops beside an equal share of one process's."
    if layers > DEPTHS[1]:
        yield (
            "Built were models of {} and of {} layers; ".format(*DEPTHS)
            + f"{layers} follow along the line through both."
        )
    if found[0].work >= REPEATS and current().numerics != "fast":
        yield (
            "Ranks repeat work, since the bits are kept: rows are summed in at most 16 parts along "
            'each mesh axis. See also GNOMON_NUMERICS="fast".'
        )


def as_json(config: Config, chip: Chip, world: int, found: Sequence[RankedLayout]) -> str:
    """The layouts and their modelled figures as JSON, in seconds and bytes."""
    rows = [
        {
            "mesh": dict(mesh.axes),
            "seconds": figures.seconds,
            "waiting_seconds": figures.waiting,
            "memory_bytes": round(figures.memory),
            "work": round(work, 4),
            "sent_bytes": {name: round(size) for name, size in figures.sent.items()},
        }
        for mesh, figures, work in found
    ]
    layers = config.model.num_hidden_layers
    built = DEPTHS if layers > DEPTHS[1] else [layers]
    recipe = {"recipe": config.run.name, "chip": chip.name, "world": world, "layers": layers}
    made = msgspec.json.encode(recipe | {"built_layers": built, "layouts": rows})
    return msgspec.json.format(made, indent=2).decode()
