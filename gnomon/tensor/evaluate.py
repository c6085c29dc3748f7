"""Evaluation: pending nodes -> a closed graph -> a program -> values.

A program is found again by the structure of what is pending, as a tuple of small numbers, so a loop
that repeats itself builds no graph and compiles nothing. Which tensors are evaluated when is said
in docs/concepts.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from gnomon.errors import TraceError
from gnomon.ir.node import Arena, Graph, Node, asked_by, copy_into, leaf_kind, topological
from gnomon.ir.provenance import inherit, user_site
from gnomon.late import Late
from gnomon.ops.control_primitives import CONTROL
from gnomon.runtime import events
from gnomon.settings import Settings, current
from gnomon.tensor import nans
from gnomon.tensor.backward import read_by_gradients
from gnomon.tensor.borrowing import borrows, numbered
from gnomon.tensor.constants import generalize
from gnomon.tensor.state import Storage, at_home, leaf, state, waiting

if TYPE_CHECKING:
    from gnomon.executable import Executable, Lines

executables = Late("gnomon.executable")

CALLS = frozenset({"region", *CONTROL})
"""Nodes with graphs inside, which may have lines of their own."""
MOST_CALLERS = 256
"""So many lists of lines are kept for one program."""


class Found:
    """A program that runs again: the same code for every caller, under the caller's own lines."""

    __slots__ = ("last", "others")

    def __init__(self) -> None:
        self.last: tuple[Lines | None, Any] = (None, None)
        """The lines and the program of the last caller, in one: other threads may look."""
        self.others: dict[Lines, Executable] = {}

    def under(
        self, order: Iterable[Node], leaves: Sequence[Node], roots: Sequence[Node]
    ) -> Executable:
        """The program under the lines of these nodes."""
        lines = tuple(
            [
                node.sites if node.op not in CALLS else asked_by(node)
                for node in order
                if node.value is None
            ]
        )
        known, made = self.last
        if lines == known:
            return made
        made = self.others.get(lines)
        if made is None:
            made = prepare(leaves, roots)
            if len(self.others) >= MOST_CALLERS:
                self.others.clear()
            self.others[lines] = made
        self.last = (lines, made)
        return made


_programs: dict[Settings, dict[tuple, Found]] = {}
CAPTURED = ".compiled"
"""How the names of captured functions end."""
MANY_WAIT = 128
"""Tensors that may wait when a call without gradients ends."""

forced: set[Graph] = set()
"""Bodies of captured functions whose values were wanted before their gradients."""
evaluations = 0
"""How many programs were run, in all threads; for tests."""


def evaluate(nodes: Iterable[Node]) -> None:
    """Compute nodes, and what on the way to them is still held or will be read by gradients."""
    roots = [node for node in nodes if node.value is None]
    if roots and events.heard():
        start = monotonic_ns()
        evaluate_together(roots)
        events.announce("forced", start=start, end=monotonic_ns())
    elif roots:
        evaluate_together(roots)


def evaluate_together(roots: Sequence[Node]) -> None:
    """Compute nodes without values."""
    foreign = [node for node in roots if node.arena is not state.arena]
    home = [at_home(node) for node in roots]
    held = waiting()
    order = numbered(home, borrows)
    asked = dict.fromkeys(home)
    asked.update((node, None) for node in order if node in held)
    asked.update((node, None) for node in siblings(order, held))
    tracked = differentiable(asked, held)
    asked.update((node, None) for node in read_by_gradients(tracked))
    if tracked:
        note_forced(order)
    compute(list(asked))
    for node in foreign:
        node.value = state.images[node].value
    settle(held)


def differentiable(asked: Iterable[Node], held: dict[Node, list[Storage]]) -> list[Node]:
    """What will be computed and may be the root of a backward pass later."""
    if not state.grad:
        return []
    return [
        node
        for node in asked
        if node.dtype.kind == "float"
        and any(s.tracked and not s.released for s in held.get(node, ()))
    ]


def note_forced(order: Iterable[Node]) -> None:
    """Remember the captured forwards that are computed without their gradients.

    A gradient reads what is inside them, and finds nothing there: it has to compute it again. So
    they stay one node until that happens, and are opened from then on.
    """
    for node in order:
        if node.op == "region" and node.value is None and node.params["name"].endswith(CAPTURED):
            forced.add(node.params["body"])


