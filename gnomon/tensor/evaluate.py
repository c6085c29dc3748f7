"""Evaluation: pending nodes -> a closed graph -> a program -> values.

A program is found again by the structure of what is pending, as a tuple of small numbers, so a loop
that repeats itself builds no graph and compiles nothing. Which tensors are evaluated when is said
in docs/concepts.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, TypeAlias

from gnomon.errors import TraceError
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import NUMBER, Arena, Graph, Node, copy_into, topological
from gnomon.ir.provenance import inherit, user_site, waited
from gnomon.lazy import build, collector, dropping, inlining, pieces, specializations
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.registry import CAPTURED
from gnomon.ops.view_primitives import STEPS
from gnomon.runtime import events
from gnomon.runtime.buffer import DeviceBuffer, memory, others
from gnomon.settings import Settings, current
from gnomon.tensor import nans
from gnomon.tensor.autograd.backward import left_by_passes, read_by_gradients
from gnomon.tensor.borrowing import BORROWERS, Survey, at_home, borrows, numbered
from gnomon.tensor.constants import NONE_VARY, generalized, is_number
from gnomon.tensor.device import by_memory, meeting_place, refuse_missing
from gnomon.tensor.state import (
    grads,
    is_capturing,
    refusal,
    state,
    waiting,
)

if TYPE_CHECKING:
    from gnomon.ir.specializations import LatestEntries
    from gnomon.program.executable import Executable, Lines, Pairs
    from gnomon.tensor.state import Storage

    Chosen = Callable[[Node, list[Storage]], bool]

LOOK = 64
"""Between so many new nodes the length of what is pending is looked at."""


class Found:
    """A cached program, whose code serves all callers, with each caller's source locations."""

    __slots__ = ("last", "others")

    def __init__(self) -> None:
        self.last: tuple[Lines | None, Any] = (None, None)
        """The lines and the program of the last caller, in one: other threads may look."""
        self.others: LatestEntries[Lines, Prepared]
        self.others = specializations.LatestEntries(specializations.MOST_CALLERS)

    def under(self, seen: Survey, roots: Sequence[Node]) -> Prepared:
        """The program under the source locations of this graph."""
        lines = seen.lines
        known, made = self.last
        if lines != known:
            made = self.others.found(lines, lambda _: prepare(seen, roots))
            self.last = (lines, made)
        return made


_programs: dict[Settings, Recent[tuple, Found]] = memo({})
MANY_WAIT = 128
"""Tensors that may wait when a call without gradients ends."""

evaluations = 0
"""The number of programs that were run, in all threads; for tests."""


Prepared: TypeAlias = "tuple[Executable, Sequence[int] | None]"
"""A program; also which of the leaves that were met its inputs are, where not all in order."""
Goal = tuple[Node, DeviceBuffer]
"""A node that nobody else reads, and the input over which its program may write its value."""


def evaluate(nodes: Iterable[Node], goal: Goal | None = None) -> None:
    """Compute nodes, and values on the way that are referenced or that gradients will read."""
    roots = [node for node in nodes if node.value is None]
    if roots and events.heard():
        start = monotonic_ns()
        evaluate_together(roots, goal)
        events.announce("forced", start=start, end=monotonic_ns())
    elif roots:
        evaluate_together(roots, goal)


def evaluate_together(roots: list[Node], goal: Goal | None = None) -> None:
    """Compute nodes without values."""
    foreign = [node for node in roots if node.arena is not state.arena]
    home = [at_home(node) for node in roots] if foreign else roots
    dropping.drop_unreachable()
    held = waiting()
    found = Survey(home)
    asked = dict.fromkeys(home)
    more = [x for x in held if x in found.order and x not in asked]
    if not any(is_filled(cut) for cut in found.cuts):  # parts of values need no programs
        more = [x for x in more if not is_plain(x, held)]
    asked.update(dict.fromkeys(sorted(more, key=found.order.__getitem__)))
    if found.calls:
        asked.update(dict.fromkeys(siblings(found.calls, held)))
    if any(s.released for node in asked for s in held.get(node, ())):
        asked.update(dict.fromkeys(left_by_passes(held)))
    tracked = differentiable(asked, held)
    if tracked:
        asked.update(dict.fromkeys(read_by_gradients(tracked)))
        note_forced(found.calls)
    given = [*asked]
    if goes_on := given[: len(home)] == home:  # no node is there twice
        found.go_on(given[len(home) :])
    try:
        compute(given, found if goes_on else None, goal)
    except Exception:
        state.failed.update(home)
        raise
    for node in foreign:
        node.value = state.images[node].value
    dropping.settle(held)


