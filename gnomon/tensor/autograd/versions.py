"""The known error: a value that a gradient needs was written over in place.

Graphs are immutable here, so the old value would still be at hand; a program that overwrites it
means something else than it says, and PyTorch refuses it too. Which operands a scalar function's
gradient reads is found by building it once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple
from weakref import ref

from gnomon.dtypes import float32
from gnomon.errors import GradientError
from gnomon.ir.memo import memo
from gnomon.ir.node import PRIMITIVES, Arena, Node, topological
from gnomon.ir.provenance import inherit
from gnomon.ops.histories import has_other_history
from gnomon.ops.index_primitives import is_view
from gnomon.ops.registry import REGIONS
from gnomon.passes.grad import pull_back
from gnomon.passes.gradient_paths import depends_on
from gnomon.tensor.borrowing import numbered
from gnomon.tensor.state import Storage, state

OUTPUT = -1
allowing: ContextVar[bool] = ContextVar("gnomon_saved_may_change", default=False)
"""Whether old values, which graphs have, may be read: autograd.graph says so."""


@memo
@cache
def read_by_gradient(f: str, arity: int, operand: int) -> frozenset[int]:
    """The operands (or OUTPUT) that the gradient of one operand reads."""
    arena = Arena()
    with inherit(()):
        inputs = tuple(arena.input((2,), float32) for _ in range(arity))
        node = arena.node("map", inputs, f=f)
        g = arena.input((2,), float32)
        needed = tuple(k == operand for k in range(arity))
        part = PRIMITIVES["map"].gradient(node, g, needed)[operand]
    behind = set(topological([part])) if part is not None else set()
    # what stands behind the output is read through it
    found = {OUTPUT} if node in behind else {k for k, x in enumerate(inputs) if x in behind}
    return frozenset(found)


def overwritten(storage: Storage, since: int, unchecked: bool = False) -> None:
    """Record that a value which gradients may need is overwritten.

    Nodes made since, by serial number, may read it: an operation in place, or a program that
    writes, keeps what it overwrites. An expression of several lines may be another tensor's value
    too, which is not overwritten: then nothing is recorded. unchecked: written through `data`,
    which PyTorch allows.
    """
    own = storage.node
    node = own if own.arena is state.arena else state.recorder.claim(storage)
    away = node is not own
    # inside of a captured function it is read by that one's own nodes, which alone may be a leaf's
    leaves = state.recorder.read_as(node) if away else ()
    is_read = (storage.tracked or node.watch or leaves) and not unchecked
    origin = state.origins.pop(storage, None) if state.origins and not away else None
    if is_read and len(node.sites) < 2 and not allowing.get():
        state.overwritten.update(dict.fromkeys((node, *leaves), since))
        if origin is not None:
            overwritten_inside(origin, since, None if storage.tracked else node.watch)


def note_call(storages: Iterable[Storage], results: Sequence[Node]) -> None:
    """Record which results of a captured function storages have.

    Gradients of one result may read another inside. An equal call has results of its own, since
    its writes replace those of this one.
    """
    known, together = set(results), list(map(ref, results))
    for node in results:
        node.arena.part_with(node)
    for storage in storages:
        node = storage.node
        (node,) = node.inputs if node.op == "detach" else (node,)
        if node in known:
            state.origins[storage] = CallResult(ref(node), node.params, together)


class CallResult(NamedTuple):
    """A storage's result of a captured function, with all results of the call."""

    node: ref[Node]
    params: dict[str, Any]
    together: list[ref[Node]]


def overwritten_inside(origin: CallResult, since: int, watch: list[Any] | None) -> None:
    """Record that a result of a captured function is overwritten, as long as others live.

    A node without a value represents it, since a storage forgets the source of its value. watch:
    the watcher of a leaf's earlier value.
    """
    node, body = origin.node(), origin.params.get("body")
    found = [x for x in (result() for result in origin.together) if x not in (None, node)]
    if node is not None and body is None:  # the function stands in the graph node by node
        state.overwritten.update(dict.fromkeys(reads_of(node, found, watch), since))
    others = [x for x in found if x.op == "region" and x.params["body"] is body]
    if others:
        arena, inputs = others[0].arena, others[0].inputs
        same = arena.node("region", inputs, **origin.params, serial=since)
        state.overwritten[same], same.watch = since, watch
        for x in others:
            state.beside.setdefault(x, []).append(same)


def check(roots: Iterable[Node], order: Iterable[Node], wanted: Iterable[Node]) -> None:
    """Refuse a backward pass that would read an overwritten value.

    order: the history behind the roots.
    """
    latest = max(state.overwritten.values(), default=0)  # what nobody holds is gone
    if all([node.serial >= latest for node in order if node.inputs]):
        return  # as in a loop, whose steps read what the last one wrote
    node = reader_of_overwritten(roots, wanted)
    if node is not None:
        raise GradientError(f"backward: {message(node)}")


