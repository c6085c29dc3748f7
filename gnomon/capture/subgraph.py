"""A branch or an iteration as a graph: the function is run once, inside a capture or a plain run.

What it reads of tensors outside becomes inputs of its graph; what it writes to them is given along
with its results. What can't be part of a graph is refused with the name of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnomon.capture.inputs import constant_input
from gnomon.capture.tracing import Capture
from gnomon.dtypes import DType, int64
from gnomon.ir.node import Arena, Graph, Node, Shape, copy_into, topological
from gnomon.ir.provenance import user_site
from gnomon.ops.assertion import asserted
from gnomon.ops.scalars import where
from gnomon.passes.calls import leaves_like
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec
from gnomon.tensor.state import Recorder, Storage, grads, refusal, state, strict
from gnomon.tensor.tensor import Tensor, from_array, node_of, wrap

__all__ = ["Inner", "Trace", "advance_draws", "close", "drawn_outside", "flatten_into", "trace"]


def flatten_into(value: Any, found: list[Tensor]) -> Any:
    """The structure of a nested value, whose tensors are appended to `found`."""
    if isinstance(value, Tensor):
        found.append(value)
        return TreeLeaf(len(found) - 1)
    if isinstance(value, dict):
        parts = tuple(flatten_into(v, found) for v in value.values())
        return TreeSpec(type(value), tuple(map(Constant, value)), parts)
    if isinstance(value, (list, tuple)):
        return TreeSpec(type(value), (), tuple(flatten_into(v, found) for v in value))
    return Constant(value)


class Inner(Capture):
    """The trace of a branch or an iteration in one thread, which counts its draws."""

    def __init__(self, name: str, repeats: bool) -> None:
        super().__init__(())
        self.name, self.repeats, self.around = name, repeats, state.recorder
        if isinstance(self.around, Capture):
            self.sizes, self.shapes = self.around.sizes, self.around.shapes
        self.counters: dict[Any, Node] = {}
        self.site = user_site()
        self.asserted: list[Node] = []
        """What is asserted inside: true where it holds, an error where it does not."""

    def begin(self, storage: Storage) -> Node:
        """The value of a storage before the trace."""
        self.claim(storage)
        return self.first[storage]

    def number(self, groups: Any, read: Callable[[], float]) -> Tensor:
        """A float64 number that every replay reads again."""
        own = not isinstance(self.around, Capture)
        return super().number(groups, read) if own else self.around.number(groups, read)

    def guard(self, read: Callable[[], Any]) -> None:
        """Add a guard: replay only while `read()` is unchanged; no effect outside of captures."""
        self.around.asked(read)

    def read_grad(self, tensor: Tensor) -> Tensor | None:
        """A tensor's gradient at this point of the outer function."""
        return self.around.read_grad(tensor)

    def write_grad(self, tensor: Tensor, value: Tensor | None) -> bool:
        """Refused: a branch or an iteration gives values, and changes no attributes."""
        self.refuse("a gradient is stored. Use gn.grad, and return what it gives")

    def origin(self, generator: Any) -> tuple[Tensor, Tensor]:
        """The key words of a generator, and the number of the first draw here."""
        if generator not in self.keys:
            words, number, drawn = drawn_outside(self.around, generator)
            if self.repeats:
                self.counters[generator] = self.arena.input((), int64)
                self.keys[generator] = words, wrap(self.counters[generator])
            else:
                self.keys[generator] = words, number + drawn
        return self.keys[generator]

    def assert_that(self, condition: Any, message: str) -> None:
        """Raise an AssertionError at run time where a condition does not hold."""
        if not isinstance(condition, Tensor):
            return super().assert_that(condition, message)
        text = f"{message}   [{user_site()}, inside of {self.name} at {self.site}]"
        self.asserted.append(asserted(node_of((condition != 0).all()), text))

    def where_asserted(self, result: Node) -> Node:
        """The result where all assertions hold, else 0, so that the assertions are computed."""
        for holds in self.asserted:
            result = where(holds, result, 0)
        return result

    def refuse(self, what: str) -> None:
        """Raise the error for an operation that a trace cannot contain."""
        raise refusal(f"{self.name}: inside, {what}.   [{user_site()}]")


