"""Trace trees: a function whose way depends on values, as programs with questions between them.

A segment runs up to where Python looks at a value; the answer selects what follows, and at the end
stands an ordinary replay. Nothing outside is changed before it, so that a call whose answer is new
is simply captured from its start. How a way is found is in paths.py beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from gnomon.capture.looks import Answer, truth
from gnomon.capture.segments import Segment, Step
from gnomon.lazy import call_objects, listing
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.size_families import SizeFamily

__all__ = ["NewAnswer", "Tree"]

FEWER = "Keep the value a tensor (gn.where, gn.cond, gn.while_loop), or branch on less of it."
"""The advice to whoever asks for much."""
MANY_WAYS = 8
"""The number of paths that causes a warning."""
MOST_WAYS = 64
"""Beyond so many, a function runs uncompiled."""
KEPT_ENDINGS = 16
"""Replays that are kept behind the same answers, for different Python values."""

Ending = tuple["Guard", "CapturedProgram"]


class NewAnswer(Exception):
    """Raised when a call's answers lead to no known segment: its path is to be captured."""

    def __init__(self, tree: Tree, steps: list[Step], why: str, is_answer: bool = False) -> None:
        super().__init__(why)
        self.tree, self.steps, self.is_answer = tree, steps, is_answer
        self.is_size = is_answer and bool(steps[-1].sizes)
        """Whether what is new is a size that follows from values."""

    def settled(self) -> Tree | None:
        """The tree, if another thread has captured that path meanwhile; else None."""
        last = self.steps[-1] if self.is_answer else None
        return self.tree if last is not None and last.answer in last.segment.follow else None


class CallOnItsWay:
    """A call on its way through a tree; known steps do not run again."""

    def __init__(
        self, tree: Tree, arguments: Sequence[Tensor], sizes: Sequence[int], known: Sequence[Step]
    ) -> None:
        self.tree, self.known, self.steps = tree, known, list[Step]()
        self.values, self.sizes = call_objects.copied(arguments), [*sizes]

    def step(self, segment: Segment) -> Step:
        """Run a segment and its host read, unless this call has; returns the step."""
        step = self._known(segment) if self.known else None
        if step is None:
            step = self._run(segment)
        if segment.finds_sizes:
            self.sizes += step.sizes
        self.steps.append(step)
        return step

    def _known(self, segment: Segment) -> Step | None:
        """The step of a segment that has run."""
        at = len(self.steps)
        step = self.known[at] if at < len(self.known) else None
        if step is None or not step.segment.is_like(segment):
            self.known = ()
            return None
        self.values += [*step.made, *step.found]
        return step._replace(segment=segment)

    def _run(self, segment: Segment) -> Step:
        """Run a segment and its host read; returns the step."""
        start = monotonic_ns()
        try:
            inputs, runs = segment.inputs(self.values), segment.at(self.sizes)
            made = runs.run(inputs, self.tree.tracked)
            self.values += made
            answer, found = segment.look.asked(self.values)
            self.values += found
        except Exception as error:
            # the function may catch what is raised in the midst of it
            why = f"{type(error).__name__} is raised"
            raise NewAnswer(self.tree, self.steps, why) from error
        segment.calls += 1
        segment.spent += monotonic_ns() - start
        return Step(segment, runs, inputs, made, answer, found)


