"""Tables of size-dependent numbers for program files: one row for each size.

A program for all sizes computes its numbers by Python functions, which the loader of a file lacks.
Sizes of a file are bounded, so the functions are called here, once for each size; a number that is
a sum of multiples of sizes needs no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gnomon.compiler import pipeline
from gnomon.compiler.sized import refuse_fixed
from gnomon.errors import ArgumentError, ShapeError, TraceError
from gnomon.ir.dissected import dissection, renumbered
from gnomon.ir.node import Graph
from gnomon.ir.relations import Formulas, own_size, unremarkable
from gnomon.ir.sizes import LEAST, ShapeEnv
from gnomon.ir.sym_number import Unsized
from gnomon.program import assembly
from gnomon.program.blocks import ProgramBlock
from gnomon.program.context import CompileContext
from gnomon.program.saved import SavedProgram

__all__ = ["MethodSizes", "SizeTable", "sized_block", "sizes_table"]

MOST_SIZES = 1 << 12
"""The most sizes, or combinations of them, that a method may serve."""


class MethodSizes(NamedTuple):
    """The sizes of a method that vary: the arguments' axes, least and largest values, and graph."""

    env: ShapeEnv
    own: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    bounds: tuple[tuple[int, int], ...]

    def all(self) -> Iterator[tuple[int, ...]]:
        """All combinations of sizes, in order."""
        return product(*(range(a, b + 1) for a, b in self.bounds))


class SizeTable(NamedTuple):
    """Numbers by size: a row for each size, 0 for none, and multiples of the sizes to add."""

    places: np.ndarray
    multiples: np.ndarray
    rows: np.ndarray


def bounded(name: str, sizes: MethodSizes) -> MethodSizes:
    """Restrict sizes to those from 2 on, and refuse too many of them."""
    kept = sizes._replace(bounds=tuple([(max(a, LEAST), b) for a, b in sizes.bounds]))
    if prod(b - a + 1 for a, b in kept.bounds) > MOST_SIZES:
        raise ArgumentError(
            f"save: {name} is for more than {MOST_SIZES:,} sizes. Give each Dim a smaller max."
        )
    return kept


def sized_block(
    name: str, graph: Graph, sizes: MethodSizes, context: CompileContext
) -> tuple[ProgramBlock, SavedProgram, ShapeEnv]:
    """The kernels and the plan of a graph on symbolic sizes, and the environment of these."""
    taken = dissection(graph)
    for stand_in in (unremarkable, own_size):
        try:
            refuse_fixed(graph)
            known = Formulas((sizes.env, taken.numbers), sizes.own, stand_in)
            block = pipeline.kernels_of(renumbered(graph, iter(known.numbers)), context)
            return block, assembly.plan_of(block), known.sizes
        except (Unsized, ShapeError, ArgumentError) as cause:
            why = cause
    raise TraceError(f"save: {name} has no program for all sizes: {why}. Export it for fixed ones.")


def sizes_table(
    name: str, sizes: MethodSizes, dims: Sequence[Any], env: ShapeEnv, numbers: Sequence[Any]
) -> SizeTable:
    """The table of the sizes of results, and of a plan's numbers, for all sizes.

    Raises TraceError if the plan serves none of the sizes.
    """
    tests, found, own = (sizes.env.test(), env.test()), list[tuple[int, ...]](), list[Any]()
    sizes_of, numbers_of = sizes.env.function(dims), env.function(numbers)
    places = np.zeros(prod(b - a + 1 for a, b in sizes.bounds), np.int64)
    for k, given in enumerate(sizes.all()):
        if all(test(given) for test in tests):
            found.append((*sizes_of(given), *map(int, numbers_of(given))))
            own.append((k, *given))
    if not found:
        raise TraceError(f"save: {name} has no program for its sizes. Export it for fixed ones.")
    values, given = np.array(found, np.int64), np.array(own, np.int64)
    multiples = np.zeros((len(sizes.bounds), values.shape[1]), np.int64)
    for k in range(len(sizes.bounds)):
        alike = np.delete(given[:, 1:], k, 1)
        near = np.flatnonzero(
            (np.diff(given[:, 1 + k]) == 1) & (np.diff(alike, axis=0) == 0).all(1)
        )
        step = values[near[:1] + 1].sum(0) - values[near[:1]].sum(0)
        multiples[k] = step
    rest = values - given[:, 1:] @ multiples
    is_sum = (rest == rest[0]).all(0)
    multiples[:, ~is_sum] = 0
    rows, numbers_v = np.unique(values - given[:, 1:] @ multiples, axis=0, return_inverse=True)
    places[given[:, 0]] = 1 + numbers_v.reshape(-1)
    return SizeTable(places, multiples, rows)
