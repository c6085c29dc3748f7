"""Collectives as primitives: what the ranks along one mesh axis do together.

Each node says the mesh axis's name and how many ranks it has, nothing about processes or wires:
that is gnomon/runtime/comm. Gradients are those of the sum over ranks of what their programs give.
Sums are taken as a perfect binary tree in rank order, unless `ordered` is False.
"""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import DType
from gnomon.errors import LayoutError
from gnomon.ir.node import Node, Primitive, Shape, Signature, primitive
from gnomon.ops.primitives import letters


class Collective(Primitive):
    """What all of them share: one input, and no value on a single machine."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return inputs[0].shape, inputs[0].dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        places = [node.params[k] for k in ("axis", "joined") if k in node.params]
        return Signature([names], names, whole=[names[k] for k in places])

    def value(self, node: Node, *inputs: Any) -> Any:
        raise AssertionError(f"{self.name}: ranks do this together; one rank has no value for it")


@primitive("all_reduce")
class AllReduce(Collective):
    """The fold of every rank's x, on every rank."""

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        assert node.params["monoid"] == "add", "all_reduce: only a sum has a gradient"
        return (node.arena.node("all_reduce", (g,), **node.params),)


@primitive("all_gather")
class AllGather(Collective):
    """Every rank's x side by side along an axis, on every rank."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,), axis = inputs, params["axis"]
        return resized(x.shape, axis, x.shape[axis] * params["ranks"]), x.dtype

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        return (reduce_scatter(g, node.params["axis"], node.params["mesh"], node.params["ranks"]),)


@primitive("reduce_scatter")
class ReduceScatter(Collective):
    """The fold of every rank's x, of which each rank keeps its part of an axis."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,), axis = inputs, params["axis"]
        return resized(x.shape, axis, part_of("reduce_scatter", x.shape, axis, params)), x.dtype

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        assert node.params["monoid"] == "add", "reduce_scatter: only a sum has a gradient"
        return (all_gather(g, node.params["axis"], node.params["mesh"], node.params["ranks"]),)


@primitive("all_to_all")
class AllToAll(Collective):
    """Cut x along `axis`, send each rank its part, and join what comes along `joined`."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,), axis, joined = inputs, params["axis"], params["joined"]
        shape = resized(x.shape, axis, part_of("all_to_all", x.shape, axis, params))
        return resized(shape, joined, shape[joined] * params["ranks"]), x.dtype

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        p = node.params
        return (all_to_all(g, p["joined"], p["axis"], p["mesh"], p["ranks"]),)


@primitive("permute_ranks")
class PermuteRanks(Collective):
    """The x of another rank: the one `shift` places before, around the ring."""

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        p = node.params
        return (permute_ranks(g, -p["shift"], p["mesh"], p["ranks"]),)


COLLECTIVES = frozenset(
    {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute_ranks"}
)


def resized(shape: Shape, axis: int, size: int) -> Shape:
    """A shape with another size along one axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def part_of(op: str, shape: Shape, axis: int, params: dict[str, Any]) -> int:
    """The size of one rank's part of an axis."""
    if shape[axis] % params["ranks"]:
        raise LayoutError(
            f"{op}: {params['ranks']} ranks of mesh axis {params['mesh']!r} do not divide axis "
            f"{axis} of {shape}. Split another axis."
        )
    return shape[axis] // params["ranks"]


def all_reduce(
    x: Node, mesh: str, ranks: int, monoid: str = "add", *, ordered: bool = True
) -> Node:
    """The fold of every rank's x, on every rank."""
    return x.arena.node("all_reduce", (x,), mesh=mesh, ranks=ranks, monoid=monoid, ordered=ordered)


def all_gather(x: Node, axis: int, mesh: str, ranks: int) -> Node:
    """Every rank's x side by side along an axis, on every rank."""
    return x.arena.node("all_gather", (x,), axis=axis, mesh=mesh, ranks=ranks)


def reduce_scatter(
    x: Node, axis: int, mesh: str, ranks: int, monoid: str = "add", *, ordered: bool = True
) -> Node:
    """The fold of every rank's x, of which each rank keeps its part of an axis."""
    return x.arena.node(
        "reduce_scatter", (x,), axis=axis, mesh=mesh, ranks=ranks, monoid=monoid, ordered=ordered
    )


def all_to_all(x: Node, axis: int, joined: int, mesh: str, ranks: int) -> Node:
    """Cut x along `axis`, send each rank its part, and join what comes along `joined`."""
    return x.arena.node("all_to_all", (x,), axis=axis, joined=joined, mesh=mesh, ranks=ranks)


def permute_ranks(x: Node, shift: int, mesh: str, ranks: int) -> Node:
    """The x of the rank `shift` places before, around the ring."""
    return x.arena.node("permute_ranks", (x,), shift=shift % ranks, mesh=mesh, ranks=ranks)
