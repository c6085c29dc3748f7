"""Graphs on symbols, and programs that serve them at many sizes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gnomon.capture.inputs import pattern
from gnomon.compiler import sized, tiers
from gnomon.forking import cached_property
from gnomon.ir.dissected import dissection, renumbered
from gnomon.ir.relations import Formulas
from gnomon.ir.sizes import LEAST, ShapeEnv, text_of
from gnomon.ir.specializations import GRAPHS, Specializations

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gnomon.capture.compile_options import CompileOptions
    from gnomon.compiler.tiers import KeptInputs, Tiers
    from gnomon.ir.node import Graph, Node
    from gnomon.program.context import CompileContext
    from gnomon.program.executable import Executable, Pairs

__all__ = ["AtSizes", "SizedGraph"]

Sizes = tuple[int, ...]

STEPS = (-2, -1, 1, 2, 3, 8, 16)
"""Sizes that are so much more are asked for to tell whether a program serves others."""


class SizedGraph:
    """A graph with symbolic sizes."""

    def __init__(self, env: ShapeEnv, graph: Graph) -> None:
        self.env, self.form, self._taken = env, graph, dissection(graph)
        self._numbers = env.function(self._taken.numbers)
        self._shapes = env.function([n for x in graph.outputs for n in x.shape])
        self._programs = Specializations(GRAPHS)

    @property
    def key(self) -> Hashable:
        """A key, equal for graphs of two captures that differ only in the names of symbols."""
        return self._taken.outline, tuple(map(text_of, self._taken.numbers))

    def graph(self, own: Sizes) -> Graph:
        """The graph at some sizes."""
        return renumbered(self.form, iter(self._numbers(own)))

    def leaves(self, own: Sizes) -> list[Node]:
        """Leaves like those that hold its outputs."""
        shapes = iter(self._shapes(own))
        return [pattern(x, tuple([next(shapes) for _ in x.shape])) for x in self.form.outputs]

    def tiers(
        self, own: Sizes, options: CompileOptions, title: str, rewritten: Pairs, lasting: KeptInputs
    ) -> Tiers:
        """The executables at some sizes, from a dynamic-shape program if there is one."""
        made = options.filled_in(partial(self._executable, own), lasting)
        if made is None:
            options = options._replace(dynamic=False)
            return options.tiers(self.graph(own), title, rewritten, lasting)
        named = made.under(lambda: self.graph(own), made.lines, title)
        return tiers.Tiers(self.form, title, rewritten, made=named)

    def _executable(self, own: Sizes, context: CompileContext) -> Executable | None:
        """The executable at some sizes, from a dynamic-shape program; None if there is none."""
        family = self._programs.of(context.key)

        def make(_: list[Sizes]) -> sized.SizedProgram | None:
            formulas = partial(Formulas, (self.env, self._taken.numbers), own)
            made = sized.on_symbols(self.form, formulas, own, context)
            if made is not None and not any(made.serves(near(own, step)) for step in STEPS):
                family.failed += 1
            return made

        found = family.served(own, make)
        return found and found[0].at(found[1], self.form)


class AtSizes:
    """The code of a symbolic graph at some sizes."""

    sized: SizedGraph
    own_sizes: Sizes
    options: CompileOptions
    title: str
    rewritten: Pairs
    lasting: KeptInputs

    @cached_property
    def graph(self) -> Graph:
        """The graph at these sizes, made when it is first read."""
        return self.sized.graph(self.own_sizes)

    @property
    def form(self) -> Graph:
        """A graph that differs from it in sizes alone."""
        return self.sized.form

    @cached_property
    def leaves(self) -> list[Node]:
        """Leaves like those that hold its outputs."""
        return self.sized.leaves(self.own_sizes)

    @cached_property
    def tiers(self) -> Tiers:
        """The executables, from a dynamic-shape program if there is one."""
        given = self.options, self.title, self.rewritten, self.lasting
        return self.sized.tiers(self.own_sizes, *given)


def near(own: Sizes, step: int) -> Sizes:
    """Sizes that differ a little from these, by `step`."""
    return tuple([max(n + step, LEAST) for n in own])
