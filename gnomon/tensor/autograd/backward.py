"""Gradients of pending graphs, found again by structure: a loop derives its backward pass once.

The first pass over a structure derives the gradients' nodes and closes them as one region; later
ones only emit that region. What gradients will read of a forward pass is remembered the same way.
Rules and derivation are gnomon/passes/grad.py's; who gathers gradients is engine.py's.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gnomon.errors import GradientError, LayoutError
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import (
    Arena,
    Graph,
    Node,
    Sites,
    asked_by,
    copy_into,
    leaf_kind,
    topological,
)
from gnomon.ir.operators import constant
from gnomon.ir.provenance import current_sites, from_one_line
from gnomon.lazy import between, collector, pieces
from gnomon.ops.index_primitives import is_view
from gnomon.ops.layouts import LAYOUTS, axes_of
from gnomon.ops.op_calls import OpCall
from gnomon.ops.primitives import expand
from gnomon.ops.registry import Traced
from gnomon.passes.grad import pull_back
from gnomon.settings import current
from gnomon.tensor import nans
from gnomon.tensor.borrowing import BORROWERS, is_known, is_plain_part, numbered, waits_for_ranks
from gnomon.tensor.constants import NONE_VARY, generalized
from gnomon.tensor.state import Storage, mesh_results, state
from gnomon.tensor.watchers import FREED, RELEASED, is_watched

ENDED = (
    "backward: a compiled function made a tensor on the way, went backward itself, and kept no "
    "history of it. Go backward outside of that function, or return the tensor's detach()."
)
SECOND_PASS = (
    "backward: trying to backward through the graph a second time: its values were freed by the "
    "first pass. Give retain_graph=True to the first one."
)
VALUE, WATCHED, END = -2, -3, -1
MOST_LINES = 16
CHEAP = frozenset({"const", "iota"})


class GradientRequest(NamedTuple):
    """The gradients that a backward pass computes."""

    seeds: Mapping[Node, Node | None]
    """The roots and their gradients; None is one, for a scalar root."""
    order: dict[Node, int]
    """The numbered nodes of the history."""
    wanted: Sequence[Node]
    leaf_values: Sequence[Sequence[Node]]
    """The nodes of each leaf read at several values, as for pull_back."""


class BackwardPlan(NamedTuple):
    """A backward pass of one graph structure: its inputs, its region, its wanted gradients."""

    inputs: tuple[int, ...]
    traced: Traced
    given: tuple[bool, ...]
    """Per watched node, in order, whether it gets a gradient."""


_plans: Recent[tuple, list[tuple[tuple, BackwardPlan | None]]] = memo(Recent())
"""Structure -> plans, each with the lines that it was derived under."""
_reads: Recent[tuple, tuple[int, ...]] = memo(Recent())
_lines: Recent[Sites, int] = memo(Recent())
"""For each line the structures that were planned there."""
_met: Recent[tuple, int] = memo(Recent())
"""For each structure how often its nodes were emitted without a plan."""


def structure(
    order: dict[Node, int],
    roots: Iterable[Node],
    numbers: Container[Node] = NONE_VARY,
    ends: Container[Node] = (),
) -> tuple[int, ...]:
    """A key of numbered nodes: kinds, positions, which have values, which are watched; the roots.

    numbers: the constants that vary. ends: nodes with a history that is not among them.
    """
    key: list[int] = []
    for node in order:
        apart = node.inputs and node.op not in BORROWERS and node not in ends
        if not apart and (node in ends or is_given(node, numbers)):
            key.append(leaf_kind(node.shape, node.dtype)[0])
            if node.watch or node in ends:
                key.append(WATCHED)
            continue
        key.append(node.kind)
        if node.inputs:
            key += [order[x] for x in node.inputs]
            if node.value is not None:
                key.append(VALUE)
        if node.watch:
            key.append(WATCHED)
    key.append(END)
    key += [order[root] for root in roots]
    return tuple(key)


def is_given(node: Node, numbers: Container[Node]) -> bool:
    """Whether a node's value is known, and it has no history of its own."""
    return is_plain_part(node) if node.inputs else is_known(node, numbers)


