"""Replays of what was captured: inputs are read, one native call is made, outputs are put away.

What a program depends on is looked at before, in guards.py; who captures it is gnomon/jit.py.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gnomon.ir.node import Arena, Node, copy_into
from gnomon.late import Late
from gnomon.ops.registry import Call, Traced
from gnomon.settings import current, override
from gnomon.tensor import nans
from gnomon.tensor.capture import Always, Capture, put, settled, tracked_nodes, values_of
from gnomon.tensor.evaluate import CAPTURED, forced
from gnomon.tensor.guards import unflatten
from gnomon.tensor.memory import all_free, is_free
from gnomon.tensor.state import leaf_like, note, state
from gnomon.tensor.tensor import Tensor, node_of, raw, wrap

if TYPE_CHECKING:
    from gnomon.executable import Executable, Pairs
    from gnomon.tiers import Tiers

__all__ = ["Program"]

ALONE = 4
"""References to a tensor that stands in one place (the place, its list, a variable, the count), and
to its storage (the tensor, a list, a variable, the count)."""

panels = Late("gnomon.tensor.panels")
tiers = Late("gnomon.tiers")


class Program:
    """One captured signature: its graph, where inputs come from and where outputs go."""

    def __init__(self, name: str, capture: Capture, tree: Any, results: list[Tensor]) -> None:
        self.tree, self.guards, self.draws = tree, capture.guards, capture.draws
        self.afterwards = [do for _, do in capture.afterwards]
        nodes = [node_of(t) for t in results]
        self.tracked = [t.requires_grad for t in results]
        self.released = [capture.went_back or t._storage.released for t in results]
        written = capture.written()
        self.own = [s for s in written if s not in capture.reads]
        self.given = [capture.reads[s] for s in written if s in capture.reads]
        """Storages that are written: those from outside, and how to find those of arguments."""
        written.sort(key=capture.reads.__contains__)
        self.grads = [(capture.standing_for(t), g) for t, g in capture.settle()]
        self.renewed = [read for read, g in self.grads if g is not None]
        """Tensors that get another gradient."""
        made = [g for _, g in self.grads if g is not None]
        self.placed = [
            (names, key, t.requires_grad, capture.went_back or t._storage.released)
            for names, key, t in capture.placed
        ]
        """Where tensors are put by every replay, and whether gradients pass them."""
        alone = [t._storage for *_, t in capture.placed if sys.getrefcount(t) <= ALONE]
        alone = [storage for storage in alone if sys.getrefcount(storage) <= ALONE]
        self.escaped = capture.escaped([*(t._storage for t in (*results, *made)), *alone])
        outputs = [
            *nodes,
            *(capture.nodes[s] for s in written),
            *(raw(g) for g in made),
            *(s.node for s in self.escaped),
            *(raw(t) for *_, t in capture.placed),
        ]
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
        left = any(s.tracked for s in self.escaped) and not capture.went_back
        pairs = [*zip(self.tracked, self.released, strict=True), *(x[2:] for x in self.placed)]
        self.differentiable = left or any(wanted and not released for wanted, released in pairs)
        self.name, self.seconds, self.without = f"{name}{CAPTURED}", 0.0, ""
        self.lasting = panels.lasting_inputs(capture, used)
        """What it is called, may measure its products for, leaves out, and inputs it may keep."""
        self.leaves = [pattern(x) for x in self.graph.outputs] if self.graph else []
        self.latest: tuple[Pairs, list[int]] = ((), [])
        """What the latest replay wrote over, as most will, and the outputs that it did not."""

    @functools.cached_property
    def tiers(self) -> Tiers:
        """What runs it: code at once, and measured code when there is some."""
        name, left_out = self.name.removesuffix(CAPTURED), current().without
        with override(without=f"{left_out},{self.without}") as settings:
            lasting = self.lasting if settings.allows("prepack") else ()
            return tiers.Tiers(self.graph, name, self.rewritten, self.seconds, lasting)

    @property
    def executable(self) -> Executable:
        """The machine code that runs now."""
        return self.tiers.now.executable

    @functools.cached_property
    def region(self) -> Traced:
        """The same as an operation of the graph outside."""
        return Traced(self.name, self.graph, Call((), ()), True)

    def holds(self) -> bool:
        """Whether what the capture took for granted still holds."""
        return not self.guards or all([read() == value for read, value in self.guards])

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """Replay: new results, and all writes done."""
        inputs = self.constant.copy()
        for k, read in self.varying:
            inputs[k] = read(arguments)
        for generator, count in self.draws.items():
            generator.count += count
        if self.differentiable and state.grad:
            nodes = self._nodes(inputs, arguments)
        else:
            nodes = self._leaves(inputs, arguments) if self.graph else []
        results = list(map(result, nodes, self.tracked, self.released))
        if len(nodes) > len(results) or self.grads:
            self._place(nodes[len(results) :], arguments)
        for do in self.afterwards:
            do()
        return unflatten(self.tree, results)

    def _forget(self, inputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> None:
        """Let go of gradients that are replaced unread: the new ones take their room."""
        read = {id(t._storage) for t in inputs}
        for target in (each(arguments)._rare for each in self.renewed):
            old = None if target is None else target.grad
            if old is not None and id(old._storage) not in read:
                target.grad = None

    def _leaves(self, inputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> list[Node | None]:
        """The outputs, computed now by one native call; None where they lie over what they replace.

        Such a storage keeps its node, which nothing else holds.
        """
        given, looked_for, tier = values_of(inputs), nans.looked_for(), self.tiers.now
        over = () if looked_for else tier.over
        if over and not all_free([inputs[k] for _, k in over]):
            over = tuple([pair for pair in over if is_free(inputs[pair[1]])])
        if self.renewed:
            self._forget(inputs, arguments)
        buffers = panels.run(tier, inputs, given, over) if tier.kept else tier.run(given, over)
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
        """The outputs as results of one region, pending; opened where gradients come too late."""
        if not inputs:
            return self._leaves(inputs, arguments)
        nodes = tracked_nodes(inputs)
        if self.graph not in forced:
            return list(self.region.emit(nodes))
        known = dict(zip(self.graph.inputs, nodes, strict=True))
        return copy_into(state.arena, self.graph.outputs, known)

    def _place(self, nodes: Sequence[Node | None], arguments: Sequence[Tensor]) -> None:
        """Put what is no result where it belongs."""
        rest = iter(nodes)
        for storage, node in zip(self.own, rest, strict=False):
            if node is None:
                storage.version += 1
            else:
                storage.set(settled(node))
        for read, node in zip(self.given, rest, strict=False):
            if node is None:
                read(arguments)._storage.version += 1
            else:
                put(read(arguments), settled(node))
        for read, made in self.grads:
            target = read(arguments)
            if made is not None:
                target.grad = wrap(settled(next(rest)))
            elif target._rare is not None:
                target._rare.grad = None
        for storage in self.escaped:
            node = next(rest)
            storage.node = node if storage.tracked else settled(node)
            note(storage)
        for names, key, tracked, released in self.placed:
            names[key] = result(next(rest), tracked, released)


def result(node: Node, tracked: bool, released: bool) -> Tensor:
    """A new tensor for a result."""
    made = wrap(node if tracked else settled(node), tracked and state.grad)
    made._storage.released = released
    return made


def pattern(x: Node) -> Node:
    """A leaf without a value, like those that replays make for an output."""
    return Arena().leaf(x.shape, x.dtype, None, x.sites)
