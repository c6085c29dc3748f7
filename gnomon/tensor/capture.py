"""Capture: a function's graph, taken by running it once on placeholders.

What it reads from outside (arguments, parameters, gradients, options, draws) becomes an input with
a way to read it again; what it writes becomes an output with a place to put it. Nothing
that other threads can see is touched while the function runs.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from gnomon.dtypes import DType, float64, int64, uint32
from gnomon.ir.node import Arena, Graph, Node, copy_into, topological
from gnomon.ir.provenance import Site, inherit, user_site
from gnomon.late import Late
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.guards import LONGEST, Nest, Place
from gnomon.tensor.state import KEPT_REFERENCES, Storage, state
from gnomon.tensor.tensor import (
    Tensor,
    detached,
    from_array,
    from_buffer,
    node_of,
    rare,
    raw,
    wrap,
)
from gnomon.tensor.writing import write

surroundings = Late("gnomon.tensor.surroundings")

Read = Callable[[Sequence[Tensor]], Tensor]
"""Gives the tensor that an input stands for, from the arguments of a replay."""


DRAWN = (
    "Python's or numpy's `random` drew a number while a function was captured, so that each of its "
    "calls is captured anew. Draw it outside and pass it in, or draw by gn.rand."
)


class Capture:
    """What one thread has seen of a function that it captures."""

    def __init__(self, arguments: Sequence[Tensor]) -> None:
        self.arena = Arena()
        self.home = state.arena, state.images
        self.arguments = list(arguments)
        self.inputs: dict[Node, Read] = {}
        self.nodes: dict[Storage, Node] = {}
        self.first: dict[Storage, Node] = {}
        self.reads: dict[Storage, Read] = {}
        self.grads: dict[int, tuple[Tensor, Tensor | None]] = {}
        self.asked: dict[int, tuple[Tensor, bool]] = {}
        """Tensors whose gradient was looked at, and whether there was none."""
        self.guards: list[tuple[Callable[[], Hashable], Hashable]] = []
        self.draws: dict[Any, int] = {}
        self.numbers: list[tuple[Callable[[], float], float]] = []
        self.afterwards: list[tuple[list[dict[str, Any]], Callable[[], Any]]] = []
        """What every replay does at its end, and the optimizer's groups that it changes."""
        self.names: dict[Storage, str] = {}
        """What storages from outside are called."""
        self.keys: dict[Any, tuple[Tensor, Tensor]] = {}
        self.placed: list[tuple[Any, Any, Tensor]] = []
        """Tensors that the function made and put where a guard looks: in what, and under what."""
        self.pending: list[ref[Storage]] = []
        self.went_back = False
        """Whether a backward pass ran inside: what it read is not kept for another one."""

    # entering and leaving

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let this thread build into the capture."""
        before = (state.arena, state.images, state.pending, state.sweep_at, state.capture)
        state.arena, state.images, state.pending = self.arena, WeakKeyDictionary(), self.pending
        state.sweep_at, state.capture = 1 << 62, self
        stood = surroundings.random_state()
        try:
            yield
        finally:
            if surroundings.random_state() != stood:
                self.guards.append((object, "a number was drawn by Python's `random` or numpy's"))
                warnings.warn(f"compile: {DRAWN}   [{user_site()}]", stacklevel=5)
            self.pending = state.pending
            state.arena, state.images, state.pending, state.sweep_at, state.capture = before

    @contextmanager
    def outside(self) -> Iterator[None]:
        """For a moment, tensors are ordinary ones with values, as if made before the capture."""
        before = (state.arena, state.images, state.pending)
        (state.arena, state.images), state.pending, state.capture = self.home, [], None
        state.sweep_at = KEPT_REFERENCES
        try:
            yield
        finally:
            state.arena, state.images, state.pending = before
            state.capture, state.sweep_at = self, 1 << 62

    # what comes from outside

    def placeholder(self, tensor: Tensor, read: Read) -> Node:
        """A new input."""
        node = tensor._storage.node
        made = self.arena.input(node.shape, node.dtype)
        self.inputs[made] = read
        return made

    def claim(self, storage: Storage) -> Node:
        """A storage's node here; a storage from outside becomes an input when it is first read."""
        found = self.nodes.get(storage)
        if found is None:
            with inherit(named(storage.node.sites, self.names.get(storage, ""))):
                found = self.arena.input(storage.node.shape, storage.node.dtype)
            self.nodes[storage] = self.first[storage] = found
            self.inputs[found] = self.reads.get(storage) or Always(whole(storage))
        return found

    def assign(self, storage: Storage, node: Node) -> None:
        """Write to a storage from outside: it is done for real by every replay."""
        self.claim(storage)
        self.nodes[storage] = node

    def has_made(self, value: Any) -> bool:
        """Whether a value is a tensor that was computed here."""
        if not isinstance(value, Tensor) or value._requires:
            return False
        return value._storage.node.arena is self.arena

    def read_at(self, tensor: Tensor, names: Any, key: Any) -> None:
        """Let replays read what stands somewhere then; the first run takes what stood there."""
        now = [tensor]
        self.inputs[self.first[tensor._storage]] = lambda _: now.pop() if now else names.get(key)

    def takes(self, tensor: Tensor, value: Tensor) -> bool:
        """Write a value that was computed here, so that replays do; False where it is no such."""
        if value._storage.node.arena is not self.arena or tensor._view is not None:
            return False
        tensor._storage.set(detached(raw(value)))
        return True

    def number(self, read: Callable[[], float]) -> Tensor:
        """A float64 number that every replay reads again; the first run takes it as it is now."""
        made, now = self.arena.input((), float64), [read()]
        self.inputs[made] = number_of(lambda: now.pop() if now else read(), float64)
        self.numbers.append((read, now[0]))
        return wrap(made)

    def guard(self, read: Callable[[], Hashable]) -> None:
        """Replay only while `read()` gives what it gives now."""
        self.guards.append((read, read()))

    def draw(self, generator: Any) -> tuple[Tensor, Tensor]:
        """The key words and the number of the next draw of a generator."""
        words, number = self.origin(generator)
        drawn = self.draws.get(generator, 0)
        self.draws[generator] = drawn + 1
        return words, (number + drawn).to(uint32)

    def origin(self, generator: Any) -> tuple[Tensor, Tensor]:
        """The key words of a generator, and the number of the first draw here."""
        if generator not in self.keys:
            words, number = self.arena.input((2,), uint32), self.arena.input((), int64)
            self.inputs[words] = lambda _: from_array(generator.words)
            self.inputs[number] = number_of(lambda: generator.count, int64)
            self.keys[generator] = (wrap(words), wrap(number))
        return self.keys[generator]

    # gradients are attributes: reading and writing one is remembered

    def read_grad(self, tensor: Tensor) -> Tensor | None:
        """A tensor's gradient here."""
        if id(tensor) in self.grads:
            return self.grads[id(tensor)][1]
        found = None if tensor._rare is None else tensor._rare.grad
        read = self.standing_for(tensor)
        is_given = any(tensor is x for x in self.arguments)  # their signatures tell
        if not is_given and (found is None or found._storage.node.arena is not self.arena):
            self.asked[id(tensor)] = (tensor, found is None)
        if found is not None and found._view is None:
            self.reads.setdefault(found._storage, lambda arguments: rare(read(arguments)).grad)
        return found

    def settle(self) -> list[tuple[Tensor, Tensor | None]]:
        """The gradients to set, and guards for those that were asked for, once all has run.

        What only the function held is gone when it is let go of here: nobody will see its gradient.
        """
        asked = [(ref(tensor), empty) for tensor, empty in self.asked.values()]
        made = [(ref(tensor), grad) for tensor, grad in self.grads.values()]
        self.asked, self.grads = {}, {}
        looked = [(x, empty) for at, empty in asked if (x := at()) is not None]
        if looked:
            tensors, found = zip(*looked, strict=True)
            self.guards.append((without_grad(tensors), list(found)))
        if any(read() != value for read, value in self.numbers):
            self.guards.append((object, "the function changes a number that its optimizer reads"))
        return [(x, grad) for at, grad in made if (x := at()) is not None]

    def standing_for(self, tensor: Tensor) -> Read:
        """How to find a tensor again: among the arguments of a replay, or itself."""
        number = next((k for k, x in enumerate(self.arguments) if x is tensor), None)
        return Always(tensor) if number is None else operator.itemgetter(number)

    def write_grad(self, tensor: Tensor, value: Tensor | None) -> None:
        """Set a tensor's gradient: it is done for real by every replay."""
        self.grads[id(tensor)] = (tensor, value)

    # the graph

    def reader(self, node: Node) -> Read:
        """How to read an input again: as the leaf that waits for its gradient, if one does."""
        read = self.inputs[node]
        leaf = node.watch[0]() if node.watch else None
        if leaf is None or leaf._storage in self.reads:
            return read
        return Always(leaf)

    def written(self) -> list[Storage]:
        """Storages from outside that were given another value."""
        return [s for s, node in self.nodes.items() if node is not self.first[s]]

    def escaped(self, kept: Sequence[Storage]) -> list[Storage]:
        """Storages that were made here and that somebody still holds after the return."""
        known = {id(s) for s in kept}
        found = [reference() for reference in self.pending]
        return [s for s in dict.fromkeys(found) if s is not None and id(s) not in known]

    def close(self, outputs: Sequence[Node]) -> tuple[Graph, list[Node]]:
        """The graph to the outputs in an arena of its own, and the inputs that it reads."""
        nodes = topological(outputs)
        for node in nodes:
            if node.op == "input" and node not in self.inputs:
                self.inputs[node] = constant_input(node)
        used = [node for node in nodes if node in self.inputs]
        arena = Arena()
        known: dict[Node, Node] = {}
        for x in used:
            with inherit(x.sites):
                known[x] = arena.input(x.shape, x.dtype)
        images = list(known.values())
        return Graph(images, copy_into(arena, outputs, known)), used


