"""Calls of a compiled function that differ in sizes alone, and when one capture for all is tried.

Such a capture is in sized_captures.py, which loads when there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.ir.sym_number import Unsized
from gnomon.lazy import sized, sized_captures
from gnomon.settings import current

if TYPE_CHECKING:
    from gnomon.capture.compile_options import CompileOptions
    from gnomon.capture.guards import Guard
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.sized_captures import SizedAttempt, SizedCapture
    from gnomon.tensor.tensor import Tensor

__all__ = ["SizeFamilies", "SizeFamily"]

Sizes = tuple[int, ...]

MODES = 2
"""Parts of a key behind the call and its tensors: modes, and who shares memory with whom."""
ENOUGH = 2
"""So many other sizes before tell that sizes vary; one does where a function says so."""
SAMPLES = 4
"""Captures of which is learned what varies, and with which a sized one is compared."""
CAPTURES = 8
"""Sized captures of one family; further sizes have captures of their own."""
UNLUCKY = 3
"""So many may fail, one after the other, before a family is left alone."""
SERVED = 512
"""Programs of a family that are kept: others are filled in again."""


class SizeFamilies:
    """The captures of one function, by what their signatures are without sizes."""

    def __init__(self, options: CompileOptions) -> None:
        self.options = options
        self.known: dict[tuple, SizeFamily] = {}

    def family(self, key: tuple) -> tuple[SizeFamily | None, Sizes]:
        """The calls like one but for sizes, and its sizes; none where each has its capture."""
        options, (tree, signatures, *rest) = self.options, key
        asked = current().dynamic_sizes if options.dynamic is None else options.dynamic
        if options.seconds or not asked or len(rest) != MODES:
            return None, ()
        kinds = tuple([(len(shape), *more) for shape, *more in signatures])
        bare = (tree, kinds, *rest)
        if bare not in self.known:
            self.known[bare] = SizeFamily(1 if options.dynamic else ENOUGH)
        return self.known[bare], tuple([n for shape, *_ in signatures for n in shape])

    def note(self, key: tuple, guard: Guard, program: CapturedProgram) -> None:
        """Learn of a capture with sizes of its own."""
        family, sizes = self.family(key)
        if family is not None:
            kept = [*family.samples.items()][1 - SAMPLES :]
            family.samples = {**dict(kept), sizes: (guard, program)}


class SizeFamily:
    """The calls of a function that differ in sizes alone.

    enough: so many other sizes before tell that sizes vary.
    """

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self.samples: dict[Sizes, tuple[Guard, CapturedProgram]] = {}
        """The latest captures with sizes of their own."""
        self.captures: list[SizedCapture] = []
        self.failed = 0
        self._served: list[tuple] = []

    def program(
        self, sizes: Sizes, arguments: Sequence[Tensor]
    ) -> tuple[Guard, CapturedProgram] | None:
        """A program of these sizes by a capture that is there, if one serves them."""
        for each in reversed(self.captures):
            own = each.serves(sizes)
            if own is not None and each.guard.holds():
                made = sized_captures.FilledProgram(each, own)
                return (each.guard, made) if made.holds(arguments) else None
        return None

    def oldest(self, key: tuple) -> tuple | None:
        """Note a key whose program was filled in; the one that gives way for it."""
        self._served.append(key)
        return self._served.pop(0) if len(self._served) > SERVED else None

    def attempt(self, sizes: Sizes) -> SizedAttempt | None:
        """A capture of all sizes, if there should be one now."""
        if self.failed >= UNLUCKY or len(self.captures) >= CAPTURES:
            return None
        found = [(x, p) for x, (g, p) in self.samples.items() if x != sizes and g.holds()]
        if len(found) < self.enough or any(p.graph is None for _, p in found):
            return None  # of one without a graph, all results are parts of what was there
        try:
            sized.refuse_fixed(found[-1][1].graph)
        except Unsized:
            self.failed = UNLUCKY
            return None
        symbols = sized_captures.Symbols([sizes, *(x for x, _ in found)])
        return sized_captures.SizedAttempt(self, symbols, sizes) if symbols.are_distinct else None

    def add(self, made: SizedCapture) -> None:
        """Keep a capture, if one with sizes of its own comes out of it, and none does not."""
        pairs = [(x, p) for x, (g, p) in self.samples.items() if g.holds()]
        told = [made.gives(*pair) for pair in pairs]
        if False in told or True not in told:
            raise Unsized("captures with sizes of their own do not come out of it")
        self.failed = 0
        self.captures.append(made)
