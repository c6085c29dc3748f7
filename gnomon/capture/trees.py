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
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.capture.inputs import Always, Read, pattern, tracked_nodes, values_of
from gnomon.capture.looks import Answer, Kind, truth
from gnomon.forking import cached_property
from gnomon.ir.node import Graph, Node, copy_into
from gnomon.ir.provenance import Site
from gnomon.lazy import call_objects, listing, panels
from gnomon.tensor import nans
from gnomon.tensor.borrowing import borrows
from gnomon.tensor.evaluate import evaluate, forced
from gnomon.tensor.host_calls import HostCall
from gnomon.tensor.state import grads, leaf_like, state
from gnomon.tensor.tensor import Tensor, wrap

if TYPE_CHECKING:
    from gnomon.capture.compile_options import CompileOptions
    from gnomon.capture.guards import Guard
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.size_families import SizeFamily
    from gnomon.compiler.tiers import Tiers
    from gnomon.program.executable import Executable

__all__ = ["Look", "NewAnswer", "Segment", "Step", "Tree"]

FEWER = "Keep the value a tensor (gn.where, gn.cond, gn.while_loop), or branch on less of it."
"""The advice to whoever asks for much."""
MANY_WAYS = 8
"""So many ways are worth a warning."""
MOST_WAYS = 64
"""Beyond so many, a function runs uncompiled."""
KEPT_ENDINGS = 16
"""Replays that are kept behind the same answers, for different Python values."""

Ending = tuple["Guard", "CapturedProgram"]


class Look(NamedTuple):
    """A question of Python's: how the value is read, what of it counts, and the line that asks."""

    read: Read
    kind: Kind
    site: Site
    counted: tuple[int, int] | None = None
    """Of what numpy gives, the result and its axis whose size follows from values."""

    @property
    def is_host_call(self) -> bool:
        """Whether numpy is called."""
        return isinstance(self.kind, HostCall)

    def asked(self, values: Sequence[Tensor]) -> tuple[Answer, list[Tensor]]:
        """The answer of this call, and what a call of numpy has found."""
        found = self.kind(self.read(values))
        if not self.is_host_call:
            return found, []
        return tuple([x._storage.node.shape for x in found]), found


