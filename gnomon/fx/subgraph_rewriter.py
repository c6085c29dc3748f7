"""Patterns of a graph that are replaced by others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnomon.errors import TraceError
from gnomon.fx.graph import Graph
from gnomon.fx.graph_module import GraphModule, attribute_at, set_at
from gnomon.fx.node import Node, map_arg
from gnomon.fx.tracer import symbolic_trace
from gnomon.nn.module import Module

__all__ = ["Match", "replace_pattern"]


@dataclass(frozen=True)
class Match:
    """A place where a pattern stood.

    anchor: the node whose value it gave. nodes_map: nodes of the pattern, and those they stood for.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable | GraphModule | Graph,
    replacement: Callable | GraphModule | Graph,
) -> list[Match]:
    """Replace each match of a pattern whose inner nodes have no other users; the matches, in order.

    The arguments of pattern and replacement correspond by position.

    >>> import gnomon as gn
    >>> traced = symbolic_trace(lambda x: gn.relu(x + 1) + 1)
    >>> len(replace_pattern(traced, lambda x: x + 1, lambda x: x - 1))
    2
    >>> traced(gn.ones(1))
    Tensor([-1.])
    """
    wanted, other = graph_of(pattern), graph_of(replacement)
    if isinstance(replacement, Module):
        take_attributes(gm, replacement, other)
    ends = wanted.output_node().all_input_nodes
    if len(ends) != 1:
        raise TraceError(f"replace_pattern: expected a pattern of one result: got {len(ends)}.")
    found: list[Match] = []
    taken: set[Node] = set()
    replaced: dict[Node, Node] = {}
    for node in [*gm.graph.nodes]:
        known: dict[Node, Node] = {}
        if node.op in ("placeholder", "output") or not stands_for(ends[0], node, known):
            continue
        inside = {x for p, x in known.items() if p.op != "placeholder"}
        if inside & taken or is_read_inside(inside, node):
            continue
        taken |= inside
        found.append(Match(node, known))
    for match in found:
        replace_one(gm.graph, match, wanted, other, replaced)
    gm.recompile()
    return found


def graph_of(program: Callable | GraphModule | Graph) -> Graph:
    """The graph of a function, or of what has one."""
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def take_attributes(gm: GraphModule, module: Module, graph: Graph) -> None:
    """Give a module what a graph reads of another one."""
    for node in graph.nodes:
        if node.op in ("call_module", "get_attr"):
            set_at(gm, node.target, attribute_at(module, node.target))


def stands_for(pattern: Any, value: Any, known: dict[Node, Node]) -> bool:
    """Whether a value matches a pattern; `known` maps the pattern's nodes to matched ones."""
    if isinstance(pattern, Node):
        if not isinstance(value, Node):
            return False
        if pattern in known:
            return known[pattern] is value
        known[pattern] = value
        if pattern.op == "placeholder":
            return True
        if (pattern.op, pattern.target) != (value.op, value.target):
            return False
        return stands_for(pattern.args, value.args, known) and stands_for(
            pattern.kwargs, value.kwargs, known
        )
    if type(pattern) is not type(value):
        return False
    if isinstance(pattern, (tuple, list)):
        pairs = zip(pattern, value, strict=False)
        return len(pattern) == len(value) and all(stands_for(p, x, known) for p, x in pairs)
    if isinstance(pattern, dict):
        same = pattern.keys() == value.keys()
        return same and all(stands_for(p, value[k], known) for k, p in pattern.items())
    return bool(pattern == value)


def is_read_inside(inside: set[Node], anchor: Node) -> bool:
    """Whether an inner node of a match has users outside of it."""
    return any(user not in inside for x in inside if x is not anchor for user in x.users)


def replace_one(
    graph: Graph, match: Match, wanted: Graph, other: Graph, replaced: dict[Node, Node]
) -> None:
    """Replace one match."""
    pairs = zip(
        wanted.find_nodes(op="placeholder"), other.find_nodes(op="placeholder"), strict=True
    )
    given: dict[Node, Any] = {}
    for ours, theirs in pairs:
        node = match.nodes_map.get(ours)
        while node in replaced:
            node = replaced[node]
        if node is not None:
            given[theirs] = node
    with graph.inserting_before(match.anchor):
        found = graph.graph_copy(other, given)
    ends: list[Node] = []
    map_arg(found, ends.append)
    match.anchor.replace_all_uses_with(ends[0])
    replaced[match.anchor] = ends[0]
    inside = {x for p, x in match.nodes_map.items() if p.op != "placeholder"}
    for node in reversed([x for x in graph.nodes if x in inside]):
        graph.erase_node(node)
