"""The choice of a product's register tile: candidates made from the problem, and their times.

All candidates give the same bits, so that a choice is about time alone. Without a measurement the
model of kernels/blocking.py decides; gnomon/compiler/autotuning.py measures.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from gnomon.codegen.kernels.blocking import choose_tile, cycles, tile_of, tiles_for
from gnomon.codegen.kernels.direct import MOST_ROWS, WRITERS, layout_of
from gnomon.codegen.kernels.product import MatmulSpec, count
from gnomon.codegen.kernels.steps import choose_step
from gnomon.codegen.kernels.team_products import tile_by_team
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.kernels.unpacked import LEAST_ROWS, place_of
from gnomon.codegen.machine import Machine
from gnomon.codegen.numbers import dissected
from gnomon.ir.memo import memo
from gnomon.ir.sizes import hint, is_symbolic

__all__ = [
    *("Choice", "candidates", "class_of", "decide", "decided", "measured_tile"),
]

TileShape = tuple[int, int]
"""Rows and columns of a register tile."""

MOST = 4
"""Candidates that are worth measuring: the model is rarely wrong by more."""


@dataclass(frozen=True)
class Choice:
    """A measured tile: each candidate's seconds, the cost of the search, the choice's origin."""

    tile: TileShape
    timings: tuple[tuple[TileShape, float], ...]
    seconds: float
    source: str = "measured"

    @property
    def regret(self) -> float:
        """The regret of the cost model's choice: its extra time, as a part of the best."""
        times = dict(self.timings)
        return self.timings[0][1] / times[self.tile] - 1


_choices: dict[Hashable, Choice] = memo({})


def class_of(spec: MatmulSpec, machine: Machine) -> Hashable:
    """The class of products that share a choice: equal layouts, and sizes within an eighth."""
    groups = (spec.batch, spec.rows, spec.columns, spec.steps)
    return dissected(spec).outline, tuple(map(round_bits, map(count, groups))), machine.name


def round_bits(size: int) -> int:
    """A size rounded to its highest four bits.

    >>> [round_bits(n) for n in (7, 64, 65, 72, 1000)]
    [7, 64, 64, 72, 960]
    """
    shift = max(size.bit_length() - 4, 0)
    return size >> shift << shift


def candidates(spec: MatmulSpec, machine: Machine) -> list[TileShape]:
    """The tiles that should be fastest, the cost model's first; none for special kernels."""
    sizes = [count(axes) for axes in (spec.batch, spec.rows, spec.columns, spec.steps)]
    if not all(sizes) or layout_of(spec) in WRITERS:
        return []
    step = choose_step(machine, spec.scalar, spec.letters, spec.run)
    tiles = tiles_for(machine, spec.sums, sizes[1], sizes[2], step)
    ranked = sorted(tiles, key=lambda tile: cycles(tile, sizes[1], sizes[2]))
    first = choose_tile(machine, spec.sums, sizes[1], sizes[2], step)
    shapes = ((tile.rows, tile.columns) for tile in (first, *ranked))
    return list(dict.fromkeys(shapes))[:MOST]


FEW_SIZES = 2
"""The most symbolic sizes of a program whose products may read their left operand in place."""


def measured_tile(spec: MatmulSpec, machine: Machine) -> MatmulSpec:
    """The product with the tile that was measured to be fastest, if one was."""
    if is_tiled(machine):
        return replace(spec, tile=tile_by_team(spec, machine))
    rows, columns, steps = [count(x) for x in (spec.rows, spec.columns, spec.steps)]
    # for sizes that vary all of this makes a difference to speed alone, and asks them nothing
    left = place_of(hint(rows) * hint(steps) * spec.item)
    if is_symbolic(rows) and (hint(rows) < LEAST_ROWS or rows.sizes.symbols > FEW_SIZES):
        left = "copied"  # else each of many counts of rows would halve what a program serves
    varies = is_symbolic(steps)
    if is_symbolic(rows) or is_symbolic(columns) or (varies and rows <= MOST_ROWS):
        # code that serves many sizes does not choose by one of them
        tile = tile_of(machine, spec)
        return replace(spec, tile=(tile.rows, tile.columns), left=left)
    measured = bool(_choices) and not varies and not is_symbolic(count(spec.batch))
    found = _choices.get(class_of(spec, machine)) if measured else None
    return replace(spec, tile=found.tile if found else spec.tile, left=left)


def decide(key: Hashable, choice: Choice) -> None:
    """Record the tile that all products of a class take from now on."""
    _choices[key] = choice


def decided(key: Hashable) -> Choice | None:
    """The known choice of a class."""
    return _choices.get(key)