def without_grad(tensors: Sequence[Tensor]) -> Callable[[], list[bool]]:
    """Looks which tensors have no gradient."""
    return lambda: [t._rare is None or t._rare.grad is None for t in tensors]


class Always:
    """Reads the same tensor whatever the arguments are."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __call__(self, _: Sequence[Tensor]) -> Tensor:
        """The tensor."""
        return self.tensor


def number_of(read: Callable[[], float], dtype: DType) -> Read:
    """Reads a number anew each time; its tensor stays while the number does."""
    kept: tuple[Hashable, Tensor | None] = (None, None)

    def reads(_: Sequence[Tensor]) -> Tensor:
        nonlocal kept
        value, (known, tensor) = read(), kept
        key = value or str(value)  # zeros differ by their sign
        if tensor is None or key != known:
            tensor = from_array(np.asarray(value, dtype.numpy))
            kept = (key, tensor)
        return tensor

    return reads


def constant_input(node: Node) -> Read:
    """How to read a value that the function made of Python values: it is part of the program."""
    return Always(from_buffer(node.value, node.shape, node.dtype))


def whole(storage: Storage) -> Tensor:
    """A tensor that shows all of a storage."""
    made = Tensor.__new__(Tensor)
    made._storage, made._view, made._rare, made._requires = storage, None, None, False
    return made


def settled(node: Node) -> Node:
    """A node behind which no gradient looks."""
    return node if node.value is not None else detached(node)


def put(target: Tensor, node: Node) -> None:
    """Write an output to the tensor that it belongs to."""
    if target._view is None:
        target._storage.set(node)
        return
    before, state.grad = state.grad, False
    try:
        write(target, node, False)
    finally:
        state.grad = before


value_there, view_of = map(operator.attrgetter, ("_storage.node.value", "_view"))


def values_of(tensors: Sequence[Tensor]) -> list[Any]:
    """The buffers of tensors; what is pending among them is computed together."""
    values = list(map(value_there, tensors))
    if all(values) and not any(map(view_of, tensors)):
        return values
    nodes = [raw(t) for t in tensors]
    evaluate([node for node in nodes if node.value is None])
    return [node.value for node in nodes]


def tracked_nodes(tensors: Sequence[Tensor]) -> list[Node]:
    """The nodes of tensors as inputs of an operation that gradients pass."""
    return [node_of(t) for t in tensors]


# what it is called


def names_of(
    function: Callable, call: Nest, arguments: Sequence[Tensor], modules: Iterable[Any]
) -> dict[Storage, str]:
    """The names of what a function may read: its parameters' paths, then its arguments."""
    found: dict[Storage, str] = {}
    for module in modules:
        for name, x in (*module.named_parameters(), *module.named_buffers()):
            found.setdefault(x._storage, name)
    for number, name in of_arguments(function, call):
        found.setdefault(arguments[number]._storage, name)
    return found


