"""Paths: the way of one call through a captured function that looks at values.

Where Python asks for a value, the program up to there runs for real, on the values of this call,
and the function goes on with the answer. What was computed is an input of what follows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.capture.inputs import Read, StoredInput
from gnomon.capture.looks import ReadKind, integers, one_value, whole_value
from gnomon.capture.segments import Look, Segment, Step
from gnomon.errors import TraceError
from gnomon.ir.node import Node
from gnomon.ir.provenance import Site, user_site
from gnomon.lazy import call_objects, effects, object_state, panels
from gnomon.ops.collectives import MEETINGS
from gnomon.ops.index_primitives import is_view
from gnomon.settings import Block
from gnomon.tensor.autograd.backward import CHEAP, read_by_gradients
from gnomon.tensor.borrowing import numbered
from gnomon.tensor.evaluate import differentiable
from gnomon.tensor.host_calls import HostCall, ResultShapes
from gnomon.tensor.state import waiting
from gnomon.tensor.tensor import Tensor, wrap

if TYPE_CHECKING:
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.tracing import Capture
    from gnomon.runtime.buffer import DeviceBuffer

__all__ = ["Path"]


LENT = 3
"""References to an array that only its list, a variable and the count know."""


class Path:
    """The segments of a call under capture and their results; known segments are not run twice."""

    def __init__(
        self,
        capture: Capture,
        arguments: Sequence[Tensor],
        make: Callable[..., Segment],
        known: Sequence[Step] = (),
        tracked: bool = False,
    ) -> None:
        self.capture, self.arguments, self.make, self.known = capture, arguments, make, [*known]
        self.values = call_objects.copied(arguments)
        """The arguments, then what segments computed."""
        self.steps: list[Step] = []
        self.tracked = tracked
        """Whether all that was computed has its history behind it."""
        self.varying: Collection[Site] = ()
        """Lines whose item() gives numbers that vary."""
        self.is_torn = False
        """Whether a segment failed: no other call can take this way."""
        self.seen: Any = None
        """What is seen of the function's run."""
        self.error: Exception | None = None
        """The error of its own in which the function ended."""
        self._answers: dict[tuple[Node, ReadKind], Tensor] = {}
        self._integers: dict[Node, Sequence[Any]] = {}
        self._made: list[tuple[Segment, list[Node], Node]] = []
        """Segments of this capture, what they read, and what is looked at."""
        self._taken: dict[Node, Tensor] = {}
        """Inputs that are read anew each time, and what was there."""
        self._lent: list[tuple[np.ndarray, bytes, Site, Node]] = []

    def look(self, node: Node, kind: ReadKind = whole_value) -> DeviceBuffer:
        """The buffer of a value that Python reads; computing it ends a segment."""
        kinds = (kind, one_value, whole_value)
        found = next(
            (x for each in kinds if (x := self._answers.get((node, each))) is not None), None
        )
        if found is None:
            self._step(node, kind)
            found = self._answers[node, kind] = self.steps[-1].segment.look.read(self.values)
        return found._storage.node.value

    def host_call(self, node: Node, call: HostCall, shapes: ResultShapes) -> list[Tensor]:
        """The results of a call of numpy on a value, which are inputs of the following segments."""
        places = [(k, s.index(None)) for k, s in enumerate(shapes) if None in s]
        self._step(node, call, *places[:1])
        step, made = self.steps[-1], list[Tensor]()
        count = next(iter(self._sizes(step)), None)
        for k, (x, shape) in enumerate(zip(step.found, shapes, strict=True)):
            stands = self.capture.arena.input(
                tuple([count if n is None else n for n in shape]), x.dtype
            )
            self.capture.places[stands] = len(self.values) - len(shapes) + k
            self.capture.found[stands] = x
            made.append(wrap(stands))
        return made

    def ask(self, formula: Callable[[], Any]) -> bool:
        """Evaluate a guard: the answer that each replay must get again from `formula()`."""
        segment = self.make(None, [], Look(lambda _: formula(), bool, user_site()))
        step = self._known_step(segment) or Step(segment, segment, [], [], None, [])
        self.steps.append(step._replace(answer=bool(formula())))
        return self.steps[-1].answer

    def integers(self, node: Node) -> Sequence[Any]:
        """The elements of a value as Python's integers, or as symbols for sizes."""
        if node not in self._integers:
            self._step(node, integers)
            self._integers[node] = self._sizes(self.steps[-1])
        return self._integers[node]

    def _sizes(self, step: Step) -> list[Any]:
        """The sizes that a step found in values; symbols in a capture on symbolic sizes."""
        symbols = self.capture.symbols
        return [*step.sizes] if symbols is None else [*map(symbols.found, step.sizes)]

    def lend(self, node: Node, value: DeviceBuffer) -> np.ndarray:
        """A read-only numpy array with a copy of a value."""
        array = value.array(node).copy()
        self._lent.append((array, array.tobytes(), user_site(), node))
        return array

    def _step(self, node: Node, kind: ReadKind, counted: tuple[int, int] | None = None) -> None:
        """Run the segment that ends at a host read, unless an earlier attempt of this call did."""
        outputs, site = self._outputs(node), user_site()
        graph, used = self.capture.close(outputs) if outputs else (None, [])
        for k, x in enumerate(outputs):
            self.capture.places[x] = len(self.values) + k
        reader = self.capture.reader
        look = Look(reader(node), kind, site, counted)
        segment = self.make(graph, [reader(x) for x in used], look)
        segment.lasting = panels.lasting_inputs(self.capture, used)
        try:
            with aside(self.capture):
                step = self._known_step(segment) or self._run(segment)
                self.values += step.made
                if step.segment is segment:
                    answer, found = segment.look.asked(self.values)
                    step = step._replace(answer=answer, found=found)
                self.values += step.found
        except Exception:
            self.is_torn = True
            raise
        if step.segment is segment:
            self._made.append((segment, used, node))
        pairs = zip(used, step.inputs, strict=True)
        self._taken.update((x, t) for x, t in pairs if x in self.capture.fleeting)
        self.steps.append(step)

    def _known_step(self, segment: Segment) -> Step | None:
        """The step recorded at this position, if its segment is equal; else None."""
        at = len(self.steps)
        if at < len(self.known) and self.known[at].segment.is_like(segment):
            return self.known[at]
        self.known, self.tracked = [], False
        return None

    def _run(self, segment: Segment) -> Step:
        """Run a new segment; returns its step."""
        symbols, inputs = self.capture.symbols, segment.inputs(self.values)
        runs = segment.at(() if symbols is None else symbols.now)
        return Step(segment, runs, inputs, runs.run(inputs, False), None, [])

    def _outputs(self, node: Node) -> list[Node]:
        """The outputs of a segment: the node that is read, and those needed later."""
        places = self.capture.places

        def ends(x: Node) -> bool:
            return x in places or x.op == "input"

        if ends(node):
            return []
        order, held = numbered([node], ends), waiting()
        kept = {*held, *self.capture.nodes.values()}
        asked = {x: None for x in order if x is node or x in kept or x.op in MEETINGS}
        asked |= dict.fromkeys(read_by_gradients(differentiable(asked, held)))
        found = [x if x is node else behind_views(x) for x in asked if x in order]
        return [x for x in dict.fromkeys(found) if not ends(x) and (x is node or x.op not in CHEAP)]

    # the end

    def bind_segments(self) -> None:
        """Bind the inputs of the segments of a complete path to readers for replays.

        Raises TraceError where a numpy array of a tensor from outside is kept or was written to.
        """
        for array, before, site, node in self._lent:
            if behind_views(node) in self.capture.inputs and sys.getrefcount(array) > LENT:
                raise TraceError(
                    "numpy: an array of a tensor from outside is kept longer than gn.compile runs, "
                    f"and would not change with it. Keep array.copy().   [{site}]"
                )
            if array.tobytes() != before:
                raise TraceError(
                    "numpy: an array of a tensor is written to inside gn.compile, and the tensor "
                    f"would not change with it. Write to array.copy().   [{site}]"
                )
        for segment, used, node in self._made:
            segment.bind([self._lasting(x) for x in used])
            segment.look = segment.look._replace(read=self._lasting(node))
        for node, tensor in self._taken.items():
            self.capture.inputs[node] = tensor_first(tensor, self.capture.inputs[node])

    def _lasting(self, node: Node) -> Read:
        """The reader that replays use for an input."""
        for storage, (_, names, key) in self.capture.stands.items():
            if self.capture.first[storage] is node:
                return lambda _: names.get(key)
        return self.capture.reader(node)

    def ending(self, program: CapturedProgram) -> Callable[[Sequence[Tensor]], Any]:
        """A function that runs the program at the end of the path on this call's values."""
        return lambda _: program.run(self.history() if program.differentiable else self.values)

    def history(self) -> list[Tensor]:
        """The arguments and segments' results, recomputed as nodes that gradients can pass."""
        if self.tracked:
            return self.values
        values = call_objects.copied(self.arguments)
        for step in self.steps:
            inputs = step.inputs.copy()
            for k, read in step.segment.varying:
                if isinstance(read, StoredInput):
                    inputs[k] = read(values)
            values += [*step.runs.run(inputs, True), *step.found]
        return values


def behind_views(node: Node) -> Node:
    """The node whose elements a view shows."""
    while is_view(node):
        (node,) = node.inputs
    return node


def tensor_first(tensor: Tensor, read: Read) -> Read:
    """A reader that gives this tensor at its first call, and the result of `read` afterwards."""
    now = [tensor]
    return lambda values: now.pop() if now else read(values)


class aside(Block):
    """A context outside of the capture, without its hook, in which tensors are ordinary."""

    def __init__(self, capture: Capture) -> None:
        self.capture, self.parts = capture, capture.outside()

    def __enter__(self) -> None:
        self.hook, self.before = sys.getprofile(), object_state.random_state()
        try:
            sys.setprofile(None)
            self.parts.__enter__()
        except BaseException:
            effects.restore(self.hook)
            raise

    def leave(self) -> None:
        """Resume the capture."""
        self.parts.__exit__()
        if self.capture.stood == self.before:  # what loads meanwhile may draw
            self.capture.stood = object_state.random_state()
        effects.restore(self.hook)
