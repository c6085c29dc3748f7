"""Give gradients the layouts of their values, where some values are each rank's own.

A gradient that varies counts as replicated where it meets others that are split. The stretch of it
that a rank then takes must be that of the value, by its type (choose.py), and not that of the other
readers' gradients. A value that varies has a gradient that is whole on each rank: no rank continues
with another's stretch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.ir.node import Graph, Node
from gnomon.ops.layouts import LAYOUTS, axes_of, is_constant, place, rows_of
from gnomon.ops.placements import REPLICATED, VARYING, Placement, Split
from gnomon.passes.choose import types
from gnomon.passes.gradient_paths import GradientPaths
from gnomon.passes.layout import NETWORK, MeshAxis
from gnomon.passes.localize import is_alike
from gnomon.passes.several_layouts import in_several_layouts
from gnomon.passes.shard import open_up
from gnomon.settings import current

__all__ = ["GradientLayouts"]


class GradientLayouts:
    """The types of the values whose gradients are asked for, along the axes of a mesh."""

    def __init__(self, paths: GradientPaths) -> None:
        self.mesh = paths.mesh
        ordered = current().numerics != "fast"
        self.passed_through: set[Node] = in_several_layouts(paths) if ordered else set()
        """Layout nodes whose gradients are summed at the value whose layout they are."""
        self.kinds: dict[str, dict[Node, Placement]] = {}
        self.own: dict[str, set[Node]] = {}
        """Mesh axis -> replicated values whose gradient each rank has for itself."""
        if any(map(mixes, paths.nodes)):
            values = [x for x in paths.nodes if axes_of(x)]
            self.kinds = types_of(paths.nodes, values, self.mesh)
            passed = [x for x in reversed(paths.nodes) if x in paths.on_the_way]
            for name, kinds in self.kinds.items():
                self.own[name] = with_own_gradients(passed, kinds, paths)

    def as_gathered(self, gs: Mapping[Node, Node]) -> Mapping[Node, Node]:
        """A call's results, rebuilt to read whole what they read split, with their gradients.

        Its gradient reads it whole too: a product with the split value would be split, and each
        rank's stretch would be computed from that rank's own values.
        """
        (node, *_) = gs
        whole: dict[int, Node] = {}
        for name, kinds in self.kinds.items():
            if kinds.get(node) != VARYING or node.op in LAYOUTS:
                continue
            for k, x in enumerate(node.inputs):
                if isinstance(kinds.get(x), Split):
                    whole[k] = place(whole.get(k, x), ((name, self.mesh[name], REPLICATED),))
        if not whole:
            return gs
        inputs = tuple(whole.get(k, x) for k, x in enumerate(node.inputs))
        return {x.arena.with_inputs(x, inputs): g for x, g in gs.items()}

    def placed(self, g: Node, reader: Node | None, x: Node) -> Node:
        """The gradient that one reader gives x, moved to x's layout where it is each rank's own."""
        for name, kinds in self.kinds.items():
            kind, n = kinds.get(x), self.mesh[name]
            above = None if reader is None else kinds.get(reader, VARYING)
            if kind == VARYING and isinstance(above, Split):
                g = place(g, ((name, n, REPLICATED),), pins=True)
            elif x in self.own[name] and name not in rows_of(g):
                # what varies gives a gradient that is whole already, but a part that is read
                is_whole = above == VARYING and reader is not None and reader.op not in LAYOUTS
                g = g if is_whole else place(g, ((name, n, REPLICATED),), only="split")
            elif isinstance(kind, Split) and name not in rows_of(x):
                # behind it a rank's own value meets the gradient, or another part of it does
                own = mixes(x) or any(kinds.get(y) == VARYING for y in x.inputs)
                layout = ((name, n, kind),)
                g = place(g, layout, pins=True) if own else g
                g = g if own else place(g, layout, only="varying")
        return g


def with_own_gradients(
    nodes: Sequence[Node], kinds: Mapping[Node, Placement], paths: GradientPaths
) -> set[Node]:
    """The nodes, among these with readers first, whose gradients are each rank's own.

    A varying value, such as any plain tensor, has such a gradient, and passes it on to replicated
    values and pending sums. A split value has one gradient, of which each rank has a stretch.
    """
    found: set[Node] = set()
    for node in nodes:
        kind = kinds.get(node, VARYING)
        if kind == VARYING and node.inputs:
            found.add(node)
        if kind == VARYING or node in found:
            found.update(x for x in paths.predecessors(node) if not isinstance(kinds.get(x), Split))
    return found


def mixes(node: Node) -> bool:
    """Whether a node combines a plain value of each rank with a value sharded over a mesh."""
    if node.op in LAYOUTS or not axes_of(node):
        return False
    return any(not axes_of(x) and not is_constant(x) for x in node.inputs)


def types_of(
    nodes: Sequence[Node], values: Sequence[Node], mesh: Mapping[str, int]
) -> dict[str, dict[Node, Placement]]:
    """The types of `values` among nodes, for each mesh axis."""
    leaves = [x for x in nodes if x.op == "input"]
    held = [REPLICATED if is_alike(x) or is_constant(x) else VARYING for x in leaves]
    graph = open_up(Graph(leaves, values))
    found: dict[str, dict[Node, Placement]] = {}
    for name, ranks in mesh.items():
        ordered = current().numerics != "fast"
        across = MeshAxis(name, ranks, NETWORK, ordered, frozenset(mesh) - {name})
        kinds = types(graph, across, dict(zip(graph.inputs, held, strict=True)))
        found[name] = {x: kinds[y] for x, y in zip(values, graph.outputs, strict=True)}
    return found
