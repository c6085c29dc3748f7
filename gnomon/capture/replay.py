"""Replays of what was captured: inputs are read, one native call is made, outputs are put away.

What a program depends on is looked at before, in guards.py; who captures it is jit.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from gnomon.capture import aliasing as sharing
from gnomon.capture.inputs import (
    Always,
    InputReader,
    Read,
    pattern,
    storage_tensor,
    tracked_nodes,
    values_of,
)
from gnomon.capture.results import Results, refuse_hooks
from gnomon.capture.tracing import Capture
from gnomon.forking import cached_property
from gnomon.interrupts import Whole
from gnomon.ir.node import Graph, Node, copy_into
from gnomon.lazy import compile_options, elsewhere, panels
from gnomon.ops.collectives import MEETINGS
from gnomon.ops.histories import has_other_history
from gnomon.ops.layouts import has_layouts
from gnomon.ops.op_calls import OpCall
from gnomon.ops.registry import CAPTURED, Traced
from gnomon.runtime.buffer import others
from gnomon.tensor import nans
from gnomon.tensor.autograd.versions import note_call
from gnomon.tensor.borrowing import is_shown
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.memory import all_free, is_free
from gnomon.tensor.state import Storage, grads, leaf_like, note, state
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.watchers import FREED
from gnomon.tensor.writing import drop_history_of, put, replace

if TYPE_CHECKING:
    from gnomon.capture.call_objects import Outcome
    from gnomon.compiler.elsewhere import TiersElsewhere
    from gnomon.compiler.tiers import Tiers
    from gnomon.program.executable import Executable, Pairs

__all__ = ["CapturedProgram"]

ALONE = 4
"""References to a tensor that stands in one place (the place, its list, a variable, the count), and
to its storage (the tensor, a list, a variable, the count)."""


class CapturedProgram:
    """One captured signature: its graph, the readers of inputs, and the recipes of outputs."""

    opens = False
    """Whether its operations stand in the graph outside one by one, where gradients go back."""

    def __init__(
        self, name: str, capture: Capture, outcome: Outcome, arguments: Sequence[Tensor]
    ) -> None:
        self.outcome, results, outcome.tensors = outcome, outcome.tensors, []
        self.guards, self.draws = capture.guards, capture.draws
        self.afterwards, self.objects = [do for _, do in capture.afterwards], capture.objects
        written = sorted(capture.written(), key=capture.reads.__contains__)
        self.own = [s for s in written if s not in capture.reads]
        self.given = [capture.reads[s] for s in written if s in capture.reads]
        """Storages that are written: those from outside, and how to find those of arguments."""
        self.flags = [(s.tracked, capture.is_freed(s)) for s in written]
        """Whether gradients pass what is written there, and were freed."""
        passed = [tracked for tracked, _ in self.flags[len(self.own) :]]
        self.seen = list(compress(self.given, passed))
        """Those of arguments that gradients pass."""
        alone = [t._storage for *_, t in capture.placed if sys.getrefcount(t) <= ALONE]
        alone = [storage for storage in alone if sys.getrefcount(storage) <= ALONE]
        self.placed, placed = [at for *at, _ in capture.placed], [t for *_, t in capture.placed]
        """The places where every replay stores tensors."""
        self.grads = list(targets(capture, [*results, *placed]))
        """The tensors whose gradients are set: the place of one that it makes, or a reader."""
        self.renewed = renew_readers(capture, self.grads, [*results, *placed])
        """Tensors that get another gradient."""
        made, self.count = [g for *_, g in self.grads if g is not None], len(results)
        self.results = Results(capture, [*results, *placed, *made])
        """What it gives, what it puts somewhere, and new gradients."""
        self.escaped = capture.escaped([*(t._storage for t in (*results, *made)), *alone])
        self.ended = [capture.is_freed(s) for s in self.escaped]
        """Storages that somebody holds behind its back, and whether their history was freed."""
        nodes = self.results.nodes
        outputs = [*nodes, *(capture.nodes[s] for s in written), *(s.node for s in self.escaped)]
        self.graph, used = capture.close(outputs) if outputs else (None, [])
        numbers = {node: k for k, node in enumerate(used)}
        self.rewritten: Pairs = tuple(
            (len(nodes) + k, numbers[capture.first[storage]])
            for k, storage in enumerate(written)
            if capture.first[storage] in numbers
        )
        """Outputs that replace an input's value, and which input."""
        reads = [capture.reader(node) for node in used]
        self.constant = [read.tensor if isinstance(read, Always) else None for read in reads]
        self.varying = [(k, x) for k, x in enumerate(reads) if not isinstance(x, Always)]
        """Inputs that are the same tensors in every replay, and how the others are read."""
        passed = list(compress(outputs, self._passed()))
        self.differentiable = bool(passed)
        capture.keep_read(passed)
        refuse_hooks(capture, passed)
        self.name, self.options = f"{name}{CAPTURED}", compile_options.CompileOptions()
        self.lasting, self.places_met = panels.lasting_inputs(capture, used), capture.places_met
        reachable = ({t._storage for t in arguments} & capture.known) | capture.lasting
        known = (s for s in (*capture.first, *reachable) if s not in capture.reads)
        self.outside = sharing.by_id(known)
        self.inside = sharing.outside(arguments, self.outside, self.objects)
        """Storages from outside, and the arguments that have one of them."""
        """What it is called, may measure its products for, leaves out, and inputs it may keep."""
        self.leaves = [pattern(x) for x in self.graph.outputs] if self.graph else []
        self.first = [x if capture.is_made(x) else None for x in (*results, *placed, *made)]
        """Tensors of the capture: its own call gives them, whoever else has got hold of them."""
        self.latest: tuple[Pairs, list[int]] = ((), [])
        """What the latest replay wrote over, as most will, and the outputs that it did not."""

    def _passed(self) -> Iterator[bool]:
        """For each output, whether gradients can pass back through it."""
        yield from (x.is_passed for x in self.results.fresh)
        yield from (tracked and not released for tracked, released in self.flags)
        yield from (s.tracked and not e for s, e in zip(self.escaped, self.ended, strict=True))

    @cached_property
    def read_varying(self) -> InputReader:
        """Reader of the inputs that are not the same tensors in every replay."""
        return InputReader([read for _, read in self.varying])

    @cached_property
    def read_given(self) -> InputReader:
        """Reader of the arguments that a replay writes."""
        return InputReader(self.given)

    @cached_property
    def unread_own(self) -> list[Storage]:
        """The storages from outside that a replay writes and does not read."""
        read = {output - len(self.results.nodes) for output, _ in self.rewritten}
        return [storage for k, storage in enumerate(self.own) if k not in read]

    @cached_property
    def tiers(self) -> Tiers:
        """The executables of the program: one compiled at once, and a measured one when ready."""
        return self.options.tiers(self.graph, self.title, self.rewritten, self.lasting)

    @cached_property
    def tiers_elsewhere(self) -> TiersElsewhere:
        """The executables of the program for devices other than the CPU."""
        return elsewhere.TiersElsewhere(lambda: self.graph, self.title, self.rewritten)

    @property
    def size_numbers(self) -> tuple[Any, list[Any], list[int]]:
        """All symbolic sizes of the program: in results, view steps, draws."""
        return self.outcome.tree, self.results.chains, [*self.draws.values()]

    @property
    def form(self) -> Graph | None:
        """The graph, or one that differs from it in sizes alone."""
        return self.graph

    @property
    def title(self) -> str:
        """The function's name."""
        return self.name.removesuffix(CAPTURED)

    @cached_property
    def echoes(self) -> bool:
        """Whether it returns an input unchanged, which is copied if its memory is lent."""
        return any(map(is_shown, self.form.outputs))

    @cached_property
    def unread(self) -> list[int]:
        """The numbers of inputs whose values no program reads."""
        return list(waiting_alone(self.form)) if self.form else []

    @cached_property
    def changes(self) -> bool:
        """Whether a replay has effects besides its results."""
        done = (self.own, self.given, self.grads, self.placed, self.draws, self.afterwards)
        return any(map(bool, done)) or bool(self.outcome.writes)

    @cached_property
    def meets(self) -> bool:
        """Whether a replay exchanges messages with other ranks."""
        return any(x.op in MEETINGS for x in self.form or ())

    @cached_property
    def runs_at_once(self) -> bool:
        """Whether a replay runs at the call, because of messages, not when it is read."""
        return self.meets or bool(self.form and has_layouts(self.form))

    @property
    def executable(self) -> Executable:
        """The executable in use at present."""
        return self.tiers.now.executable

    @cached_property
    def region(self) -> Traced:
        """The program as an operation of the graph outside."""
        return Traced(self.name, self.graph, OpCall((), ()), True)

    def holds(self, arguments: Sequence[Tensor]) -> bool:
        """Whether the guards hold: sharing of memory, flags and values are as captured."""
        known, met = self.outside, self.places_met
        if met is not None and met[0](arguments) != met[1]:
            return False
        if (sharing.outside(arguments, known, self.objects) if known else ()) != self.inside:
            return False
        if self.seen and any(is_detached(read(arguments)) for read in self.seen):
            return False
        return not self.guards or all([read() == value for read, value in self.guards])

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """Replay: returns the results; all writes are done, or none if it is interrupted."""
        if not self.changes:
            return self._run(arguments)
        with Whole():
            return self._run(arguments)

    def _run(self, arguments: Sequence[Tensor]) -> Any:
        """Replay, without interruption where it has effects."""
        inputs, since = self.constant.copy(), next(state.arena._serial)
        for (k, _), tensor in zip(self.varying, self.read_varying(arguments), strict=True):
            inputs[k] = tensor
        if self.rewritten or self.unread_own:
            sharing.refuse_overlaps(inputs, self.rewritten, self.unread_own)
        for generator, count in self.draws.items():
            generator.count += count
        if self.differentiable:
            nodes = self._nodes(inputs, arguments)
            if self.runs_at_once:
                evaluate([node for node in nodes if node is not None])
        else:
            nodes = self._leaves(inputs, arguments) if self.form else []
        fresh = len(self.results.nodes)
        if len(nodes) > fresh:
            self._place(nodes[fresh:], arguments, since)
        made = self.results.over(nodes[:fresh], arguments)
        if self.differentiable and len(nodes) > 1:
            self._note(nodes, made, arguments)
        if self.first:
            self._give_first(made)
        if len(made) > self.count or self.grads:
            self._hand_on(made, arguments)
        for do in self.afterwards:
            do()
        return self.outcome(made, arguments)

    def _note(
        self, nodes: Sequence[Node | None], made: Sequence[Tensor], arguments: Sequence[Tensor]
    ) -> None:
        """Record the storages of the results, for gradients that read one of them."""
        written = (*self.own, *(x._storage for x in self.read_given(arguments)))
        storages = (*written, *self.escaped, *(x._storage for x in made))
        note_call(storages, [x for x in nodes if x is not None])

    def _forget(self, inputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> None:
        """Release old gradients that are not read, so that new ones can use their memory."""
        read = {id(t._storage) for t in inputs}
        for target in (each(arguments)._rare for each in self.renewed):
            old = None if target is None else target.grad
            if old is not None and id(old._storage) not in read:
                target.grad = None

    def _leaves(self, inputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> list[Node | None]:
        """The outputs as leaves, computed by one native call.

        An output that overwrites a storage is None: the storage keeps its node, which nothing else
        refers to.
        """
        looked_for = nans.looked_for()
        for k in () if looked_for else self.unread:
            # the own part of a sharded value will do, and no rank is asked for the whole
            inputs[k] = storage_tensor(inputs[k]._storage)
        given = values_of(inputs)
        tier = (self.tiers_elsewhere.tier(self.form, given) if others else None) or self.tiers.now
        over = () if looked_for else tier.over
        if over and not all_free([inputs[k] for _, k in over]):
            over = tuple([pair for pair in over if is_free(inputs[pair[1]])])
        if self.renewed:
            self._forget(inputs, arguments)
        buffers = panels.run(tier, inputs, given, over) if tier.kept else tier.run(given, over)
        if self.echoes:
            buffers = [x.copied() if x.lent else x for x in buffers]
        if looked_for:
            nans.check(self.graph, given, buffers)
        if not over:
            return list(map(leaf_like, self.leaves, buffers))
        known, fresh = self.latest
        if known is not over:
            stays = dict(over)
            fresh = [k for k in range(len(buffers)) if k not in stays]
            self.latest = over, fresh
        made: list[Node | None] = [None] * len(buffers)
        for k in fresh:
            made[k] = leaf_like(self.leaves[k], buffers[k])
        return made

    def _nodes(self, inputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> list[Node | None]:
        """The outputs as results of one pending region; inlined for late gradients."""
        if not inputs:
            return self._leaves(inputs, arguments)
        before = grads.get()
        try:
            # what is written inside a no_grad may keep a history: the graph says what is cut off
            grads.set(True)
            nodes = tracked_nodes(inputs)
        finally:
            grads.set(before)
        if not self.opens and self.graph not in state.forced:
            return list(self.region.emit(nodes))
        known = dict(zip(self.graph.inputs, nodes, strict=True))
        return copy_into(state.arena, self.graph.outputs, known)

    def _place(self, nodes: Sequence[Node | None], arguments: Sequence[Tensor], since: int) -> None:
        """Store results in storages from outside, and record those that escaped."""
        rest, flags = iter(nodes), iter(self.flags)
        for storage, node, (tracked, released) in zip(self.own, rest, flags, strict=False):
            if node is None and storage.released is released and not (tracked or storage.tracked):
                storage.version += 1  # as replace does, for each parameter of a step
            else:
                replace(storage, node, (tracked, released), since)
        given, is_plain = self.read_given(arguments), not state.origins
        for target, node, (tracked, released) in zip(given, rest, flags, strict=False):
            storage = target._storage
            is_same = node is None and is_plain and storage.released is released
            if is_same and not (tracked or storage.tracked):
                storage.version += 1  # as put does, for each table of a cache
            else:
                put(target, node, (tracked, released), since)
        for storage, ended in zip(self.escaped, self.ended, strict=True):
            node = next(rest)
            storage.node = node if storage.tracked else drop_history_of(node)
            if storage.tracked and ended:
                node.watch = FREED
            note(storage)

    def _give_first(self, made: list[Tensor]) -> None:
        """Set the tensors of the capture itself to the values of the first call."""
        first, self.first = self.first, []
        for k, (tensor, found) in enumerate(zip(first, made, strict=False)):
            if tensor is not None:
                tensor._storage, tensor._view = found._storage, found._view
                tensor._requires = found._requires
                made[k] = tensor

    def _hand_on(self, made: Sequence[Tensor], arguments: Sequence[Tensor]) -> None:
        """Store tensors in attributes and lists, and set gradients."""
        rest = iter(made[self.count :])
        for (names, key), tensor in zip(self.placed, rest, strict=False):
            names[key] = tensor
        for place, read, gradient in self.grads:
            target = read(arguments) if place is None else made[place]
            if gradient is not None:
                target.grad = next(rest)
            elif target._rare is not None:
                target._rare.grad = None


def is_detached(tensor: Tensor) -> bool:
    """Whether a tensor is detached from the history of writes to it."""
    return tensor._view is not None and tensor._view.detached


def renew_readers(
    capture: Capture, grads: Sequence[tuple[int | None, Read, Any]], shown: Sequence[Tensor]
) -> list[Read]:
    """Readers of the tensors whose gradients a replay replaces, if old ones are not returned."""
    if any(id(t) in capture.held_grads for t in shown):
        return []
    return [read for k, read, found in grads if found is not None and k is None]


def targets(
    capture: Capture, shown: Sequence[Tensor]
) -> Iterator[tuple[int | None, Read, Tensor | None]]:
    """For each gradient to set: its tensor's number among results or None, a reader, its value."""
    places = {id(t): k for k, t in enumerate(shown) if capture.is_made(t)}
    for tensor, gradient in capture.settle():
        yield places.get(id(tensor)), capture.standing_for(tensor), gradient


def waiting_alone(graph: Graph) -> Iterator[int]:
    """The numbers of inputs whose value nothing reads, but whose leaves get gradients.

    These leaves were written to; the value that was written is an input of its own.
    """
    read = {x for node in graph for x in node.inputs[has_other_history(node) :]} | {*graph.outputs}
    old = {node.inputs[0] for node in graph if has_other_history(node)}
    return (k for k, x in enumerate(graph.inputs) if x in old and x not in read)
