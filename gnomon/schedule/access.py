"""Access through views: the index, in a node's loops, of each element that it reads below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Node, Shape, topological
from gnomon.ir.symbolic import flatten, loop_range, number, split
from gnomon.ops.index_primitives import is_index
from gnomon.schedule.glance import Reading
from gnomon.schedule.kernel import load
from gnomon.schedule.lower import Index, Lowering


def domain_of(node: Node) -> Shape:
    """The sizes of a node's loops: its own shape; for a fold in lanes, the shape of its input."""
    return node.inputs[0].shape if node.op == "reduce" and node.params["lanes"] else node.shape


def ranges_for(arena: Arena, shape: Sequence[int], stem: str = "r") -> Index:
    """Create a range per axis; the index of an axis of size 1 is 0."""
    return tuple(
        number(arena, 0) if n == 1 else loop_range(arena, n, f"{stem}{k}")
        for k, n in enumerate(shape)
    )


_readings: dict[tuple[Any, ...], list[tuple[int, bool, bool, bool]]] = memo({})
"""Cache of readings by the key that `below` gives, with nodes by their numbers in it."""


def readings(node: Node, transparent: Callable[[Node], bool]) -> list[Reading]:
    """The nodes that a node reads below views and transparent nodes; cached for equal layers."""
    rows, places = below(node, transparent)
    if rows not in _readings:
        made = readings_of(node, transparent)
        _readings[rows] = [(places[r.node], r.same, r.row, r.picked) for r in made]
    nodes = list(places)
    return [Reading(nodes[k], *fields) for k, *fields in _readings[rows]]


def below(
    node: Node, transparent: Callable[[Node], bool]
) -> tuple[tuple[Any, ...], dict[Node, int]]:
    """A key of the readings of a node, and the number in it of each node down to stored ones."""
    rows: list[tuple[Any, ...]] = []
    places: dict[Node, int] = {}

    def number_of(x: Node) -> int:
        if x not in places:
            seen = x is node or x.op == "const" or transparent(x)
            row = (x.kind, *map(number_of, x.inputs)) if seen else (x.shape, x.dtype.name)
            rows.append(row)
            places[x] = len(places)
        return places[x]

    number_of(node)
    return tuple(rows), places


def readings_of(node: Node, transparent: Callable[[Node], bool]) -> list[Reading]:
    """The readings of a node, found by lowering it over its loops."""
    arena, shape = Arena(), domain_of(node)
    found: list[Reading] = []
    index = ranges_for(arena, shape)
    here, row = flatten(arena, index, shape), flatten(arena, index[:-1], shape[:-1])
    size = 1
    for n in shape:
        size *= n

    def read(x: Node, at: Index, guard: Node | None, fill: object) -> Node | None:
        if x is node or transparent(x) or x.op == "const":
            return None
        place = flatten(arena, at, x.shape)
        same, once = (
            place is here and x.size == size,
            place is row and x.size * shape[-1] == size if shape else False,
        )
        picked = any(atom.op in ("load", "checked") for atom in topological([place]))
        found.append(Reading(x, guard is None and same, guard is None and bool(once), picked))
        return load(arena, len(found), x.dtype, place, guard, fill)

    lower = Lowering(arena, read, turning(arena, node, index))
    lower.at(node, index[:-1] if domain_of(node) is not node.shape else index)
    return found


def turning(arena: Arena, node: Node, index: Index) -> dict[Node, Node]:
    """The loop range of the axis that a reduction folds; empty for other nodes."""
    if node.op != "reduce":
        return {}
    axis: int = node.params["axis"]
    if node.params["lanes"]:
        return {node: index[axis]}
    return {node: loop_range(arena, node.inputs[0].shape[axis], "fold")}


@dataclass(frozen=True)
class Strided:
    """Elements of a stored node at offset + sum of stride * index, per axis of the viewer."""

    node: Node
    offset: int
    strides: tuple[int, ...]


_strides: dict[tuple[Any, ...], tuple[int, tuple[int, ...]] | None] = memo({})
"""Cache of offsets and strides by the steps of a chain of views, which equal layers share."""


def strided(view: Node) -> Strided | None:
    """The node that a chain of views reads by strides, with these; None if it reads otherwise."""
    steps: list[int] = []
    node = view
    # a pad below other views is what is stored: they read it by strides
    while is_index(node) and node.op != "gather" and (node is view or node.op != "pad"):
        steps.append(node.kind)
        (node,) = node.inputs
    if node.op == "const":
        return None
    key = (node.shape, *steps)
    if key not in _strides:
        _strides[key] = strides_of(view, node)
    found = _strides[key]
    return None if found is None else Strided(node, *found)


def strides_of(view: Node, below: Node) -> tuple[int, tuple[int, ...]] | None:
    """The offset and strides by which a chain of views reads `below`; None if there are none."""
    arena = Arena()
    found: list[tuple[Node, Node | None]] = []
    index = ranges_for(arena, view.shape)

    def read(x: Node, at: Index, guard: Node | None, fill: object) -> Node | None:
        if x is not below:
            return None
        found.append((flatten(arena, at, x.shape), guard))
        return load(arena, 0, x.dtype, found[-1][0], guard, fill)

    Lowering(arena, read, {}).at(view, index)
    if not found:
        return None
    place, guard = found[0]
    terms, offset = split(place)
    if guard is not None or any(atom not in index for atom in terms):
        return None
    return offset, tuple([terms.get(i, 0) if i.op == "range" else 0 for i in index])
