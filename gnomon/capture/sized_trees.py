"""Ways through a function that serve many sizes, of arguments and of what numpy finds in values.

Where numpy gives a result whose size follows from values, the way goes on for all sizes but 0 and
1, which are ways of their own. Segments behind it are graphs on symbols where they have such sizes,
and what stands at the end is a sized capture.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.capture.inputs import Read
from gnomon.capture.looks import Answer
from gnomon.capture.segments import Look, OtherSizes, Segment, Step
from gnomon.capture.sized_graphs import AtSizes, SizedGraph
from gnomon.capture.trees import Tree
from gnomon.ir.dissected import dissection
from gnomon.ir.node import Graph
from gnomon.ir.sizes import LEAST, MOST, is_symbolic
from gnomon.ir.specializations import FILLED, LatestEntries

if TYPE_CHECKING:
    from gnomon.capture.compile_options import CompileOptions
    from gnomon.capture.guards import Guard
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.sized_captures import SizedCapture, Symbols

__all__ = ["SizedSegment", "SizedTree", "path_key", "segment_of"]


class SizedSegment(Segment):
    """A segment whose graph has symbolic sizes."""

    def __init__(
        self,
        symbols: Symbols,
        name: str,
        options: CompileOptions,
        graph: Graph,
        reads: Sequence[Read],
        look: Look,
    ) -> None:
        super().__init__(name, options, graph, reads, look)
        self.sized, self.places = SizedGraph(symbols.env, graph), [*symbols.places]
        self._holds = symbols.env.test()
        self.filled_in: LatestEntries[tuple[int, ...], FilledSegment] = LatestEntries(FILLED)
        """Segments of the latest sizes."""

    def is_like(self, other: Segment) -> bool:
        """Whether another capture's segment has the same graph and the same host read."""
        is_sized = isinstance(other, SizedSegment)
        return is_sized and self.sized.key == other.sized.key and self.look[1:] == other.look[1:]

    def at(self, sizes: Sequence[int]) -> Segment:
        """The segment at some sizes; raises OtherSizes if it does not serve them."""
        own = tuple([sizes[k] for k in self.places])
        if not self._holds(own):
            raise OtherSizes
        return self.filled_in.found(own, partial(FilledSegment, self))


class FilledSegment(AtSizes, Segment):
    """A symbolic segment at some sizes."""

    def __init__(self, of: SizedSegment, own: tuple[int, ...]) -> None:
        self.of, self.sized, self.own_sizes = of, of.sized, own
        self.name, self.options, self.look, self.lasting = of.name, of.options, of.look, of.lasting
        self.follow, self.title, self.rewritten = of.follow, of.name, ()

    @property
    def calls(self) -> int:  # type: ignore[override]
        """The number of replays at all sizes."""
        return self.of.calls

    @property
    def spent(self) -> int:  # type: ignore[override]
        """The nanoseconds of replays at all sizes."""
        return self.of.spent


def segment_of(
    symbols: Symbols,
    name: str,
    options: CompileOptions,
    graph: Graph | None,
    reads: Sequence[Read],
    look: Look,
) -> Segment:
    """A segment of a capture on symbolic sizes; an ordinary one if it contains none."""
    if graph is not None and any(map(is_symbolic, dissection(graph).numbers)):
        return SizedSegment(symbols, name, options, graph, reads, look)
    return Segment(name, options, graph, reads, look)


class SizedTree(Tree):
    """The tree of paths of calls whose arguments differ in symbolic sizes."""

    def __init__(self, guard: Guard, symbols: Symbols) -> None:
        super().__init__(guard, None, ())
        self.own_sizes, self.pattern = symbols.of_arguments, symbols.pattern

    def turning(self, step: Step) -> Answer:
        """The part of a step's answer that selects the next segment."""
        return branch_key(step)

    def program(self, end: SizedCapture, sizes: Sequence[int]) -> CapturedProgram | None:
        """The program at the end of a path, at these sizes."""
        return end.program(tuple(sizes), self.tracked) if end.guard.holds() else None

    def takes(self, steps: Sequence[Step], ending: Any) -> bool:
        """Add a path, unless the same answers lead elsewhere; returns whether it was added."""
        at, merged = self.root, []
        for step in steps:
            if at is not None and not (isinstance(at, Segment) and at.is_like(step.segment)):
                return False
            merged.append(step if at is None else step._replace(segment=at))
            at = merged[-1].segment.follow.get(self.turning(step))
        if isinstance(at, Segment):
            return False
        self.grow(merged, ending)
        return True

    def is_differentiable(self, program: Any) -> bool:
        """Whether gradients go back behind a program."""
        return program.source.differentiable

    def segments(self) -> Iterator[tuple[int, Answer, Any]]:
        """Every program with its depth and the answer that leads to it, at its latest sizes."""
        for depth, answer, at in super().segments():
            found = programs_of(at)
            if found:
                yield depth, short_answer(answer), found[-1]

    def parts(self) -> list[Any]:
        """Every program made so far."""
        return [x for *_, at in super().segments() for x in programs_of(at)]


def short_answer(answer: Answer) -> Answer:
    """A short form of an answer."""
    if not isinstance(answer, tuple):
        return answer
    words = ["other sizes" if n == LEAST else f"size {n}" for n in answer]
    return " and ".join(words) or "of any size"


def programs_of(at: Any) -> list[Any]:
    """The programs of a symbolic segment at all its sizes; a plain segment itself."""
    is_plain = isinstance(at, Segment) and not isinstance(at, SizedSegment)
    return [at] if is_plain else [*at.filled_in.values()]


def path_key(steps: Sequence[Step]) -> Hashable:
    """A key of a path, equal for all sizes."""
    return tuple([(x.segment.look[1:], branch_key(x)) for x in steps])


def branch_key(step: Step) -> Answer:
    """The answer of a step, with sizes from values reduced to whether they are 0, 1 or others."""
    is_number = step.segment.look.is_host_call or step.sizes
    return tuple(map(size_class, step.sizes)) if is_number else step.answer


def size_class(size: int) -> int:
    """A size itself if it is 0 or 1, else the least size that is a symbol."""
    return LEAST if LEAST <= size < MOST else size