def of_arguments(function: Callable, call: Nest) -> Iterator[tuple[int, str]]:
    """Every tensor of a call by number, and where it stands in it."""
    given, words = call.parts
    names = [*positions(function), *(f"args[{k}]" for k in range(len(given.parts)))]
    for name, part in zip(names, given.parts, strict=False):
        yield from inside(name, part)
    for key, part in zip(words.names, words.parts, strict=True):
        yield from inside(str(key.value), part)


def positions(function: Callable) -> Iterator[str]:
    """The names of arguments by position; a function that is not written in Python has none."""
    try:
        known = inspect.signature(getattr(function, "forward", function)).parameters.values()
    except (TypeError, ValueError):
        return
    for x in known:
        if x.kind is x.VAR_POSITIONAL:
            yield from (f"{x.name}[{k}]" for k in range(LONGEST))
        elif x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD):
            yield x.name


def inside(name: str, tree: Any) -> Iterator[tuple[int, str]]:
    """The tensors in a nested value of that name.

    >>> list(inside("batch", Nest(tuple, (), (Place(0), Place(1)))))
    [(0, 'batch[0]'), (1, 'batch[1]')]
    """
    if isinstance(tree, Place):
        yield tree.number, name
    elif isinstance(tree, Nest):
        keys = [key.value for key in tree.names] or range(len(tree.parts))
        for key, part in zip(keys, tree.parts, strict=True):
            yield from inside(f"{name}[{key!r}]", part)


def named(sites: tuple[Site, ...], name: str) -> tuple[Site, ...]:
    """The lines where an input was made, with its name and the part of the model that has it."""
    module = name.rpartition(".")[0]
    return tuple(site._replace(name=name, module=module or site.module) for site in sites)