class Segment:
    """A stretch of a captured function up to where Python looks at a value.

    It reads arguments, what lies outside, and what segments before it computed; its outputs are
    what the look and later ones read.
    """

    def __init__(
        self,
        name: str,
        options: CompileOptions,
        graph: Graph | None,
        reads: Sequence[Read],
        look: Look,
    ) -> None:
        self.name, self.options, self.graph, self.look = name, options, graph, look
        self.lasting: tuple[int, ...] = ()
        self.follow: dict[Answer, Segment | list[Ending]] = {}
        """What comes behind each answer."""
        self.calls = self.spent = 0
        """Replays, and their nanoseconds."""
        self.bind(reads)

    def bind(self, reads: Sequence[Read]) -> None:
        """Say how inputs are read."""
        self.constant = [read.tensor if isinstance(read, Always) else None for read in reads]
        self.varying = [(k, x) for k, x in enumerate(reads) if not isinstance(x, Always)]

    @cached_property
    def tiers(self) -> Tiers:
        """The code that runs it."""
        return self.options.tiers(self.graph, self.name, (), self.lasting)

    @cached_property
    def leaves(self) -> list[Node]:
        """Leaves like those that hold its outputs."""
        return list(map(pattern, self.graph.outputs))

    @property
    def executable(self) -> Executable:
        """The machine code that runs now."""
        return self.tiers.now.executable

    @property
    def form(self) -> Graph | None:
        """The graph, or one that differs from it in sizes alone."""
        return self.graph

    def is_like(self, other: Segment) -> bool:
        """Whether another capture found the same stretch."""
        if self.graph is None or other.graph is None:
            alike = self.graph is other.graph
        else:
            alike = self.graph.key == other.graph.key
        return alike and self.look[1:] == other.look[1:]

    def at(self, _: Sequence[int]) -> Segment:
        """The segment of some sizes; raises OtherSizes where it is not for them."""
        return self

    def inputs(self, values: Sequence[Tensor]) -> list[Any]:
        """The tensors that it reads, from arguments and what was computed before."""
        found: list[Any] = self.constant.copy()
        for k, read in self.varying:
            found[k] = read(values)
        return found

    def run(self, inputs: Sequence[Tensor], tracked: bool) -> list[Tensor]:
        """The outputs, with what gradients need to go back behind them where they will."""
        if self.graph is None:
            return []
        if tracked and inputs:
            return self._tracked(inputs)
        given, tier = values_of(inputs), self.tiers.now
        buffers = panels.run(tier, inputs, given, ()) if tier.kept else tier.run(given, ())
        if nans.looked_for():
            nans.check(self.graph, given, buffers)
        return list(map(wrap, map(leaf_like, self.leaves, buffers)))

    def _tracked(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The same as operations of the graph outside, computed now."""
        before = grads.get()
        try:
            grads.set(True)
            known = dict(zip(self.graph.inputs, tracked_nodes(inputs), strict=True))
            nodes = copy_into(state.arena, self.graph.outputs, known)
            made = [wrap(node, node.dtype.kind == "float") for node in nodes]
            evaluate([node for node in nodes if not borrows(node)])
        finally:
            grads.set(before)
        return made


class Step(NamedTuple):
    """One segment of a call: what it read, what it computed, and the answer that it gave.

    found: what a call of numpy gave.
    """

    segment: Segment
    runs: Segment
    """The same at the sizes of this call."""
    inputs: list[Tensor]
    made: list[Tensor]
    answer: Answer
    found: list[Tensor]

    @property
    def count(self) -> int | None:
        """The size that follows from values, where one does."""
        counted: Any = self.segment.look.counted
        return None if counted is None else self.answer[counted[0]][counted[1]]  # type: ignore

    @property
    def bare(self) -> Step:
        """The segment and the answer alone."""
        return Step(self.segment, self.segment, [], [], self.answer, [])


class OtherSizes(Exception):
    """A segment is not for the sizes at hand."""


class NewAnswer(Exception):
    """A call came to where its tree ends: the function is captured on the way that it takes."""

    def __init__(self, tree: Tree, steps: list[Step], why: str, is_answer: bool = False) -> None:
        super().__init__(why)
        self.tree, self.steps, self.is_answer = tree, steps, is_answer
        self.is_count = is_answer and steps[-1].count is not None
        """Whether what is new is a size that follows from values."""

    def settled(self) -> Tree | None:
        """The tree, if another thread has captured that way meanwhile."""
        last = self.steps[-1] if self.is_answer else None
        return self.tree if last is not None and last.answer in last.segment.follow else None


class Walk:
    """A call on its way through a tree; steps that are known do not run again."""

    def __init__(
        self, tree: Tree, arguments: Sequence[Tensor], sizes: Sequence[int], known: Sequence[Step]
    ) -> None:
        self.tree, self.known, self.steps = tree, known, list[Step]()
        self.values, self.sizes = call_objects.copied(arguments), [*sizes]

    def step(self, segment: Segment) -> Step:
        """Run a segment, and ask."""
        at, start = len(self.steps), monotonic_ns()
        step = self.known[at] if at < len(self.known) else None
        if step is None or not step.segment.is_like(segment):
            self.known = ()
            try:
                step = self._run(segment)
            except Exception as error:
                # the function may catch what is raised in the midst of it
                told = f"{type(error).__name__} is raised"
                raise NewAnswer(self.tree, self.steps, told) from error
            segment.calls += 1
            segment.spent += monotonic_ns() - start
        self.values += [*step.made, *step.found]
        self.sizes += [] if step.count is None else [step.count]
        self.steps.append(step._replace(segment=segment))
        return self.steps[-1]

    def _run(self, segment: Segment) -> Step:
        inputs, runs = segment.inputs(self.values), segment.at(self.sizes)
        made = runs.run(inputs, self.tree.tracked)
        answer, found = segment.look.asked([*self.values, *made])
        return Step(segment, runs, inputs, made, answer, found)


class Tree:
    """The ways that calls of one signature took."""

    root: Segment | None = None

    def __init__(self, guard: Guard, family: SizeFamily | None, sizes: tuple[int, ...]) -> None:
        self.guard, self.family, self.sizes = guard, family, sizes
        self.tracked = False
        """Whether gradients may go back behind what some way gives."""
        self.graph, self.told = None, ""
        """No program of its own; why the function runs without it."""

    def holds(self, _: Sequence[Tensor]) -> bool:
        """Whether a call may begin; what the end takes for granted is looked at there."""
        return True

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """The function's result, on a way that is known."""
        program, values = self.found(arguments)
        return program.run(values)

    def found(self, arguments: Sequence[Tensor]) -> tuple[CapturedProgram, list[Tensor]]:
        """The end of a call's way, and all that it reads: of a way for many sizes first."""
        known: Sequence[Step] = ()
        shared = None if self.family is None else self.family.tree(self.sizes)
        if shared is not None:
            try:
                return shared.way(arguments, self.sizes, ())
            except NewAnswer as new:
                known = new.steps if shared.tracked is self.tracked else ()
                if self.root is None:
                    raise self.new_answer(new) from new
        return self.way(arguments, self.sizes, known)

    def new_answer(self, new: NewAnswer) -> NewAnswer:
        """What a way for many sizes has met, where there is none of these sizes alone."""
        made = NewAnswer(self, [], str(new))
        made.is_count = new.is_count
        return made

    def way(
        self, arguments: Sequence[Tensor], sizes: Sequence[int], known: Sequence[Step]
    ) -> tuple[CapturedProgram, list[Tensor]]:
        """The same among its own ways."""
        walk, at = Walk(self, arguments, sizes, known), self.root
        if at is None:
            raise NewAnswer(self, [], "no way is known")
        while isinstance(at, Segment):
            at = at.follow.get(self.turning(walk.step(at)))
        for guard, end in at or ():
            program = self.program(end, walk.sizes)
            holds = program is not None and (guard is self.guard or guard.holds())
            if holds and program.holds(arguments):
                return program, walk.values
        told = "new" if at is None else "known, but what the way behind it reads has changed"
        site = walk.steps[-1].segment.look.site
        raise NewAnswer(self, walk.steps, f"the value asked for at {site} is {told}", at is None)

    def turning(self, step: Step) -> Answer:
        """The part of an answer that selects what follows."""
        return step.answer

    def program(self, end: Any, _: Sequence[int]) -> CapturedProgram | None:
        """The program at the end of a way."""
        return end

    def grow(self, steps: Sequence[Step], ending: Ending) -> None:
        """Add a way."""
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
        """Whether gradients go back behind a program, whose sums have the order of one graph."""
        if program.differentiable:
            forced.add(program.graph)
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
        """The number of its ends."""
        return sum(not isinstance(at, Segment) for *_, at in self.segments())

    def tell_of_many(self, name: str) -> bool:
        """Warn of many ways; whether they are too many."""
        ways = self.ways()
        told = f"compile: {name}: {ways} ways follow from values that it asks for"
        site = f"{FEWER}   [{self.widest().look.site}]"
        if ways == MANY_WAYS:
            warnings.warn(f"{told}, each captured by itself. {site}", stacklevel=7)
        if ways > MOST_WAYS:
            self.told = f"{told}: it runs uncompiled from here on. {site}"
            warnings.warn(self.told, stacklevel=7)
        return ways > MOST_WAYS

    def widest(self) -> Segment:
        """The segment whose look has found most different answers."""
        return max(
            (at for *_, at in self.segments() if isinstance(at, Segment)),
            key=lambda segment: len(segment.follow),
        )

    def parts(self) -> list[Segment | CapturedProgram]:
        """Every program."""
        shared = None if self.family is None else self.family.tree(self.sizes)
        return [*(at for *_, at in self.segments()), *(() if shared is None else shared.parts())]

    @property
    def guards(self) -> Sequence[tuple[Callable, Any]]:
        """The facts that one of its ways takes for granted."""
        ends = (at for *_, at in self.segments() if not isinstance(at, Segment))
        return next((end.guards for end in ends), ())

    def explain(self, name: str) -> str:
        """The tree as text: what is asked where, and what each answer costs per call."""
        shared = None if self.family is None else self.family.tree(self.sizes)
        several = [] if shared is None else [f"{name}, for many sizes:", *shared.lines()]
        told = f"{name}, {listing.counted(self.ways(), 'way')} by what Python asks of values:"
        return "\n".join([told, *self.lines(), *several])

    def lines(self) -> Iterator[str]:
        """What is asked where, a line each."""
        for depth, answer, at in self.segments():
            said = "" if not depth else f"{said_of(answer)}: "
            yield f"{'  ' * (depth + 1)}{said}{cost_of(at)}"


def said_of(answer: Answer) -> str:
    """An answer in a few words."""
    return f"{len(answer)} bytes {answer[:8].hex()}" if isinstance(answer, bytes) else str(answer)


def cost_of(program: Segment | CapturedProgram) -> str:
    """A program's kernels, and what a replay of it costs."""
    steps = 0 if program.graph is None else len(program.executable.records)
    told = listing.counted(steps, "kernel")
    if not isinstance(program, Segment):
        return f"{told}, the end"
    cost = f", {program.spent / program.calls / 1e3:.1f} µs a call" if program.calls else ""
    asked = "whether it is true" if program.look.kind is truth else "its value"
    asked = "numpy" if program.look.is_host_call else asked
    return f"{told}{cost}, then {asked} is asked   [{program.look.site}]"