def differentiable(asked: Iterable[Node], held: dict[Node, list[Storage]]) -> list[Node]:
    """The pending tensors that a later backward pass may start from."""
    if not grads.get():
        return []
    return [
        node
        for node in asked
        if node.dtype.kind == "float"
        and any(s.tracked and not s.released for s in held.get(node, ()))
        and len(dropping.unreachable(held[node])) < len(held[node])
    ]


def note_forced(calls: Iterable[Node]) -> None:
    """Record the captured forwards that are computed without their gradients.

    A gradient reads values inside them, which it then has to recompute. So they stay one node until
    that happens, and are inlined from then on.
    """
    for node in calls:
        if node.op == "region" and node.params["name"].endswith(CAPTURED):
            state.forced.add(node.params["body"])


def siblings(computed: Iterable[Node], held: Iterable[Node]) -> list[Node]:
    """Referenced results of calls that will be computed: cheap now, costly later."""
    calls = {x.inputs for x in computed if has_siblings(x)}
    found = []
    for node in held if calls else ():
        result = node.inputs[0] if node.op == "detach" else node
        if has_siblings(result) and result.inputs in calls:
            found.append(node)
    return found


def has_siblings(node: Node) -> bool:
    """Whether a node is one of several results of a call."""
    if node.op == "external":
        return len(node.params["kinds"]) > 1
    return node.op in CONTROL or (node.op == "region" and len(node.params["body"].outputs) > 1)


def explain(node: Node) -> str:
    """The program that a node alone would be computed by, as text; nothing is computed."""
    home = at_home(node)
    if borrows(home):
        return "its value is there: nothing to compute"
    return prepare(Survey([home]), [home])[0].explain()


def is_plain(node: Node, held: dict[Node, list[Storage]]) -> bool:
    """Whether a tensor is a constant and no model's: programs recompute it where needed.

    It has no value of its own until somebody reads it, or a step's second program would differ.
    """
    return not any(storage.kept for storage in held[node]) and is_filled(node)


def is_filled(node: Node) -> bool:
    """Whether a node is a view of one constant."""
    while node.op in STEPS and node.value is None:
        (node,) = node.inputs
    return node.op == "const"


def evaluate_kept() -> None:
    """Compute a model's tensors and other pending ones, to keep them out of steps' programs."""
    if not is_capturing():
        state.kept_waits = False
        if any(storage.kept for storages in waiting().values() for storage in storages):
            evaluate_all(plain=False)


def evaluate_all(plain: bool = True, chosen: Chosen | None = None) -> None:
    """Compute all pending tensors of this thread that are referenced; constants if asked.

    chosen: whether a node is to be computed, by the node and the storages that hold it.
    """
    dropping.drop_unreachable()
    held = waiting()
    roots = [node for node in held if node.arena is state.arena]
    roots = roots if chosen is None else [node for node in roots if chosen(node, held[node])]
    roots = roots if plain else [node for node in roots if not is_plain(node, held)]
    roots = without_unknown(roots) if state.unknown else roots
    if state.failed:  # whoever asks for one of these gets the error again; nobody else does
        roots = [node for node in roots if node not in state.failed]
    if roots:
        compute_all(roots)
        dropping.settle(held)


def compute_all(roots: list[Node]) -> None:
    """Compute unrelated pending roots; an error in one does not stop others."""
    try:
        compute(roots)
    except Exception as first:
        errors = [first]
        for root in roots:
            try:
                compute([root] if root.value is None else [])
            except Exception as error:
                state.failed.add(root)
                errors.append(error)
        # of what is left of a capture, its owner has the error
        others = [x for x in errors if not isinstance(x, TraceError)]
        if others:
            raise others[0] from None


def relieve(serial: int) -> None:
    """Evaluate when more nodes are pending than the settings allow."""
    state.look_at = serial + LOOK
    if serial - state.evaluated_at > current().pending_limit and not is_capturing():
        evaluate_all()
        state.evaluated_at = serial


def relieve_between_calls() -> None:
    """Evaluate after a model's call outside of gradients, if more than a little is pending.

    A loop of calls is then one program again and again, and not one for every number of iterations.
    """
    if len(state.pending) > MANY_WAIT and not is_capturing():
        evaluate_all()


def without_unknown(roots: Sequence[Node]) -> list[Node]:
    """The roots that do not depend on placeholders."""
    marked = set(state.unknown)
    for node in topological(roots):
        if node.value is None and any(x in marked for x in node.inputs):
            marked.add(node)
    return [node for node in roots if node not in marked]


