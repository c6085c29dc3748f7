"""Graphs on symbols, and programs that serve them at many sizes."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from gnomon.capture.inputs import pattern
from gnomon.compiler import sized, tiers
from gnomon.ir.dissected import dissection, renumbered
from gnomon.ir.relations import Formulas
from gnomon.ir.sizes import LEAST, ShapeEnv, text_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gnomon.capture.compile_options import CompileOptions
    from gnomon.compiler.tiers import Kept, Tiers
    from gnomon.ir.node import Graph, Node
    from gnomon.program.context import CompileContext
    from gnomon.program.executable import Executable, Pairs

__all__ = ["SizedGraph"]

Sizes = tuple[int, ...]

STEPS = (-2, -1, 1, 2, 3, 8, 16)
"""Sizes that are so much more are asked for to tell whether a program serves others."""
NARROW = 2
"""So many programs may serve no other size: further ones are of one size each from the start."""


class SizedGraph:
    """A graph on symbols."""

    def __init__(self, env: ShapeEnv, graph: Graph) -> None:
        self.env, self.form, self._taken = env, graph, dissection(graph)
        self._numbers = env.function(self._taken.numbers)
        self._shapes = env.function([n for x in graph.outputs for n in x.shape])
        self._programs: dict[tuple, list[sized.SizedProgram]] = {}
        self._lock, self._narrow = Lock(), 0

    @property
    def key(self) -> Hashable:
        """The same for graphs of two captures that differ in the names of symbols alone."""
        return self._taken.outline, tuple(map(text_of, self._taken.numbers))

    def graph(self, own: Sizes) -> Graph:
        """The graph of some sizes; nodes that are the same there are one."""
        return renumbered(self.form, iter(self._numbers(own)))

    def leaves(self, own: Sizes) -> list[Node]:
        """Leaves like those that hold its outputs."""
        shapes = iter(self._shapes(own))
        return [pattern(x, tuple([next(shapes) for _ in x.shape])) for x in self.form.outputs]

    def tiers(
        self, own: Sizes, options: CompileOptions, title: str, rewritten: Pairs, lasting: Kept
    ) -> Tiers:
        """The tiers that run it: of a program for all sizes where there is one."""
        made = options.filled_in(partial(self._executable, own), lasting)
        if made is None:
            options = options._replace(dynamic=False)
            return options.tiers(self.graph(own), title, rewritten, lasting)
        named = made.under(lambda: self.graph(own), made.lines, title)
        return tiers.Tiers(self.form, title, rewritten, made=named)

    def _executable(self, own: Sizes, context: CompileContext) -> Executable | None:
        """The executable of some sizes, of a program for many; None where there is none."""
        with self._lock:
            known, form = self._programs.setdefault(context.key, []), self.form
            for each in known:
                if each.serves(own) is not None:
                    return each.at(own, form)
            if len(known) >= sized.PROGRAMS or self._narrow >= NARROW:
                return None
            formulas = (self.env, self._taken.numbers), self._taken.leaves, own
            made = sized.on_symbols(form, partial(Formulas, *formulas), own, context)
            if made is None or not any(made.serves(near(own, step)) for step in STEPS):
                self._narrow += 1
            if made is None:
                return None
            known.append(made)
        found = made.at(own, form)
        found.fresh = made.fresh
        return found


def near(own: Sizes, step: int) -> Sizes:
    """Sizes that are a little more or less."""
    return tuple([max(n + step, LEAST) for n in own])
