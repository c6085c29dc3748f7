"""Calls of a compiled function that differ in sizes alone, and when one capture for all is tried.

Such a capture is in sized_captures.py, which loads when there is one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gnomon.forking import cached_property
from gnomon.ir.specializations import (
    ASKED,
    CAPTURES,
    SERVED,
    WAYS,
    ArtifactFamily,
    FamilyLimits,
    LatestEntries,
    Specializations,
)
from gnomon.ir.sym_number import Unsized
from gnomon.lazy import sized, sized_captures, sized_trees, trees
from gnomon.settings import current

if TYPE_CHECKING:
    from gnomon.capture.compile_options import CompileOptions
    from gnomon.capture.guards import Guard
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.segments import Step
    from gnomon.capture.sized_captures import SizedAttempt, SizedCapture
    from gnomon.capture.sized_trees import SizedTree
    from gnomon.capture.trees import Tree
    from gnomon.tensor.tensor import Tensor

__all__ = ["SizeFamilies", "SizeFamily"]

Sizes = tuple[int, ...]

MODES = 2
"""Parts of a key behind the call and its tensors: modes, and who shares memory with whom."""


class SizeFamilies:
    """The captures of one function, grouped by their signatures without sizes."""

    def __init__(self, options: CompileOptions) -> None:
        self.options = options

    @cached_property
    def known(self) -> Specializations:
        """The families by signature without sizes; `dynamic` makes their sizes symbolic sooner."""
        limits = CAPTURES._replace(enough=ASKED) if self.options.dynamic else CAPTURES
        return Specializations(limits, SizeFamily)

    def family(self, key: tuple) -> tuple[SizeFamily | None, Sizes]:
        """The family of a signature, and the sizes; None if each size has its own capture."""
        options, (tree, signatures, *rest) = self.options, key
        asked = current().dynamic_sizes if options.dynamic is None else options.dynamic
        if options.seconds or not asked or len(rest) != MODES:
            return None, ()
        kinds = tuple([(len(shape), *more) for shape, *more in signatures])
        sizes = tuple([n for shape, *_ in signatures for n in shape])
        return self.known.of((tree, kinds, *rest)), sizes

    def note(
        self, key: tuple, guard: Guard, program: CapturedProgram, steps: Sequence[Step]
    ) -> None:
        """Record a capture with fixed sizes."""
        family, sizes = self.family(key)
        if family is None:
            return
        if steps:
            family.note_way(sizes, guard, program, steps)
        else:
            family.samples[sizes] = guard, program


class Sample(NamedTuple):
    """A capture at fixed sizes, and its path."""

    way: Hashable
    given: Sizes
    """The sizes of arguments."""
    sizes: Sizes
    """The sizes of the call, and those found by numpy."""
    guard: Guard
    program: CapturedProgram


class SizeFamily(ArtifactFamily["SizedCapture"]):
    """The calls of a function that differ only in sizes.

    Samples are captures at fixed sizes: a guard and a program.
    """

    def __init__(self, limits: FamilyLimits) -> None:
        super().__init__(limits)
        self.ways: list[Sample] = []
        """The latest captures with sizes of their own in which Python looks at values."""
        self.unproven: list[tuple[SizedCapture, Sequence[Step]]] = []
        """Captures for many sizes, of ways of which there is no other yet."""
        self.trees: list[SizedTree] = []
        """The ways of proven ones."""
        self.grown = self.doubted = 0
        self.filled_in: LatestEntries[tuple, None] = LatestEntries(SERVED)
        """Keys of calls whose programs were filled in."""

    def program(
        self, sizes: Sizes, arguments: Sequence[Tensor]
    ) -> tuple[Guard, CapturedProgram | Tree] | None:
        """The program of these sizes from a capture on symbolic sizes; None if none serves them."""
        for each in self.made:
            own = each.serves(sizes)
            if own is not None and each.guard.holds():
                made = sized_captures.FilledProgram(each, own, False)
                return (each.guard, made) if made.holds(arguments) else None
        shared = next((x for x in self.of(sizes) if x.guard.holds()), None)
        return shared and (shared.guard, trees.Tree(shared.guard, self, sizes))

    def of(self, sizes: Sizes) -> list[SizedTree]:
        """The trees of paths that serve these sizes."""
        return [x for x in self.trees if x.own_sizes(sizes) is not None]

    def attempt(self, sizes: Sizes, is_found: bool) -> SizedAttempt | None:
        """A capture on symbolic sizes to try now; None if there should be none."""
        if self.is_closed or len(self.made) + self.grown >= self.limits.kept:
            return None
        known = [(x, p) for x, (g, p) in [*self.samples.items()] if x != sizes and g.holds()]
        known += [(x.given, x.program) for x in self.ways if x.guard.holds()]
        others = [x for x in dict.fromkeys(x for x, _ in known) if x != sizes]
        if not known or (len(others) + 1 < self.limits.enough and not is_found):
            return None
        if any(p.graph is None for _, p in known):
            return None  # of one without a graph, all results are parts of what was there
        try:
            sized.refuse_fixed(known[-1][1].graph)
        except Unsized:
            self.failed = self.limits.failures
            return None
        symbols = sized_captures.Symbols([sizes, *others])
        if is_found and not symbols.are_distinct:
            symbols = sized_captures.Symbols([sizes])
        elif not symbols.are_distinct:
            return None
        return sized_captures.SizedAttempt(self, symbols, sizes)

    def prove(self, made: SizedCapture, steps: Sequence[Step]) -> None:
        """Keep a symbolic capture if it reproduces those at fixed sizes; else raise Unsized."""
        way = sized_trees.path_key(steps) if steps else ()
        pairs = [(x, p) for x, (g, p) in [*self.samples.items()] if g.holds() and not steps]
        pairs += [(x.sizes, x.program) for x in self.ways if x.way == way and x.guard.holds()]
        outcomes = [made.gives(*pair) for pair in pairs]
        if steps and not pairs and self.doubted < self.limits.kept:
            self.doubted += 1
            made.source.first = []
            self.unproven = [*self.unproven, (made, [x.bare for x in steps])][-CAPTURES.samples :]
            raise sized_captures.Unproven("no capture with sizes of its own goes this way yet")
        if False in outcomes or True not in outcomes:
            raise Unsized("captures with sizes of their own do not come out of it")
        self._keep(made, steps)

    def note_way(
        self, sizes: Sizes, guard: Guard, program: CapturedProgram, steps: Sequence[Step]
    ) -> None:
        """Record a path at fixed sizes, which may prove captures on symbolic sizes.

        A path with collectives is excluded: it would meet ranks that capture nothing now.
        """
        if any(x.segment.meets for x in steps) or program.graph is None:
            return
        found = [n for x in steps for n in x.sizes]
        made = Sample(sized_trees.path_key(steps), sizes, (*sizes, *found), guard, program)
        self.ways = [*self.ways, made][-WAYS:]
        for each in self.unproven:
            if sized_trees.path_key(each[1]) == made.way:
                self.unproven = [x for x in self.unproven if x is not each]
                if each[0].gives(made.sizes, program):
                    self._keep(*each)
                else:
                    self.failed += 1

    def _keep(self, made: SizedCapture, steps: Sequence[Step]) -> None:
        """Keep a capture on symbols that is proven."""
        self.failed = 0
        if not steps:
            self.add(made)
            return
        self.grown += 1
        way, ending = [x.bare for x in steps], (made.guard, made)
        alike = [x for x in self.trees if x.pattern == made.symbols.pattern]
        if not any(x.takes(way, ending) for x in alike):
            self.trees.append(sized_trees.SizedTree(made.guard, made.symbols))
            self.trees[-1].takes(way, ending)