def compute(given: list[Node], known: Survey | None = None, goal: Goal | None = None) -> None:
    """Run one program for the roots and store their values; `known` is a survey of them."""
    roots = [x for x in given if x.value is None and not (x.op in BORROWERS and borrows(x))]
    parts = by_memory(roots) if others else [roots] if roots else ()
    if len(parts) != 1:
        list(map(compute, parts))
        return
    seen = known if known and len(roots) == len(given) else Survey(roots)
    settings = current()
    programs = _programs.get(settings)
    if programs is None:
        programs = _programs.setdefault(settings, Recent())
    place = meeting_place(seen.leaves) if others else memory
    key = seen.key if place is memory else (*seen.key, place.device)
    found, numbers = programs.get(key), NONE_VARY
    if found is None and place is memory and (numbers := generalized(seen.order)):
        seen = Survey(roots, numbers)
        found = programs.get(key := seen.key)
    global evaluations
    evaluations += 1
    # where nothing was compiled yet, nobody waits: a program on the disk needs no more modules
    here = place is memory and waited
    outputs = None
    if found is None and here and pieces.is_passing(seen):
        with collector.paused():
            outputs = pieces.run(checked_nodes(seen, roots), seen)
    if outputs is None:
        if found is None:
            found = programs[key] = Found()
        executable, places = found.under(seen, roots)
        leaves = seen.leaves if places is None else [seen.leaves[k] for k in places]
        inputs = [numbers.get(node, node.value) for node in leaves]
        if place is not memory:
            inputs = [x if x.memory is place else x.copied(place) for x in inputs]
        over = () if goal is None else written_over(executable, roots, inputs, goal)
        outputs = executable.run(inputs, over)
        if nans.looked_for():
            nans.check(executable.source, inputs, outputs)
    latest = state.evaluated_at
    for node, buffer in zip(roots, outputs, strict=True):
        node.value = buffer
        if node.serial > latest:
            latest = node.serial
    state.evaluated_at = latest


def written_over(
    executable: Executable, roots: Sequence[Node], inputs: Sequence[DeviceBuffer], goal: Goal
) -> Pairs:
    """The goal's output and input, if one may be written over the other.

    No other input may have some of the same bytes.
    """
    root, buffer = goal
    end = buffer.address + buffer.nbytes
    met = [
        k for k, x in enumerate(inputs) if x.address < end and buffer.address < x.address + x.nbytes
    ]
    if nans.looked_for() or root not in roots or [inputs[k] for k in met] != [buffer]:
        return ()
    return executable.overwriting([(roots.index(root), *met)])


def prepare(seen: Survey, roots: Sequence[Node]) -> Prepared:
    """Compile the graph from leaves to roots."""
    checked_nodes(seen, roots)
    apart = None if others or any(map(is_backward, seen.calls)) else seen.dissection(roots)
    if apart is not None and (made := build.existing_executable(*apart)) is not None:
        return made, None
    arena, alike = Arena(), {*filter(is_number, seen.leaves), *seen.constants}
    with collector.paused():
        with inherit(()):  # a value's line is no part of the program that reads it
            known = {x: arena.input(x.shape, x.dtype, NUMBER * (x in alike)) for x in seen.leaves}
        images = list(known.values())
        graph = Graph(images, copy_into(arena, roots, known))
        graph, leaves = (
            inline_backward(graph) if any(map(is_backward, seen.calls)) else (graph, None)
        )
    # a rank may know what others compute: what it printed
    place = meeting_place(seen.leaves).device if others else memory.device
    return build.build(graph, ranks_differ=seen.over_ranks, place=place), leaves


def is_backward(node: Node) -> bool:
    """Whether a node is a result of a backward pass that is closed as a region."""
    return node.op == "region" and node.params["name"] == "backward"


def inline_backward(graph: Graph) -> tuple[Graph, Sequence[int] | None]:
    """A graph with its closed backward passes inlined: it is one program either way.

    Inputs are in the order of a survey. Returns their former positions too.
    """
    flat = inlining.inline(graph, lambda x: not is_backward(x))
    places = {x: k for k, x in enumerate(flat.inputs)}
    inputs = [x for x in numbered(flat.outputs, lambda x: not x.inputs) if x in places]
    return Graph(inputs, flat.outputs), [places[x] for x in inputs]


def checked_nodes(seen: Survey, roots: Sequence[Node]) -> Sequence[Node]:
    """The roots, after a check that no node without a value is a leaf."""
    for node in seen.order:
        if node.op == "input" and node.value is None:
            refuse_missing("evaluate", node)
            raise refusal(
                "evaluate: this value is not known yet: inside gn.compile and gn.vmap it stands "
                "for values to come. Use gn.where, gn.cond, gn.while_loop or gn.scan, "
                f"or return the tensor.   [{user_site()}]"
            )
    return roots
