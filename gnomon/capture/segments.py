"""Segments: stretches of a captured function, each up to where Python looks at a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.capture.inputs import Always, Read, pattern, tracked_nodes, values_of
from gnomon.capture.looks import Answer, ReadKind, integers
from gnomon.forking import cached_property
from gnomon.ir.node import Graph, Node, copy_into
from gnomon.ir.provenance import Site
from gnomon.lazy import elsewhere, panels
from gnomon.ops.collectives import MEETINGS
from gnomon.runtime.buffer import others
from gnomon.tensor import nans
from gnomon.tensor.borrowing import borrows
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.host_calls import HostCall
from gnomon.tensor.state import grads, leaf_like, state
from gnomon.tensor.tensor import Tensor, wrap

if TYPE_CHECKING:
    from gnomon.capture.compile_options import CompileOptions
    from gnomon.capture.guards import Guard
    from gnomon.capture.replay import CapturedProgram
    from gnomon.compiler.elsewhere import TiersElsewhere
    from gnomon.compiler.tiers import Tiers
    from gnomon.program.executable import Executable

    Ending = tuple[Guard, CapturedProgram]

__all__ = ["Look", "OtherSizes", "Segment", "Step"]


class OtherSizes(Exception):
    """Raised if a segment does not serve the sizes at hand."""


class Look(NamedTuple):
    """A host read: the node, the kind of read, the part that counts, the source line."""

    read: Read
    kind: ReadKind
    site: Site
    counted: tuple[int, int] | None = None
    """The result of a numpy call and its axis whose size depends on values."""

    @property
    def is_host_call(self) -> bool:
        """Whether the host read is a call of numpy."""
        return isinstance(self.kind, HostCall)

    def asked(self, values: Sequence[Tensor]) -> tuple[Answer, Sequence[Tensor]]:
        """The answer of the host read for this call's values, and a numpy call's results."""
        found = self.kind(self.read(values))
        if not isinstance(self.kind, HostCall):
            return found, ()
        return tuple([x._storage.node.shape for x in found]), found


class Segment:
    """A part of a captured function up to a host read.

    It reads arguments, tensors outside, and results of segments before it; its outputs are what the
    host read and later segments read.
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
        self.finds_sizes = look.kind is integers or look.counted is not None
        """Whether sizes follow from what is asked."""
        self.lasting: tuple[int, ...] = ()
        self.follow: dict[Answer, Segment | list[Ending]] = {}
        """What comes behind each answer."""
        self.calls = self.spent = 0
        """Replays, and their nanoseconds."""
        self.bind(reads)

    def bind(self, reads: Sequence[Read]) -> None:
        """Set the readers of the segment's inputs."""
        self.constant = [read.tensor if isinstance(read, Always) else None for read in reads]
        self.varying = [(k, x) for k, x in enumerate(reads) if not isinstance(x, Always)]

    @cached_property
    def tiers(self) -> Tiers:
        """The executables of the segment."""
        return self.options.tiers(self.graph, self.name, (), self.lasting)

    @cached_property
    def tiers_elsewhere(self) -> TiersElsewhere:
        """The executables of the segment for devices other than the CPU."""
        return elsewhere.TiersElsewhere(lambda: self.graph, self.name)

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

    @property
    def meets(self) -> bool:
        """Whether the segment exchanges messages with other ranks."""
        return any(x.op in MEETINGS for x in self.graph or ())

    def is_like(self, other: Segment) -> bool:
        """Whether another capture's segment has the same graph and the same host read."""
        if self.graph is None or other.graph is None:
            alike = self.graph is other.graph
        else:
            alike = self.graph.key == other.graph.key
        return alike and self.look[1:] == other.look[1:]

    def at(self, _: Sequence[int]) -> Segment:
        """The segment at some sizes; raises OtherSizes if it does not serve them."""
        return self

    def inputs(self, values: Sequence[Tensor]) -> list[Any]:
        """The tensors that the segment reads, from arguments and earlier segments' results."""
        found: list[Any] = self.constant.copy()
        for k, read in self.varying:
            found[k] = read(values)
        return found

    def run(self, inputs: Sequence[Tensor], tracked: bool) -> list[Tensor]:
        """The outputs; with a history if gradients may pass back through them."""
        if self.graph is None:
            return []
        if tracked and inputs:
            return self._tracked(inputs)
        given = values_of(inputs)
        tier = (self.tiers_elsewhere.tier(self.form, given) if others else None) or self.tiers.now
        buffers = panels.run(tier, inputs, given, ()) if tier.kept else tier.run(given, ())
        if nans.looked_for():
            nans.check(self.graph, given, buffers)
        return list(map(wrap, map(leaf_like, self.leaves, buffers)))

    def _tracked(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Run the segment in the surrounding graph, so that gradients can pass it."""
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
    """One run of a segment: inputs, outputs, and the answer of its host read.

    found: the results of a call of numpy.
    """

    segment: Segment
    runs: Segment
    """The segment at the sizes of this call."""
    inputs: list[Tensor]
    made: list[Tensor]
    answer: Any
    found: Sequence[Tensor]

    @property
    def sizes(self) -> Sequence[int]:
        """The sizes that follow from values: one that numpy has found, or integers."""
        look = self.segment.look
        if look.kind is integers:
            return self.answer
        return () if look.counted is None else (self.answer[look.counted[0]][look.counted[1]],)

    @property
    def bare(self) -> Step:
        """The step without the values that it read and computed."""
        return Step(self.segment, self.segment, [], [], self.answer, [])
