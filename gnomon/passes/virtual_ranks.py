"""Divide rows that ranks cannot share equally: each rank computes several virtual ranks.

The program is divided over as many virtual ranks as the rows have leaves (decision 0052). A rank
computes its share of them, one after the other; the last rank may have fewer, and computes the last
leaf again without using it. For a sum it sends the nodes of the subtrees that every rank's share
consists of.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.dtypes import DType
from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ir.provenance import inherit, scope
from gnomon.ops.canonical import ROWS, leaves
from gnomon.ops.collectives import COLLECTIVES, all_gather
from gnomon.ops.joining import cat
from gnomon.ops.layouts import MeshLayout
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.placements import Split
from gnomon.ops.primitives import reshape
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_primitives import slice_
from gnomon.passes.localize import rank_name
from gnomon.passes.lower_collectives import fold_slices, side_by_side
from gnomon.passes.microbatch_loops import FOLDS

__all__ = ["shares_of", "virtual_ranks"]


def shares_of(graph: Graph, mesh: str, ranks: int, ordered: bool = True) -> int:
    """The number of equal shares of rows along a mesh axis: one per rank, or one per leaf.

    ordered: whether sums keep their order; if not, ranks need only divide the rows, not their
    leaves.
    """
    rows: set[int] = set()
    for x in graph:
        shared = x.op == "place" and x.params["stays"] and not x.params.get("own")
        layout: MeshLayout = x.params["layout"] if shared else ()
        rows |= {
            x.shape[each.axis]
            for name, _, each in layout
            if name == mesh and isinstance(each, Split)
        }
    counts = {
        ranks if (leaves(n, ROWS) if ordered else n) % ranks == 0 else leaves(n, ROWS) for n in rows
    }
    if len(counts) > 1:
        raise LayoutError(
            f"place: {ranks} ranks of mesh axis {mesh!r} share rows of several sizes, "
            f"{sorted(rows)}, that they do not divide alike. Use as many rows in all."
        )
    return counts.pop() if counts else ranks


def virtual_ranks(graph: Graph, mesh: str, virtual: int, ranks: int) -> Graph:
    """Turn a program of a number of virtual ranks into one rank's program."""
    return VirtualRanks(graph, mesh, virtual, ranks).run()


class VirtualRanks:
    """Rebuilder of a program, where each node has an image for each virtual rank of a rank."""

    def __init__(self, graph: Graph, mesh: str, virtual: int, ranks: int) -> None:
        self.graph, self.mesh, self.virtual, self.ranks = graph, mesh, virtual, ranks
        self.arena = Arena()
        self.share = -(-virtual // ranks)
        """The number of virtual ranks per rank."""
        self.images: dict[Node, list[Node]] = {}

    def run(self) -> Graph:
        """The rebuilt program."""
        own = rank_name(self.mesh)
        inputs: list[Node] = []
        for leaf in self.graph.inputs:
            with inherit(leaf.sites):
                inputs.append(self.arena.input(leaf.shape, leaf.dtype, leaf.params["name"]))
            self.images[leaf] = [inputs[-1]] * self.share
            if leaf.params["name"] == own:
                self.images[leaf] = self.numbers = [self.number(inputs[-1], k) for k in self.each]
        before = scope.sites
        try:
            for node in self.graph:
                if node not in self.images:
                    scope.sites = node.sites
                    self.images[node] = self.image(node)
        finally:
            scope.sites = before
        return Graph(inputs, [self.images[x][0] for x in self.graph.outputs])

    @property
    def each(self) -> range:
        """The numbers of a rank's virtual ranks, from 0."""
        return range(self.share)

    def number(self, rank: Node, k: int) -> Node:
        """The number of a rank's k-th virtual rank; the last one's if the rank has fewer."""
        number = elementwise("add", elementwise("mul", rank, self.share), k)
        return elementwise("minimum", number, self.virtual - 1)

    def image(self, node: Node) -> list[Node]:
        """The images of a node for each virtual rank of this rank; the same one if none differ."""
        read = [self.images[x] for x in node.inputs]
        if node.op in COLLECTIVES and node.params["mesh"] == self.mesh:
            return self.together(node, read[0])
        if self.share == 1:
            return [self.arena.with_inputs(node, tuple([x for (x,) in read]))]
        if all(x is parts[0] for parts in read for x in parts):
            return [self.arena.with_inputs(node, tuple([p[0] for p in read]))] * self.share
        return [self.arena.with_inputs(node, tuple([p[k] for p in read])) for k in self.each]

    def together(self, node: Node, parts: Sequence[Node]) -> list[Node]:
        """The results of a collective for each virtual rank of this rank."""
        p = node.params
        if node.op in ("all_reduce", "reduce_scatter"):
            whole = self.folded(parts, p["monoid"], p["ordered"])
        else:
            axis = p["axis"] if node.op == "all_gather" else p["joined"]
            whole = side_by_side(self.gathered(parts, self.virtual), axis)
        if node.op in ("all_reduce", "all_gather"):
            return [whole] * self.share
        return [self.stretch(whole, p["axis"], k) for k in self.each]

    def folded(self, parts: Sequence[Node], monoid: str, ordered: bool) -> Node:
        """The fold over all virtual ranks, of which each rank folds its own before the message."""
        size = self.share & -self.share
        nodes = [tree(parts[k : k + size], monoid) for k in range(0, self.share, size)]
        return fold_slices(self.gathered(nodes, self.virtual // size), monoid, ordered)

    def gathered(self, parts: Sequence[Node], count: int) -> Node:
        """The parts of all ranks along a new first axis, cut to `count` of them."""
        rows = [reshape(x, (1, *x.shape)) for x in parts]
        every = all_gather(cat(rows, 0) if len(rows) > 1 else rows[0], 0, self.mesh, self.ranks)
        return slice_(every, ((0, count, 1), *((0, n, 1) for n in every.shape[1:])))

    def stretch(self, whole: Node, axis: int, k: int) -> Node:
        """The part of an axis that belongs to this rank's k-th virtual rank."""
        out, size = LETTERS[: whole.rank], whole.shape[axis] // self.virtual
        table, index = out.replace(out[axis], "z"), out[axis]
        return gather(f"{table},{index}->{out}", whole, self.places(size, self.numbers[k]))

    def places(self, size: int, number: Node) -> Node:
        """The positions along an axis of the elements of a virtual rank."""
        kind: DType = number.dtype
        here = self.arena.node("iota", (), size=size, dtype=kind)
        return elementwise("add", here, cast(elementwise("mul", number, size), kind))


def tree(parts: Sequence[Node], monoid: str) -> Node:
    """Fold parts by a perfect binary tree, older with newer ones."""
    level = list(parts)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [elementwise(FOLDS[monoid], older, newer) for older, newer in pairs]
    return level[0]
