"""Values that are read in several layouts: whole or split, in a mesh or plain.

In a program on one process such a value is one node, whose gradient adds up all readers in order.
Over a mesh each layout is a node, and would add up its own readers first, with other last bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.ir.node import Node
from gnomon.ops.layouts import LAYOUTS
from gnomon.ops.placements import REPLICATED
from gnomon.passes.gradient_paths import GradientPaths

__all__ = ["in_several_layouts"]


def in_several_layouts(paths: GradientPaths) -> set[Node]:
    """The nodes through which gradients pass on to the value that is read in several layouts."""
    readers: dict[Node, list[Node]] = {}
    for node in paths.nodes:
        if node in paths.on_the_way and not paths.is_passing(node):
            for x in map(paths.summed_at, node.inputs):
                readers.setdefault(x, []).append(node)
    read: dict[Node, list[Node]] = {}
    for x, found in readers.items():
        if not all(is_layout(node, paths, readers) for node in found):
            read.setdefault(source_of(x, paths), []).append(x)
    passed: set[Node] = set()
    for layouts in read.values():
        for x in layouts if len(layouts) > 1 else ():
            while (source := layout_source(x, paths)) is not None:
                inner = paths.summed_at(x.inputs[0])
                passed.update((x,) if source is inner else (x, inner))
                x = source
    return passed


def is_layout(node: Node, paths: GradientPaths, readers: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether a node only changes the layout of a value, or collects such changes of one."""
    joined = node.op == "to_local" and node in readers
    joined = joined and all(layout_source(x, paths) is not None for x in readers[node])
    return joined or layout_source(node, paths) is not None


def source_of(x: Node, paths: GradientPaths) -> Node:
    """The value of which a node is a layout, over any number of changes; x if it is none."""
    while (source := layout_source(x, paths)) is not None:
        x = source
    return x


def layout_source(x: Node, paths: GradientPaths) -> Node | None:
    """The value whose layout a node changes, or None if it changes none."""
    if not is_free(x, paths):
        return None
    inner = paths.summed_at(x.inputs[0])
    if x.op == "place" or all(each == REPLICATED for *_, each in x.params["layout"]):
        return inner
    parts = x.op == "from_local" and inner.op == "to_local" and is_free(inner, paths)
    joined = parts and inner.params["layout"] == x.params["layout"]
    return paths.summed_at(inner.inputs[0]) if joined else None


def is_free(x: Node, paths: GradientPaths) -> bool:
    """Whether a node is a change of layout whose gradient is not wanted."""
    if x.op not in LAYOUTS or x.watch or x in paths.wanted or x.params.get("stays"):
        return False
    return x.op == "place" or not any(map(x.params.get, ("back", "share", "shares")))