def message(node: Node) -> str:
    """The error of a node whose gradient reads an overwritten value."""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {node.called} needs a value that was written over. Write to a clone(), "
        f"or use the operation that is not in place.   [{node.sites[0] if node.sites else ''}]"
    )


def reader_of_overwritten(
    roots: Iterable[Node], wanted: Iterable[Node], since: Mapping[Node, float] | None = None
) -> Node | None:
    """The first node, on the way to the wanted ones, whose gradient reads an overwritten value."""
    known = state.overwritten if since is None else since
    reached = numbered(roots, lambda x: x.op == "detach")
    nodes = [x for x in topological(reached) if x in reached]
    on_the_way = depends_on(nodes, list(wanted))
    for node in nodes:
        if node not in on_the_way:
            continue
        if node.op == "map" and node.params["f"] not in ("where", "cast"):
            if reads_overwritten(node, on_the_way, known):
                return node
        elif is_product(node):
            if product_reads(node, on_the_way, known):
                return node
        elif (found := reader_inside(node, on_the_way, known)) is not None:
            return found
    return None


def base_of(node: Node) -> Node:
    """The base of a view; a reshaped view may be a copy, and is its own base."""
    while is_view(node) and "serial" not in node.params:
        (of,) = node.inputs
        if node.op == "reshape" and is_view(of):
            break
        node = of
    return node


def is_product(node: Node) -> bool:
    """Whether a node is an operation made of a product: linear, a convolution."""
    if node.op != "region" or node.params["name"] not in REGIONS:
        return False
    return any(x.op == "contract" for x in node.params["body"])


def product_reads(node: Node, on_the_way: set[Node], since: Mapping[Node, float]) -> bool:
    """Whether the gradient of a product reads an overwritten value."""
    late = {k for k, x in enumerate(node.inputs) if node.serial < since.get(base_of(x), 0)}
    if not late:
        return False
    arena = Arena()
    inputs = [arena.input(x.shape, x.dtype) for x in node.inputs]
    seed = arena.input(node.shape, node.dtype)
    copy = arena.with_inputs(node, tuple(inputs))
    wanted = [inputs[k] for k, x in enumerate(node.inputs) if x in on_the_way]
    read = reading([x for x in pull_back({copy: seed}, wanted) if x is not None])
    return any(inputs[k] in read for k in late)


def reading(outputs: Iterable[Node]) -> set[Node]:
    """The leaves that nodes read, also inside of regions, whose operands may be unread there."""
    found: set[Node] = set()
    stack, seen = list(outputs), set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == "input":
            found.add(node)
        elif node.op == "region":
            body = node.params["body"]
            inside = reading([body.outputs[node.params["index"]]])
            pairs = zip(node.inputs, body.inputs, strict=True)
            stack.extend(x for x, inner in pairs if inner in inside)
        else:
            stack.extend(node.inputs)
    return found


def reads_overwritten(node: Node, on_the_way: set[Node], since: Mapping[Node, float]) -> bool:
    """Whether the gradient of a scalar function reads an overwritten value."""
    return any(
        node.serial < since.get(node if k == OUTPUT else base_of(node.inputs[k]), 0)
        for place, x in enumerate(node.inputs)
        if x in on_the_way
        for k in read_by_gradient(node.params["f"], len(node.inputs), place)
    )


def reader_inside(node: Node, on_the_way: set[Node], since: Mapping[Node, float]) -> Node | None:
    """The node inside of a captured function whose gradient reads an overwritten value.

    A value inside is overwritten if its input, or another result of the function, is.
    """
    if node.op != "region" or node.params["name"] in REGIONS:
        return None
    body = node.params["body"]
    made = [x for x in since if x.op == "region" and x.params["body"] is body]
    pairs = [*zip(node.inputs, body.inputs, strict=True)]
    results = [(x, inner) for x in made if x.inputs == node.inputs for inner in reads_inside(x)]
    late = [inner for x, inner in (*pairs, *results) if node.serial < since.get(x, 0)]
    inside = dict.fromkeys(late, math.inf)
    wanted = [inner for x, inner in pairs if x in on_the_way]
    root = body.outputs[node.params["index"]]
    return reader_of_overwritten([root], wanted, inside) if inside else None


def reads_inside(result: Node) -> list[Node]:
    """The nodes inside of a captured function that represent a result."""
    body = result.params["body"]
    return reads_of(body.outputs[result.params["index"]], body.outputs, result.watch)


def reads_of(value: Node, roots: Iterable[Node], watch: list[Any] | None) -> list[Node]:
    """The nodes behind roots by which a tensor's value is read.

    watch: the watcher of a leaf's value, which is read with the leaf's history.
    """
    if not watch:
        return [value]
    made_later = numbered(roots, lambda x: x.serial <= value.serial)
    return [x for x in made_later if has_other_history(x) and x.inputs[1] is value]
