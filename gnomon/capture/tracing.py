"""Capture: a function's graph, taken by running it once on placeholders.

What it reads from outside (arguments, parameters, gradients, options, draws) becomes an input with
a way to read it again; what it writes becomes an output with a place to put it. Nothing
that other threads can see is touched while the function runs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

from gnomon.capture.ambient import Ambient, AmbientChecks, CaptureRun
from gnomon.capture.inputs import (
    Always,
    GivenInput,
    Ids,
    Read,
    StoredInput,
    Wholes,
    constant_input,
    number_of,
    storage_tensor,
    without_grad,
)
from gnomon.capture.looks import Questioned
from gnomon.capture.storage_names import named
from gnomon.dtypes import DType, int64, uint32
from gnomon.errors import CollectiveError
from gnomon.ir.node import Arena, Graph, Node, copy_into, topological
from gnomon.ir.operators import cast
from gnomon.ir.provenance import Site, inherit, user_site
from gnomon.ops.histories import has_other_history
from gnomon.ops.primitives import reshape
from gnomon.ops.view_primitives import slice_
from gnomon.passes.gradient_paths import depends_on, mark_dependents
from gnomon.settings import replacing
from gnomon.tensor.autograd import versions
from gnomon.tensor.borrowing import numbered
from gnomon.tensor.device import note_input
from gnomon.tensor.layouts import layout_of, local_of
from gnomon.tensor.state import KEPT_REFERENCES, NOTHING, Recorder, Storage, refusal, state
from gnomon.tensor.tensor import Tensor, View, detached, rare, raw, wrap
from gnomon.tensor.watchers import nobody


class Capture(Questioned, Ambient, Wholes, Recorder):
    """The record of a function's capture in one thread."""

    def __init__(self, arguments: Sequence[Tensor]) -> None:
        Questioned.__init__(self)
        Ambient.__init__(self)
        Wholes.__init__(self)
        self.arena, self.home = Arena(), (state.arena, state.images)
        self.arguments = list(arguments)
        self.inputs: dict[Node, Read] = {}
        self.nodes, self.first = dict[Storage, Node](), dict[Storage, Node]()
        self.reads: dict[Storage, Read] = {}
        self.grads: dict[int, tuple[Tensor, Tensor | None]] = {}
        self.held_grads: dict[int, tuple[Tensor, Read]] = {}
        """Gradients from outside that were looked at, and their readers."""
        self.looked_grads: dict[int, tuple[Tensor, bool]] = {}
        """Tensors whose gradient was looked at, and whether there was none."""
        self.draws: dict[Any, int] = {}
        self.names: dict[Storage, str] = {}
        """The names of storages from outside."""
        self.placed: list[tuple[Any, Any, Tensor]] = []
        """Tensors that the function made and put where a guard looks: in what, and under what."""
        self.stands: dict[Storage, tuple[Tensor, Any, Any]] = {}
        """Where tensors stood that the function replaced: replays read what stands there then."""
        self.pending: list[ref[Storage]] = []
        self.cut_short = self.raised = False
        """Whether the function raised an error of its own, and whether what it did before is done.
        """
        self.went_back = False
        """Whether a backward pass ran inside."""
        self.freed: set[Node] = set()
        """What it passed, which is not kept for another one, and what was found to need that."""
        self.looked: set[Node] = set()
        """Nodes that `freed` tells of already."""
        self.flags: dict[Storage, tuple[bool, bool]] = {}
        """Whether storages from outside were tracked and released before."""
        self.leaves: dict[Any, tuple[Node | None, Node | None]] = {}
        """By tensor the nodes that stood for leaves before: they have sums of their own."""
        self.switched: dict[int, tuple[Tensor, bool, Site]] = {}
        """Tensors from outside that wanted gradients, or none, for a while; before, and a line."""
        self.passed: set[Storage] = set()
        """Storages from outside that were given a value which gradients pass."""
        self.known: set[Storage] = set()
        """Storages that the function can reach from outside."""
        self.objects: Ids = {}
        """Tensors that it can reach from outside, by their ids."""
        self.ends: dict[str, Storage] = {}
        """Of each process group that meets, what a program writes so that no meeting is left out.
        """
        self.violations: list[str] = []
        """Collectives that cannot be done, each with its line."""
        self.views: dict[View, bool] = {}
        """Views that were made here, and whether they were cut off here."""

    # entering and leaving

    def running(self) -> CaptureRun:
        """A context in which this thread builds into the capture."""
        return CaptureRun(self)

    def checking(self) -> AmbientChecks:
        """A context that checks at its end that modes and generators are unchanged."""
        return AmbientChecks(self)

    def in_place(self) -> replacing:
        """A context in which the thread's state is that of this capture."""
        own = {"arena": self.arena, "images": WeakKeyDictionary(), "pending": self.pending}
        return replacing(state, **own, recorder=self, shown=self.shown, sweep_at=1 << 62)

    def put_back(self) -> None:
        """Drop the run, and restore the flags of tensors from outside."""
        self.leave()
        for storage, flags in self.flags.items():
            storage.tracked, storage.released = flags
        for attributes, nodes in self.leaves.items():
            attributes.source, attributes.leaf = nodes
        for tensor, wanted, _ in self.switched.values():
            tensor._requires = wanted

    def outside(self) -> replacing:
        """A context in which the thread's state is as before the capture."""
        home = dict(zip(("arena", "images"), self.home, strict=True))
        return replacing(state, **home, pending=[], recorder=NOTHING, sweep_at=KEPT_REFERENCES)

    # what comes from outside

    def stand_in(self, tensor: Tensor) -> Node | None:
        """A new input that stands for a leaf from outside; None for a leaf made here."""
        node, kept = raw(tensor), rare(tensor)
        self.leaves.setdefault(kept, (kept.source, kept.leaf))
        if self.is_made(tensor):
            return None
        made = self.arena.input(node.shape, node.dtype)
        self.inputs[made] = self.standing_for(tensor)
        note_input(made, node)
        return made

    def claim(self, storage: Storage) -> Node:
        """The node of a storage; a storage from outside becomes an input when it is first read."""
        found = self.nodes.get(storage)
        if found is None:
            self.flags[storage] = (storage.tracked, storage.released)
            with inherit(named(storage.node.sites, self.names.get(storage, ""))):
                shape = self.shapes.get(storage, storage.node.shape)
                found = self.arena.input(shape, storage.node.dtype)
            note_input(found, storage.node)
            self.nodes[storage] = self.first[storage] = found
            self.inputs[found] = self.reads.get(storage) or Always(storage_tensor(storage))
        return found

    def read_as(self, node: Node) -> list[Node]:
        """The nodes by which leaves read a value that was written to them here."""
        return [kept.leaf for kept in self.leaves if kept.source is node]

    def assign(self, storage: Storage, node: Node) -> bool:
        """Record a write to a storage from outside, which every replay does."""
        self.claim(storage)
        self.nodes[storage] = node
        if storage.tracked:
            self.passed.add(storage)
        return True

    def has_made(self, value: Any) -> bool:
        """Whether a value is a tensor that was computed here."""
        if not isinstance(value, Tensor) or value._requires:
            return False
        return value._storage.node.arena is self.arena

    def read_at(self, tensor: Tensor, names: Any, key: Any) -> None:
        """Make replays read a tensor from its place, whatever tensor is there then."""
        storage = tensor._storage
        self.stands[storage] = tensor, names, key
        if storage in self.first:
            self.inputs[self.first[storage]] = self.standing_at(storage)

    def standing_at(self, storage: Storage) -> Read:
        """A reader of the tensor at a storage's place; the first run reads the captured one."""
        tensor, names, key = self.stands[storage]
        now = [tensor]
        return lambda _: now.pop() if now else names.get(key)

    def takes(self, tensor: Tensor, value: Tensor) -> bool:
        """Record a write of a computed value to a tensor; False if it was not computed here."""
        if value._storage.node.arena is not self.arena or tensor._view is not None:
            return False
        tensor._storage.set(detached(raw(value)))
        return True

    def number_input(self, read: Callable[[], float], dtype: DType) -> Tensor:
        """A number that every replay reads again."""
        made = self.arena.input((), dtype)
        self.inputs[made] = number_of(read, dtype)
        return wrap(made)

    def draw(self, generator: Any) -> tuple[Tensor, Tensor]:
        """The key words and the number of the next draw of a generator."""
        words, number = self.origin(generator)
        drawn = self.draws.get(generator, 0)
        self.draws[generator] = drawn + 1
        return words, (number + drawn).to(uint32)

    def origin(self, generator: Any) -> tuple[Tensor, Tensor]:
        """The key words of a generator, and the number of the first draw here."""
        if generator not in self.keys:
            words, number = self.arena.input((2,), uint32), lambda: generator.count
            self.inputs[words] = lambda _: generator.words_to_read()
            self.keys[generator] = (wrap(words), self.number_input(number, int64))
        return self.keys[generator]

    # gradients are attributes: reading and writing one is remembered

    def read_grad(self, tensor: Tensor) -> Tensor | None:
        """The gradient of a tensor at this point of the capture."""
        if id(tensor) in self.grads:
            return self.grads[id(tensor)][1]
        found = None if tensor._rare is None else tensor._rare.grad
        read = self.standing_for(tensor)
        is_given = any(tensor is x for x in self.arguments)  # their signatures tell
        if not is_given and (found is None or found._storage.node.arena is not self.arena):
            self.looked_grads[id(tensor)] = (tensor, found is None)
        if found is not None and found._storage.node.arena is not self.arena:
            self.held_grads[id(found)] = (found, lambda a: rare(read(a)).grad)
        if found is not None and (found._view is None or layout_of(found)):
            self.reads.setdefault(found._storage, lambda a: local_of(rare(read(a)).grad))
        return found

    def settle(self) -> list[tuple[Tensor, Tensor | None]]:
        """The gradients to set at the end; adds guards for those that were read.

        Tensors that only the function held are dropped: nothing will read their gradients.
        """
        asked = [(ref(tensor), empty) for tensor, empty in self.looked_grads.values()]
        made = [(ref(tensor), grad) for tensor, grad in self.grads.values()]
        self.looked_grads, self.grads = {}, {}
        looked = [(x, empty) for at, empty in asked if (x := at()) is not None]
        if looked:
            tensors, found = zip(*looked, strict=True)
            self.guards.append((without_grad(tensors), list(found)))
        if any(read() != value for read, value in self.numbers):
            self.guards.append((object, "the function changes a number that its optimizer reads"))
        return [(x, grad) for at, grad in made if (x := at()) is not None]

    def standing_for(self, tensor: Tensor) -> Read:
        """A reader of a tensor: from the arguments, or the tensor itself."""
        number = next((k for k, x in enumerate(self.arguments) if x is tensor), None)
        return Always(tensor) if number is None else GivenInput(number)

    def go_back(self, roots: Iterable[Node], leaves: Iterable[Node]) -> None:
        """Record a backward pass from roots, whose values it frees, to leaves.

        A value recomputed after it is another value, with a history of its own.
        """
        self.went_back = True
        order, ends = topological(roots), set(leaves)
        for x in order:  # a leaf that was written to is a node over the leaf, as is its copy
            if (has_other_history(x) or x.op == "barrier") and x.inputs[0] in ends:
                ends.add(x)
        freed = depends_on(order, list(leaves)) - ends
        freed &= numbered(roots, lambda node: node.op == "detach").keys()
        self.freed |= freed
        self.looked.clear()
        for node in freed:
            self.arena.part_with(node)

    def is_freed(self, storage: Storage) -> bool:
        """Whether a backward pass from a storage would read values that another one freed."""
        node = self.nodes.get(storage, storage.node)
        if self.freed and node not in self.looked:  # each node once: a step writes many
            order = topological([node], self.looked)
            self.looked.update(order)
            mark_dependents(order, self.freed)
        return storage.released or node in self.freed

    def write_grad(self, tensor: Tensor, value: Tensor | None) -> bool:
        """Record a write of a tensor's gradient, which every replay does."""
        self.grads[id(tensor)] = (tensor, value)
        return True

    def shows(self, view: View, before: View | None, asked: bool) -> None:
        """Record a view made here, and whether it is detached from its base."""
        self.views[view] = asked or self.views.get(before, False)

    def is_made(self, tensor: Tensor) -> bool:
        """Whether a tensor, perhaps of memory from outside, was made here."""
        return tensor._storage.node.arena is self.arena or tensor._view in self.views

    def switch(self, tensor: Tensor) -> None:
        """Record that the function changed requires_grad of a tensor from outside.

        Without requires_grad its node is not the leaf's, so that no gradient is recorded for it.
        """
        if not self.is_made(tensor):
            self.switched.setdefault(id(tensor), (tensor, tensor._requires, user_site()))
            node = raw(tensor)
            node.watch = node.watch or [nobody]

    def check_switches(self) -> None:
        """Refuse tensors whose requires_grad stays changed."""
        for tensor, before, site in self.switched.values():
            if tensor._requires is not before:
                self.keep_flag(tensor, site)

    def violates(self, text: str) -> None:
        """Record a collective that cannot be done; all are refused together."""
        self.violations.append(f"{text}   [{user_site()}]")

    def end_collectives(self) -> None:
        """Refuse collectives that the backend lacks, all together; make replays do the others."""
        if self.violations:
            raise CollectiveError("\n".join(self.violations))
        for name, end in self.ends.items():
            made = self.arena.latest[name]
            first = slice_(reshape(made, (made.size,)), ((0, 1, 1),))
            self.assign(end, cast(reshape(first, ()), end.node.dtype))

    def keep_flag(self, tensor: Tensor, site: Site | None = None) -> None:
        """Refuse a lasting change of requires_grad of a tensor from outside."""
        if not self.is_made(tensor):
            raise refusal(
                "requires_grad: a function that is captured switches it for a tensor from outside. "
                "Switch it back before the function ends, or before the call, or take detach() or "
                f"clone() of it.   [{site or user_site()}]"
            )

    def keep_inside(self, roots: Iterable[Node]) -> None:
        """Refuse a backward pass that goes on into the history outside of the capture."""
        made = [first for storage, first in self.first.items() if self.flags[storage][0]]
        if not depends_on(topological(roots), made).isdisjoint(roots):
            raise refusal(
                "backward: gradients go on to what made a tensor from outside, which a function "
                "that is captured does not see. Make the tensor inside, go backward outside, or "
                f"pass detach() of it.   [{user_site()}]"
            )

    def keep_read(self, roots: Sequence[Node]) -> None:
        """Refuse a write over values that gradients of these results still read."""
        if self.cut_short or not state.overwritten:
            return
        passed = [first for storage, first in self.first.items() if self.flags[storage][0]]
        wanted = [*passed, *(x for x in self.inputs if x.watch)]
        node = versions.reader_of_overwritten(roots, wanted)
        if node is not None:
            raise refusal(f"compile: {versions.message(node)}")

    # the graph

    def reader(self, node: Node) -> Read:
        """The reader of an input: as the leaf that waits for its gradient, if one does."""
        if node in self.places:
            return StoredInput(self.places[node])
        read = self.inputs[node]
        leaf = node.watch[0]() if node.watch else None
        if leaf is None or leaf._storage in self.reads:
            return read
        return Always(leaf)

    def written(self) -> list[Storage]:
        """The storages from outside that were written."""
        return [s for s, node in self.nodes.items() if node is not self.first[s]]

    def escaped(self, kept: Sequence[Storage]) -> list[Storage]:
        """The storages made here that are still referenced after the function returned.

        Storages in unreachable cycles are young: no collection ran while they were made.
        """
        known = {id(s) for s in kept}

        def found() -> list[Storage]:
            alive = dict.fromkeys(reference() for reference in self.pending)
            return [s for s in alive if s is not None and id(s) not in known]

        if found():
            gc.collect(0)
        return found()

    def close(self, outputs: Sequence[Node]) -> tuple[Graph, list[Node]]:
        """The graph to the outputs in an arena of its own, and the inputs that it reads."""
        nodes = topological(outputs, self.places)
        for node in nodes:
            if node.op == "input" and node not in self.inputs:
                self.inputs[node] = constant_input(node)
        used = [node for node in nodes if node in self.inputs]
        if self.places:
            read = dict.fromkeys([*outputs, *(x for node in nodes for x in node.inputs)])
            used += [x for x in read if x in self.places]
        arena = Arena()
        known: dict[Node, Node] = {}
        for x in used:
            with inherit(x.sites):
                known[x] = arena.input(x.shape, x.dtype)
        images = list(known.values())
        return Graph(images, copy_into(arena, outputs, known)), used