def drawn_outside(around: Recorder, generator: Any) -> tuple[Tensor, Tensor, int]:
    """The generator's key words, and the number of its next draw as a base and an offset."""
    if isinstance(around, Capture):
        return (*around.origin(generator), around.draws.get(generator, 0))
    count = np.asarray(generator.count, np.int64)
    return from_array(generator.words), from_array(count), 0


def advance_draws(around: Recorder, generator: Any, count: int) -> None:
    """Advance a generator outside by so many draws."""
    if isinstance(around, Capture):
        around.origin(generator)
        around.draws[generator] = around.draws.get(generator, 0) + count
    else:
        generator.count += count


class Trace(NamedTuple):
    """The record of a function's one run: its inputs and its results."""

    inner: Inner
    given: list[Node]
    """The inputs that stand for its arguments."""
    tree: Any
    results: list[Node]
    written: dict[Storage, bool]
    """Storages from outside that it wrote to, and whether gradients pass what they hold now."""


Kinds = Sequence[tuple[Shape, DType]]


def trace(inner: Inner, function: Callable, kinds: Kinds, arguments: Callable) -> Trace:
    """Run a function on placeholders of these kinds, which `arguments` turns into its arguments."""
    with strict(), inner.running(), inner.checking():
        given = [inner.arena.input(shape, dtype) for shape, dtype in kinds]
        return run(inner, function, given, arguments)


def run(inner: Inner, function: Callable, given: list[Node], arguments: Callable) -> Trace:
    """Run a function on placeholders for given nodes, inside of a trace."""
    stand_ins = [wrap(x, grads.get() and x.dtype.is_floating_point) for x in given]
    found: list[Tensor] = []
    tree = flatten_into(function(*arguments(stand_ins)), found)
    for tensor, node in zip(stand_ins, given, strict=True):
        if tensor._storage.node is not node:
            inner.refuse("an argument is written in place. Write to a clone(), and return that")
    results = [inner.where_asserted(node_of(t)) for t in found]
    known = [t for pair in inner.keys.values() for t in pair]
    check_kept(inner, [t._storage for t in (*found, *stand_ins, *known)])
    return Trace(inner, given, tree, results, {s: s.tracked for s in inner.written()})


def check_kept(inner: Inner, kept: Sequence[Storage]) -> None:
    """Refuse tensors that the function stores outside without returning them."""
    if any(s.node.arena is inner.arena for s in inner.escaped(kept)):
        inner.refuse("a tensor is made that something outside holds on to. Return it instead")


# from traces to graphs


class ClosedTraces(NamedTuple):
    """The graphs of traces with common inputs."""

    graphs: list[Graph]
    operands: list[Tensor]
    """The tensors outside that they read, in the order of inputs after each one's own."""


def close(
    traces: Sequence[Trace], outputs: Sequence[Sequence[Node]], state_of: Callable
) -> ClosedTraces:
    """Close traces to graphs; inputs are those of `state_of(trace)`, then captured values."""
    own = [state_of(t) for t in traces]
    reads = [
        {x: outside(t.inner, x) for x in topological(made) if x.op == "input" and x not in mine}
        for t, made, mine in zip(traces, outputs, own, strict=True)
    ]
    read = {id(tensor): tensor for found in reads for tensor in found.values()}
    nodes = {key: node_of(tensor) for key, tensor in read.items()}  # of lent memory a new one
    operands = {nodes[key]: tensor for key, tensor in read.items()}
    graphs = []
    for made, mine, found in zip(outputs, own, reads, strict=True):
        arena = Arena()
        leaves = leaves_like(arena, [*mine, *operands])
        known = dict(zip(mine, leaves, strict=False))
        places = dict(zip(operands, leaves[len(mine) :], strict=True))
        known.update((x, places[nodes[id(tensor)]]) for x, tensor in found.items())
        graphs.append(Graph(leaves, copy_into(arena, made, known)))
    return ClosedTraces(graphs, list(operands.values()))


def outside(inner: Inner, node: Node) -> Tensor:
    """The tensor outside that an input stands for."""
    if node not in inner.inputs:
        inner.inputs[node] = constant_input(node)
    return inner.reader(node)(())
