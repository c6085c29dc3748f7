"""Collectives as primitives: operations that the ranks along one mesh axis do together.

An optional second input is the collective that the same ranks ran before: its value is not read.
Each node names the mesh axis and its number of ranks, and nothing about processes or wires: that is
gnomon/runtime/comm. Gradients are those of the sum over ranks of their programs' results. Sums are
computed as a perfect binary tree in rank order, unless `ordered` is False.
"""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import DType
from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Node, Primitive, Shape, Signature, primitive
from gnomon.ops.layouts import Unit
from gnomon.ops.primitives import letters


class Collective(Primitive):
    """Base of collectives: one input is read, others only order it; no value on one machine."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return inputs[0].shape, inputs[0].dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        places: list[int] = [node.params[k] for k in ("axis", "joined") if k in node.params]
        before = [[None] * x.rank for x in node.inputs[1:]]
        return Signature([names, *before], names, whole=[names[k] for k in places])

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        made = self.back(node, g)
        if made is not None and node.params["mesh"] in made.arena.latest:
            made.arena.latest[node.params["mesh"]] = made
        return (made, *(None for _ in node.inputs[1:]))

    def back(self, node: Node, g: Node) -> Node | None:
        """The gradient of the input that is read, given that of the result."""
        raise NotImplementedError(f"{self.name} has no gradient")

    def value(self, node: Node, *inputs: Any) -> Any:
        raise AssertionError(f"{self.name}: ranks do this together; one rank has no value for it")


@primitive("all_reduce")
class AllReduce(Collective):
    """The fold of every rank's x, on every rank."""

    def back(self, node: Node, g: Node) -> Node | None:
        assert node.params["monoid"] == "add", "all_reduce: only a sum has a gradient"
        return g.arena.node("all_reduce", (g, *latest(g.arena, node.params["mesh"])), **node.params)


@primitive("all_gather")
class AllGather(Collective):
    """Every rank's x, concatenated along an axis, on every rank."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        x, axis = inputs[0], int(params["axis"])
        return resized(x.shape, axis, x.shape[axis] * params["ranks"]), x.dtype

    def back(self, node: Node, g: Node) -> Node | None:
        p = node.params
        after = latest(g.arena, p["mesh"])
        return reduce_scatter(g, p["axis"], p["mesh"], p["ranks"], after=after)


@primitive("reduce_scatter")
class ReduceScatter(Collective):
    """The fold of every rank's x, of which each rank keeps its part of an axis."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        x, axis = inputs[0], params["axis"]
        return resized(x.shape, axis, part_of("reduce_scatter", x.shape, axis, params)), x.dtype

    def back(self, node: Node, g: Node) -> Node | None:
        assert node.params["monoid"] == "add", "reduce_scatter: only a sum has a gradient"
        p = node.params
        return all_gather(g, p["axis"], p["mesh"], p["ranks"], latest(g.arena, p["mesh"]))


@primitive("all_to_all")
class AllToAll(Collective):
    """Cut x along `axis`, send each rank its part, and concatenate the parts along `joined`."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        x, axis, joined = inputs[0], params["axis"], int(params["joined"])
        shape = resized(x.shape, axis, part_of("all_to_all", x.shape, axis, params))
        return resized(shape, joined, shape[joined] * params["ranks"]), x.dtype

    def back(self, node: Node, g: Node) -> Node | None:
        p = node.params
        after = latest(g.arena, p["mesh"])
        return all_to_all(g, p["joined"], p["axis"], p["mesh"], p["ranks"], after)


@primitive("permute_ranks")
class PermuteRanks(Collective):
    """The x of another rank: the one `shift` places before, around the ring."""

    def back(self, node: Node, g: Node) -> Node | None:
        p = node.params
        return permute_ranks(g, -p["shift"], p["mesh"], p["ranks"])


COLLECTIVES = frozenset(
    {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute_ranks"}
)
TRANSFERS = frozenset({"gather_ranks", "exchange_ranks", "fold_ranks", "send_ranks", "shift_ranks"})
"""The collectives of the backend, to which all others are lowered (gnomon/ops/transfers.py)."""
MEETINGS = COLLECTIVES | TRANSFERS
"""All collectives, of programs and of the backend."""


After = tuple[Node, ...]
"""Earlier collectives of the same ranks, whose order alone counts; may be empty."""


def latest(arena: Arena, mesh: str) -> After:
    """The latest collective of a group whose order counts; () if there is none."""
    found = arena.latest.get(mesh)
    return () if found is None else (found,)


def resized(shape: Shape, axis: int, size: int) -> Shape:
    """A shape with another size along one axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def part_of(op: str, shape: Shape, axis: int, params: dict[str, Any]) -> int:
    """The size of one rank's part of an axis; raises LayoutError if ranks do not divide it."""
    if shape[axis] % params["ranks"]:
        raise LayoutError(
            f"{op}: {params['ranks']} ranks of mesh axis {params['mesh']!r} do not divide axis "
            f"{axis} of {shape}. Split another axis."
        )
    return shape[axis] // params["ranks"]


def all_reduce(
    x: Node,
    mesh: str,
    ranks: int,
    monoid: str = "add",
    *,
    ordered: bool = True,
    after: After = (),
    **rows: int,
) -> Node:
    """The fold of every rank's x, on every rank.

    rows: the number of rows of all ranks that it is a sum over, if ranks must agree on it.
    """
    params = {"mesh": mesh, "ranks": ranks, "monoid": monoid, "ordered": ordered}
    return x.arena.node("all_reduce", (x, *after), **params, **rows)


def all_gather(
    x: Node, axis: int, mesh: str, ranks: int, after: After = (), **unit: Unit | str
) -> Node:
    """Every rank's x, concatenated along an axis, on every rank.

    unit: the unit whose parameters are gathered, and the pass that reads them.
    """
    return x.arena.node("all_gather", (x, *after), axis=axis, mesh=mesh, ranks=ranks, **unit)


def reduce_scatter(
    x: Node,
    axis: int,
    mesh: str,
    ranks: int,
    monoid: str = "add",
    *,
    ordered: bool = True,
    after: After = (),
    **unit: Unit | int,
) -> Node:
    """The fold of every rank's x, of which each rank keeps its part of an axis.

    unit: the unit whose gradients are reduced; rows: as for all_reduce.
    """
    params = {"axis": axis, "mesh": mesh, "ranks": ranks, "monoid": monoid, "ordered": ordered}
    return x.arena.node("reduce_scatter", (x, *after), **params, **unit)


def all_to_all(x: Node, axis: int, joined: int, mesh: str, ranks: int, after: After = ()) -> Node:
    """Cut x along `axis`, send each rank its part, and concatenate the parts along `joined`."""
    return x.arena.node("all_to_all", (x, *after), axis=axis, joined=joined, mesh=mesh, ranks=ranks)


def permute_ranks(x: Node, shift: int, mesh: str, ranks: int) -> Node:
    """The x of the rank `shift` places before this one, around the ring."""
    return x.arena.node("permute_ranks", (x,), shift=shift % ranks, mesh=mesh, ranks=ranks)