def siblings(order: Iterable[Node], held: Iterable[Node]) -> list[Node]:
    """Held results of calls that will be computed: they cost nothing now, and much later."""
    calls = {x.inputs for x in order if has_siblings(x)}
    found = []
    for node in held if calls else ():
        result = node.inputs[0] if node.op == "detach" else node
        if has_siblings(result) and result.inputs in calls:
            found.append(node)
    return found


def has_siblings(node: Node) -> bool:
    """Whether a node is one of several results of a call."""
    return node.op in CONTROL or (node.op == "region" and len(node.params["body"].outputs) > 1)


def explain(node: Node) -> str:
    """The program that a node alone would be computed by, as text; nothing is computed."""
    home = at_home(node)
    if borrows(home):
        return "its value is there: nothing to compute"
    leaves = [x for x in numbered([home], borrows) if x.value is not None]
    return prepare(leaves, [home]).explain()


def evaluate_all() -> None:
    """Compute everything of this thread that somebody still holds."""
    held = waiting()
    roots = [node for node in held if node.arena is state.arena]
    roots = without_unknown(roots) if state.unknown else roots
    if roots:
        compute(roots)
        settle(held)


def relieve_between_calls() -> None:
    """Evaluate after a model's call, where no gradient looks back and more than little waits.

    A loop of calls is then one program again and again, and not one for every number of turns.
    """
    if len(state.pending) > MANY_WAIT and state.capture is None:
        evaluate_all()


def without_unknown(roots: Sequence[Node]) -> list[Node]:
    """The roots that do not depend on what stands for values to come."""
    marked = set(state.unknown)
    for node in topological(roots):
        if node.value is None and any(x in marked for x in node.inputs):
            marked.add(node)
    return [node for node in roots if node not in marked]


def compute(roots: list[Node]) -> None:
    """Run one program for the roots and give each its value."""
    roots = [node for node in roots if not borrows(node)]
    if not roots:
        return
    order = numbered(roots, borrows)
    key = structure(order, roots)
    programs = _programs.setdefault(current(), {})
    found = programs.get(key)
    if found is None and generalize(order):
        key = structure(order, roots)
        found = programs.get(key)
    if found is None:
        found = programs[key] = Found()
    leaves = [node for node in order if node.value is not None]
    executable = found.under(order, leaves, roots)
    global evaluations
    evaluations += 1
    inputs = [node.value for node in leaves]
    outputs = executable.run(inputs)
    if nans.looked_for():
        nans.check(executable.source, inputs, outputs)
    for node, buffer in zip(roots, outputs, strict=True):
        node.value = buffer
        state.evaluated_at = max(state.evaluated_at, node.serial)


def structure(order: dict[Node, int], roots: Sequence[Node]) -> tuple[int, ...]:
    """The pending graph as numbers: kinds and places, then the places of the roots."""
    key: list[int] = []
    for node in order:
        if node.value is None:
            key.append(node.kind)
            key += [order[x] for x in node.inputs]
        else:
            key.append(leaf_kind(node.shape, node.dtype)[0])
    key.append(-1)
    key += [order[node] for node in roots]
    return tuple(key)


def prepare(leaves: Sequence[Node], roots: Sequence[Node]) -> Executable:
    """Compile the graph between leaves and roots."""
    arena = Arena()
    with inherit(()):  # a value's line is no part of the program that reads it
        known: dict[Node, Node] = {x: arena.input(x.shape, x.dtype) for x in leaves}
    images = list(known.values())
    outputs = copy_into(arena, between(leaves, roots), known)
    return executables.build(Graph(images, outputs))


def between(leaves: Sequence[Node], roots: Sequence[Node]) -> Sequence[Node]:
    """The roots, after a look that no node without a value is a leaf."""
    for node in numbered(roots, borrows):
        if node.op == "input" and node.value is None:
            raise TraceError(
                "evaluate: this value is not known yet: inside gn.compile and gn.vmap it stands "
                "for values to come. Use gn.where, gn.cond, gn.while_loop or gn.scan, "
                f"or return the tensor.   [{user_site()}]"
            )
    return roots


def settle(held: dict[Node, list[Storage]]) -> None:
    """Let storages forget how their values came about, unless a backward pass may ask."""
    for node, storages in held.items():
        if node.value is None:
            continue
        for storage in storages:
            if storage.node is node and (not storage.tracked or storage.released):
                storage.node = leaf(node.shape, node.dtype, node.value, node.sites)