def seed_of(node: Node) -> Node:
    """The gradient of a scalar root: 1."""
    if node.size != 1:
        raise GradientError(
            "backward: grad can be implicitly created only for scalar outputs: the root has shape "
            f"{node.shape}. Reduce it, or pass its gradient."
        )
    return expand(constant(node.arena, 1.0, node.dtype), node.shape)


def gradients_by_plan(request: GradientRequest) -> list[Node | None]:
    """The gradients of the wanted nodes, by the plan of their structure."""
    seeds, order, wanted, values = request
    given = [g for g in seeds.values() if g is not None]
    rest = (tuple(g is None for g in seeds.values()), *(tuple(map(order.get, x)) for x in values))
    key, numbers = (structure(order, seeds), rest), NONE_VARY
    if key not in _plans and (numbers := generalized(order)):
        key = (structure(order, seeds, numbers), rest)
    with from_one_line(), collector.paused():
        if key not in _plans and not numbers and is_passing(key, request):
            return derived(seeds, wanted, values)
        plan = under_lines(_plans.found(key, list), request, numbers)
        if plan is None:
            return derived(seeds, wanted, values)
        nodes = [*order, *given]
        results = iter(plan.traced.emit([nodes[k] for k in plan.inputs]))
    return [next(results) if there else None for there in plan.given]


def is_passing(key: tuple, request: GradientRequest) -> bool:
    """Whether a structure without a plan is likely to occur only once, so that no plan is made.

    Its nodes are emitted without a region, as where several structures were planned at the line.
    """
    line = current_sites()
    planned = _lines.get(line) or 0
    if planned >= pieces.STRUCTURES and current().allows("pieces") and not nans.looked_for():
        met = _met[key] = (_met.get(key) or 0) + 1
        if met <= pieces.PASSES and not any([x.op in LAYOUTS for x in request.order]):
            return True
    _lines[line] = planned + 1
    return False


def under_lines(
    plans: list[tuple[tuple, BackwardPlan | None]],
    request: GradientRequest,
    numbers: Container[Node],
) -> BackwardPlan | None:
    """A structure's plan with this history's source locations; the latest ones are cached."""
    lines = tuple([x.sites if x.op != "region" else asked_by(x) for x in request.order])
    for known, plan in plans:
        if known == lines:
            return plan
    plan = plan_of(request, numbers)
    plans[MOST_LINES - 1 :] = []
    plans.insert(0, (lines, plan))
    return plan


def derived(
    seeds: Mapping[Node, Node | None],
    wanted: Sequence[Node],
    values: Sequence[Sequence[Node]],
    seen: Callable[..., Any] | None = None,
) -> list[Node | None]:
    """The gradients of the wanted nodes, derived by the rules; values and seen as in pull_back."""
    whole = {x: whole_seed(x, g) for x, g in seeds.items()}
    return pull_back(whole, wanted, seen, values)


def plan_of(request: GradientRequest, numbers: Container[Node]) -> BackwardPlan | None:
    """The plan of a backward pass, closed as a region; None when there is nothing to close.

    It is derived on a copy, whose leaves are inputs: a number of the history that varies must not
    be taken for an equal one that a rule writes.
    """
    arena, order = Arena(), request.order
    known = copied(order, arena, numbers)
    given = {x: arena.input(x.shape, x.dtype) for x, g in request.seeds.items() if g is not None}
    parts = derived(
        {known[x]: given.get(x) for x in request.seeds},
        [known[x] for x in request.wanted],
        [[known[x] for x in nodes] for nodes in request.leaf_values],
    )
    outputs = [g for g in parts if g is not None]
    places = {known[x]: k for x, k in order.items() if x.op == "input" or is_known(x, numbers)}
    places.update((g, len(order) + k) for k, g in enumerate(given.values()))
    leaves = between.nearest(outputs, places)
    if not outputs or not leaves:
        return None
    inner = Arena()
    images: dict[Node, Node] = {x: inner.input(x.shape, x.dtype) for x in leaves}
    body = Graph(list(images.values()), copy_into(inner, outputs, images))
    traced = Traced("backward", body, OpCall((), ()), True)
    return BackwardPlan(
        tuple(places[x] for x in leaves), traced, tuple(g is not None for g in parts)
    )