class Tree:
    """The tree of paths of one signature, which branch by the values that Python reads."""

    root: Segment | None = None

    def __init__(self, guard: Guard, family: SizeFamily | None, sizes: tuple[int, ...]) -> None:
        self.guard, self.family, self.sizes = guard, family, sizes
        self.tracked = False
        """Whether gradients may go back behind what some way gives."""
        self.graph, self.warning = None, ""
        """No program of its own; why the function runs without it."""

    def holds(self, _: Sequence[Tensor]) -> bool:
        """Return True: any call may begin, since guards are checked at the ends of paths."""
        return True

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """Run a call along a known path; raises NewAnswer on an unknown one."""
        program, values = self.found(arguments)
        return program.run(values)

    def found(self, arguments: Sequence[Tensor]) -> tuple[CapturedProgram, list[Tensor]]:
        """The program at the end of a call's path and its inputs; symbolic paths first."""
        if self.family is None or not self.family.trees:
            return self.way(arguments, self.sizes, ())
        known, tracked, is_size = list[Step](), self.tracked, False
        for shared in self.shared:
            try:
                return shared.way(arguments, self.sizes, known if shared.tracked is tracked else ())
            except NewAnswer as new:
                known, tracked, is_size = new.steps, shared.tracked, is_size or new.is_size
        if self.root is not None:
            return self.way(arguments, self.sizes, known if self.tracked is tracked else ())
        made = NewAnswer(self, [], "no way of these sizes is known")
        made.is_size = is_size
        raise made

    @property
    def shared(self) -> Sequence[Tree]:
        """The trees on symbolic sizes, which are tried first."""
        return () if self.family is None else self.family.of(self.sizes)

    def way(
        self, arguments: Sequence[Tensor], sizes: Sequence[int], known: Sequence[Step]
    ) -> tuple[CapturedProgram, list[Tensor]]:
        """Walk the tree: the program at the end and the values on the path, or raise NewAnswer."""
        walk, at = CallOnItsWay(self, arguments, sizes, known), self.root
        while isinstance(at, Segment):
            at = at.follow.get(self.turning(walk.step(at)))
        for guard, end in at or ():
            program = self.program(end, walk.sizes)
            holds = program is not None and (guard is self.guard or guard.holds())
            if holds and program.holds(arguments):
                return program, walk.values
        state = "new" if at is None else "known, but what the way behind it reads has changed"
        site = walk.steps[-1].segment.look.site
        raise NewAnswer(self, walk.steps, f"the value asked for at {site} is {state}", at is None)

    def turning(self, step: Step) -> Answer:
        """The part of an answer that selects the next segment."""
        return step.answer

    def program(self, end: Any, _: Sequence[int]) -> CapturedProgram | None:
        """The program at the end of a path."""
        return end

    def grow(self, steps: Sequence[Step], ending: Ending) -> None:
        """Add a trace path to the tree."""
        for step, after in pairwise(steps):
            step.segment.follow[self.turning(step)] = after.segment
        last, self.root = steps[-1], steps[0].segment
        turning = self.turning(last)
        known = last.segment.follow.get(turning)
        endings = known if isinstance(known, list) else []
        last.segment.follow[turning] = [ending, *endings][:KEPT_ENDINGS]
        if self.is_differentiable(ending[1]):
            self.tracked = True

    def is_differentiable(self, program: CapturedProgram) -> bool:
        """Whether gradients pass back through a program in the canonical order of one graph."""
        if program.differentiable:
            state.forced.add(program.graph)
        return program.differentiable

    def segments(self) -> Iterator[tuple[int, Answer, Segment | CapturedProgram]]:
        """Every program with its depth and the answer that leads to it, root first."""
        waiting: list[tuple[int, Answer, Any]] = [(0, None, self.root)] if self.root else []
        while waiting:
            depth, answer, at = waiting.pop()
            yield depth, answer, at
            for each, found in reversed([*at.follow.items()] if isinstance(at, Segment) else []):
                ends = [found] if isinstance(found, Segment) else [p for _, p in reversed(found)]
                waiting += [(depth + 1, each, x) for x in ends]

    def ways(self) -> int:
        """The number of paths."""
        return sum(not isinstance(at, Segment) for *_, at in self.segments())

    def tell_of_many(self, name: str) -> bool:
        """Warn if there are many paths; returns whether there are too many."""
        ways = self.ways()
        text = f"compile: {name}: {ways} ways follow from values that it asks for"
        site = f"{FEWER}   [{self.widest().look.site}]"
        if ways == MANY_WAYS:
            warnings.warn(f"{text}, each captured by itself. {site}", stacklevel=7)
        if ways > MOST_WAYS:
            self.warning = f"{text}: it runs uncompiled from here on. {site}"
            warnings.warn(self.warning, stacklevel=7)
        return ways > MOST_WAYS

    def widest(self) -> Segment:
        """The segment whose host read has given most different answers."""
        return max(
            (at for *_, at in self.segments() if isinstance(at, Segment)),
            key=lambda segment: len(segment.follow),
        )

    def parts(self) -> list[Segment | CapturedProgram]:
        """Every program."""
        own = [at for *_, at in self.segments()]
        return [*own, *(part for shared in self.shared for part in shared.parts())]

    @property
    def guards(self) -> Sequence[tuple[Callable, Any]]:
        """The guards of one of the tree's paths."""
        ends = (at for *_, at in self.segments() if not isinstance(at, Segment))
        return next((end.guards for end in ends), ())

    def explain(self, name: str) -> str:
        """The tree as text: each host read with its line, and the costs of each answer per call."""
        several = [line for x in self.shared for line in (f"{name}, for many sizes:", *x.lines())]
        title = f"{name}, {listing.counted(self.ways(), 'way')} by what Python asks of values:"
        return "\n".join([title, *self.lines(), *several])

    def lines(self) -> Iterator[str]:
        """The lines of a subtree: each host read, and the costs before it."""
        for depth, answer, at in self.segments():
            said = "" if not depth else f"{said_of(answer)}: "
            yield f"{'  ' * (depth + 1)}{said}{cost_of(at)}"


def said_of(answer: Answer) -> str:
    """A short text of an answer."""
    return f"{len(answer)} bytes {answer[:8].hex()}" if isinstance(answer, bytes) else str(answer)


def cost_of(program: Segment | CapturedProgram) -> str:
    """A program's kernels, and the cost of a replay."""
    steps = 0 if program.graph is None else len(program.executable.records)
    kernels = listing.counted(steps, "kernel")
    if not isinstance(program, Segment):
        return f"{kernels}, the end"
    cost = f", {program.spent / program.calls / 1e3:.1f} µs a call" if program.calls else ""
    asked = "whether it is true" if program.look.kind is truth else "its value"
    asked = "numpy" if program.look.is_host_call else asked
    return f"{kernels}{cost}, then {asked} is asked   [{program.look.site}]"
