"""Rewrite a global node as nodes of one rank's program, and move values between placements.

Parts have the same shape on every rank: only the rank's number differs, a runtime input from which
offsets follow. The strategy of each node was chosen by shard.py.
"""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import DType, bool_, int64
from gnomon.ir.node import NUMBER, Arena, Graph, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.collectives import all_gather, all_reduce, all_to_all, reduce_scatter
from gnomon.ops.external import parts_of_results
from gnomon.ops.layouts import ALONE, Unit
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.placements import Partial, Placement, Replicated, Split
from gnomon.ops.primitives import split_spec
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_primitives import slice_
from gnomon.passes.layout import MeshAxis, local_shape
from gnomon.passes.legalize import aligned_to
from gnomon.passes.strategies import Strategy, folded_letters


class Locals:
    """Builder of one rank's nodes in an arena; `rank` is the input with the rank's number."""

    def __init__(self, arena: Arena, across: MeshAxis) -> None:
        self.arena, self.across = arena, across
        self.rank = arena.input((), int64, rank_name(across.name))

    def build(self, node: Node, strategy: Strategy, inputs: tuple[Node, ...]) -> Node:
        """Build one rank's node from the parts of its inputs, by the chosen strategy."""
        if strategy.rule == "lookup":
            return self.lookup(node, *inputs)
        if strategy.rule == "rows":
            return self.rows(node, *inputs)
        if strategy.rule == "boundary":
            return self.boundary(node, *inputs)
        if node.op == "iota" and isinstance(strategy.given, Split):
            return self.positions(node.shape[0] // self.across.ranks, node.dtype)
        changed = local_params(node, strategy, self.across)
        if not changed:
            return self.arena.with_inputs(node, inputs)
        return self.arena.node(node.op, inputs, **{**node.params, **changed})

    def boundary(self, node: Node, x: Node) -> Node:
        """The node over the mesh axes that are left to divide; x itself after the last one."""
        rest = tuple(each for each in node.params["layout"] if each[0] != self.across.name)
        return self.arena.node(node.op, (x,), **{**node.params, "layout": rest}) if rest else x

    def move(
        self, x: Node, have: Placement, want: Placement, unit: Unit = ALONE, rows: int = 0
    ) -> Node:
        """Change the placement of x; values moved for one unit are moved together.

        rows: the number of rows that a sum is over, if ranks must agree on it.
        """
        name, ranks, ordered = self.across.name, self.across.ranks, self.across.ordered
        together: dict[str, Unit] = {} if unit == ALONE else {"unit": unit}
        over: dict[str, Any] = {"rows": rows} if rows else {}
        match have, want:
            case _ if have == want:
                return x
            case Replicated(), Split(axis):
                return self.own_part(x, axis)
            case Split(axis), Replicated():
                return all_gather(x, axis, name, ranks, (), **together)
            case Split(joined), Split(axis):
                return all_to_all(x, axis, joined, name, ranks)
            case Partial(monoid), Replicated():
                return all_reduce(x, name, ranks, monoid, ordered=ordered, **over)
            case Partial(monoid), Split(axis):
                return reduce_scatter(
                    x, axis, name, ranks, monoid, ordered=ordered, after=(), **together, **over
                )
            case _:
                raise AssertionError(f"shard: no way from {have} to {want}")

    def offset(self, size: int, dtype: DType) -> Node:
        """The position of this rank's first element along an axis, of which a rank has `size`."""
        return cast(elementwise("mul", self.rank, size), dtype)

    def positions(self, size: int, dtype: DType) -> Node:
        """The positions along an axis of the elements of this rank's part."""
        here = self.arena.node("iota", (), size=size, dtype=dtype)
        return elementwise("add", here, self.offset(size, dtype))

    def own_part(self, x: Node, axis: int) -> Node:
        """The rank's part, along an axis, of a value that every rank has whole."""
        out = LETTERS[: x.rank]
        table = out.replace(out[axis], "z")
        size = x.shape[axis] // self.across.ranks
        return gather(f"{table},{out[axis]}->{out}", x, self.positions(size, int64))

    def lookup(self, node: Node, table: Node, index: Node) -> Node:
        """Look up rows in the rank's part of a table; -0.0 for others, which changes no sum."""
        names, own, out = split_spec(node.params["spec"])
        letter = next(c for c in names if c not in out)
        size = table.shape[names.index(letter)]
        place, here = self.in_part(index, size)
        rows = gather(node.params["spec"], table, where(here, place, 0))
        nothing = -0.0 if node.dtype.is_floating_point else 0
        return where(aligned_to(here, own, out), rows, nothing)

    def rows(self, node: Node, values: Node, index: Node) -> Node:
        """The rank's part of a scatter's result; other ranks' rows go to a row that is cut off."""
        own, _, out = split_spec(node.params["spec"])
        axis = next(k for k, c in enumerate(out) if c not in own)
        size = node.shape[axis] // self.across.ranks
        place, here = self.in_part(index, size)
        params = {**node.params, "size": size + 1}
        full = self.arena.node("scatter", (values, where(here, place, size)), **params)
        bounds = tuple((0, size if k == axis else n, 1) for k, n in enumerate(full.shape))
        return slice_(full, bounds)

    def in_part(self, index: Node, size: int) -> tuple[Node, Node]:
        """Positions relative to this rank's first row, and whether they are in this rank's part."""
        place = elementwise("sub", index, self.offset(size, index.dtype))
        above, below = elementwise("ge", place, 0), elementwise("lt", place, size)
        here = elementwise("and", above, below)
        assert here.dtype is bool_, "whether a row is here is a truth value"
        return place, here


RANK = "rank:"
"""The prefix of names of inputs that hold a rank's number."""


def rank_name(axis: str) -> str:
    """The name of the input that holds a rank's number along a mesh axis."""
    return f"{RANK}{axis}"


def mesh_axis_of(rank: Node) -> str:
    """The mesh axis whose number an input holds."""
    return rank.params["name"].removeprefix(RANK)


def ranks_of(graph: Graph) -> list[Node]:
    """The inputs of a rank's program that are its numbers along mesh axes: the last ones."""
    return [x for x in graph.inputs if is_rank(x)]


def is_rank(x: Node) -> bool:
    """Whether an input is a rank's number along a mesh axis."""
    return x.params["name"].startswith(RANK)


def is_alike(x: Node) -> bool:
    """Whether an input of a rank's program is the same on all ranks along other mesh axes."""
    return x.params["name"] == NUMBER or is_rank(x)


def local_params(node: Node, strategy: Strategy, across: MeshAxis) -> dict[str, Any]:
    """The parameters of a node that are others in one rank's program, since sizes are smaller."""
    given, ranks = strategy.given, across.ranks
    cut = any(isinstance(want, Split) for want in strategy.wanted)
    if isinstance(given, Partial) and "leaves" in node.params and cut:
        return {"leaves": local_leaves(node, strategy, across)}
    if not isinstance(given, Split):
        return {}
    if node.op in ("reshape", "expand"):
        return {"shape": local_shape(node.shape, given, ranks)}
    if node.op == "slice":
        bounds, axis = list(node.params["bounds"]), given.axis
        bounds[axis] = (0, node.shape[axis] // ranks, 1)
        return {"bounds": tuple(bounds)}
    if node.op == "external":
        return {"kinds": parts_of_results(node, given.axis, ranks)}
    return {}


def local_leaves(node: Node, strategy: Strategy, across: MeshAxis) -> int | tuple[int, ...]:
    """The leaves of one rank's share of a sum: a subtree's, or, unordered, a count that divides."""
    if node.op == "reduce":
        axis: int = node.params["axis"]
        return leaves_per_rank(node.params["leaves"], node.inputs[0].shape[axis], across)
    sizes, names = folded_letters(node)
    left = split_spec(node.params["spec"])[0]
    place = strategy.wanted[0]
    cut = left[place.axis] if isinstance(place, Split) else ""
    counts = zip(names, node.params["leaves"], strict=True)
    return tuple(leaves_per_rank(n, sizes[c], across) if c == cut else n for c, n in counts)


def leaves_per_rank(leaves: int, size: int, across: MeshAxis) -> int:
    """The leaves of one rank's part of an axis that is split over ranks."""
    if across.ordered and leaves % across.ranks == 0:
        return leaves // across.ranks
    return leaves if size // across.ranks % leaves == 0 else 1
