"""The known error: a value that a gradient needs was written over in place.

Graphs are immutable here, so the old value would still be at hand; a program that overwrites it
means something else than it says, and PyTorch refuses it too. Which operands a gradient reads, and
whether it reads the result, is found by building it once; of the operations that PyTorch's saves
too. What wants no gradient may be written over: a value that it shared is not told from its copy.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping

from gnomon.errors import GradientError
from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Node, copy_into, topological
from gnomon.ir.provenance import inherit
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.registry import REGIONS, Traced, facts_of
from gnomon.passes.grad import backward_of, depends_on, gradient_of
from gnomon.tensor.state import Storage, state

OUTPUT = -1
SHOWN = frozenset({"detach", "expand", "permute", "reshape", "slice"})
"""Nodes that show a value where it lies."""
_read: dict[tuple, frozenset[int]] = memo({})


def read_by_gradient(node: Node, needed: tuple[bool, ...]) -> frozenset[int]:
    """The operands (or OUTPUT) that the gradient of a node's needed operands reads."""
    if node.op == "map" and sum(needed) > 1:
        alone = [tuple(j == k for j in range(len(needed))) for k, x in enumerate(needed) if x]
        return frozenset().union(*(read_by_gradient(node, flags) for flags in alone))
    key = (node.kind, needed)
    if key not in _read:
        _read[key] = found_by_building(node, needed)
    return _read[key]


def found_by_building(node: Node, needed: tuple[bool, ...]) -> frozenset[int]:
    """The same, by a walk through the gradient from its results to what they read."""
    facts = facts_of(node)
    # products, which are narrow under autocast, save their factors
    checked = node.op != "region" or facts.saves or facts.autocast == "narrow"
    if node.op in CONTROL or not checked:
        return frozenset()
    if facts.saves == "result":
        return frozenset({OUTPUT})
    arena = Arena()
    with inherit(()):
        leaves = [arena.input(x.shape, x.dtype) for x in node.inputs]
        made = arena.with_inputs(node, tuple(leaves))
        g = arena.input(node.shape, node.dtype)
        if node.op == "region":
            parts, results = parts_of_region(made, needed, g)
        else:
            parts, results = gradient_of({made: g}, needed), [made]
    known = dict.fromkeys(results, OUTPUT) | {x: k for k, x in enumerate(leaves)}
    found = walked([x for x in parts if x is not None], known)
    # a function whose gradient follows from its value reads nothing else
    return frozenset({OUTPUT} if node.op == "map" and OUTPUT in found else found)


def parts_of_region(
    node: Node, needed: tuple[bool, ...], g: Node
) -> tuple[Collection[Node | None], list[Node]]:
    """The gradients of a region, laid open, and the nodes in them that stand for its result."""
    traced, wanted = backward_of((node,), needed)
    if not wanted:
        return (), []
    params, arena = node.params, node.inputs[0].arena
    known = dict(zip(traced.body.inputs, (*node.inputs, g), strict=True))
    parts = copy_into(arena, traced.body.outputs, known)
    inner = dict(zip(params["body"].inputs, node.inputs, strict=True))
    # a gradient that is derived goes on from the body, an operation's own from the region
    results = Traced(params["name"], params["body"], params["call"], True).emit(node.inputs)
    return parts, [*copy_into(arena, [params["body"].outputs[params["index"]]], inner), *results]


def walked(parts: Iterable[Node], known: Mapping[Node, int]) -> set[int]:
    """The known nodes' places, of those that others read."""
    found, seen, waiting = set(), set(), list(parts)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in known:
            found.add(known[node])
        else:
            waiting += node.inputs
    return found


def overwritten(storage: Storage, since: int) -> None:
    """Remember that a value which gradients may need is written over.

    What was made since, by its serial number, may read it: an operation in place, or a program
    that writes, keeps what it writes over.
    """
    away = state.capture is not None and storage.node.arena is not state.arena
    if storage.tracked:
        state.overwritten[state.capture.claim(storage) if away else storage.node] = since
    elif not away and storage.node.watch:
        # what wants no gradients shares its node with its copies
        state.leaves_over[storage.node] = since


def check(roots: Iterable[Node], wanted: Iterable[Node], nodes: Collection[Node]) -> None:
    """Refuse a backward pass, through these nodes, that would read an overwritten value."""
    since = ChainMap(state.overwritten, state.leaves_over)
    if not any(x in nodes for x in since):
        return
    node = reader_of_overwritten(roots, wanted, since)
    if node is not None:
        raise GradientError(f"backward: {told(node)}")


def told(node: Node) -> str:
    """The error of a node whose gradient reads an overwritten value."""
    name = node.params.get("f") or node.params.get("name") or node.op
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {name} needs a value that was written over. Write to a clone(), or use the "
        f"operation that is not in place.   [{node.sites[0] if node.sites else ''}]"
    )


def reader_of_overwritten(
    roots: Iterable[Node], wanted: Iterable[Node], since: Mapping[Node, float] | None = None
) -> Node | None:
    """The first node whose gradient, on the way back to the wanted ones, reads such a value."""
    nodes, known = topological(roots), state.overwritten if since is None else since
    on_the_way = depends_on(nodes, list(wanted))
    for node in nodes:
        if node not in on_the_way:
            continue
        if node.op == "region" and node.params["name"] not in REGIONS:
            if (found := reader_inside(node, on_the_way, known)) is not None:
                return found
        elif reads_overwritten(node, on_the_way, known):
            return node
    return None


def reads_overwritten(node: Node, on_the_way: set[Node], since: Mapping[Node, float]) -> bool:
    """Whether the gradient of one operation reads such a value."""
    if not any(is_over(x, node.serial, since) for x in (node, *node.inputs)):
        return False
    needed = tuple(x in on_the_way for x in node.inputs)
    return any(
        is_over(node if k == OUTPUT else node.inputs[k], node.serial, since)
        for k in read_by_gradient(node, needed)
    )


def is_over(node: Node, serial: int, since: Mapping[Node, float]) -> bool:
    """Whether what a node shows was written over after an operation of this number."""
    while serial >= since.get(node, 0):
        if node.op not in SHOWN:
            return False
        (node,) = node.inputs
    return True


def reader_inside(node: Node, on_the_way: set[Node], since: Mapping[Node, float]) -> Node | None:
    """The same inside of a compiled function, one of whose results the node is.

    A value in it is written over where the input is that it stands for, or another of its results.
    """
    body = node.params["body"]
    made = [x for x in since if x.op == "region" and x.params["body"] is body]
    pairs = [
        *zip(node.inputs, body.inputs, strict=True),
        *((x, body.outputs[x.params["index"]]) for x in made if x.inputs == node.inputs),
    ]
    inside = {inner: math.inf for x, inner in pairs if node.serial < since.get(x, 0)}
    wanted = [inner for x, inner in pairs[: len(node.inputs)] if x in on_the_way]
    root = body.outputs[node.params["index"]]
    return reader_of_overwritten([root], wanted, inside) if inside else None