def copied(order: dict[Node, int], arena: Arena, numbers: Container[Node]) -> dict[Node, Node]:
    """A history copied to an arena; nodes with values and without a history are inputs."""
    known: dict[Node, Node] = {
        x: arena.input(x.shape, x.dtype)
        for x in topological(order)
        if x not in order or is_given(x, numbers)
    }
    copy_into(arena, list(order), known)
    return known


# what gradients will read of a forward pass that is evaluated now


def read_by_gradients(roots: Sequence[Node]) -> list[Node]:
    """Pending nodes behind the roots that their backward pass will read.

    Behind a known value, what is read was found when it was computed: a loop that reads a value in
    each step would walk over all of its steps each time.
    """
    ends: set[Node] = set()

    def is_end(node: Node) -> bool:
        if is_plain_part(node):
            return True
        if node.value is not None and node.inputs and node.dtype.is_floating_point:
            ends.add(node)
        return node in ends

    order = numbered(roots, is_end)
    if not ends and not any(node.watch for node in order):
        return []
    key = structure(order, roots, ends=ends)
    nodes = list(order)
    return [nodes[k] for k in _reads.found(key, lambda: reads_of(roots, order, ends))]


def reads_of(
    roots: Sequence[Node], order: dict[Node, int], ends: Container[Node]
) -> tuple[int, ...]:
    """The positions of forward nodes that gradients read; views are replaced by their bases."""
    seeds = {x: seed_of(x) if x.size == 1 else state.arena.input(x.shape, x.dtype) for x in roots}
    state.looks_ahead = True
    try:
        gradients = pull_back(seeds, [node for node in order if node.watch or node in ends])
    except (GradientError, LayoutError):
        return ()  # raised once a backward pass asks for it
    finally:
        state.looks_ahead = False
    found: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = [g for g in gradients if g is not None]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node not in order:
            stack.extend(node.inputs)
            continue
        while node.value is None and (is_view(node) or node.op in LAYOUTS):
            (node,) = node.inputs
        # a sharded value is computed again, from the parts of what it came from
        if node.value is None and node.op not in CHEAP and not axes_of(node):
            found[node] = None
    return tuple(order[node] for node in found)


def left_by_passes(held: dict[Node, list[Storage]]) -> Iterator[Node]:
    """Gradients and other values that are pending from before the last pass and end there.

    Computed after a loss or a result of their pass, they would compute its forward once more.
    """
    for node, storages in held.items() if not state.unknown else ():
        is_apart = node in state.failed or (mesh_results and waits_for_ranks(node))
        is_older = node.serial <= state.passed and node.arena is state.arena
        if is_older and not is_apart and not is_open(storages):
            yield node


def is_open(storages: Iterable[Storage]) -> bool:
    """Whether a later backward pass may begin at a value of these storages."""
    return any(x.tracked and not x.released for x in storages)


def whole_seed(node: Node, seed: Node | None) -> Node:
    """A gradient that a pass starts from, as a node."""
    return seed_of(node) if seed is None else seed


def sum_of(gradients: Sequence[Node | None]) -> Node | None:
    """The sum of the gradients of several passes; None if there are none."""
    given = [x for x in gradients if x is not None]
    return functools.reduce(operator.add, given) if given else None


def awaited_nodes(order: Iterable[Node]) -> dict[Node, list[Any]]:
    """The nodes whose gradients some tensor waits for."""
    found: dict[Node, list[Any]] = {}
    for node in order:
        if node.watch is FREED:
            raise GradientError(ENDED)
        if node.watch is RELEASED:
            raise GradientError(SECOND_PASS)
        if node.watch:
            found[node] = [t for reference in node.watch if (t := reference()) is not None]
    return found


def leaf_values(waiting: Mapping[Node, Sequence[Any]]) -> list[list[Node]]:
    """The nodes of each leaf that a graph reads at several values, with writes in between."""
    owners = [id(tensors[0]) for tensors in waiting.values() if tensors]
    if len({*owners}) == len(owners):
        return []
    read: dict[int, list[Node]] = {}
    for node, tensors in waiting.items():
        if len(tensors) == 1 and tensors[0]._requires and not is_watched(node):
            read.setdefault(id(tensors[0]), []).append(node)
    return [nodes for nodes in read.values() if len(nodes) > 1]
