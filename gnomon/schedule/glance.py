"""Readings of a node found from shapes alone, without index arithmetic.

Most nodes of a program are functions of tensors of their own shape, of one value per row, or of one
number. Everything else is left to gnomon/schedule/access.py, which handles all cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from gnomon.ir.node import Node, Shape
from gnomon.ir.sizes import hint


class Reading(NamedTuple):
    """A node that another reads: at the same element, once per row, or elsewhere.

    picked: read at positions that another tensor contains.
    """

    node: Node
    same: bool
    row: bool
    picked: bool = False

    def is_wide(self, size: int) -> bool:
        """Whether enough elements of it are read to cost memory traffic."""
        return self.picked or (hint(self.node.size) >= hint(size) and hint(self.node.size) > 1)


KnownReadings = Mapping[Node, Sequence[Reading]]
"""Readings of nodes that were analysed before."""


def glance(
    node: Node, transparent: Callable[[Node], bool], known: KnownReadings
) -> list[Reading] | None:
    """The nodes that a node reads below views and transparent nodes; None if shapes do not tell."""
    if node.op == "map":
        seen, shape = node.inputs, node.shape
    elif node.op == "reduce" and node.params["lanes"]:
        seen, shape = node.inputs, node.inputs[0].shape
    else:
        return None
    look = Glance(shape, transparent, known)
    parts = [look.at(x) for x in seen]
    if any(part is None for part in parts):
        return None
    return [reading for part in parts for reading in part or ()]


class Glance:
    """Finder of the readings of one node's operands, from their shapes."""

    def __init__(
        self, shape: Shape, transparent: Callable[[Node], bool], known: KnownReadings
    ) -> None:
        self.shape, self.transparent, self.known = shape, transparent, known
        self.size = prod(shape)
        self.inner = shape[-1] if shape else 1
        self.narrow = bool(shape) and self.inner == 1
        """Whether each row has a single element."""

    def at(self, x: Node) -> list[Reading] | None:
        """The readings behind one operand; None if shapes do not tell."""
        if self._is_number(x):
            return []
        if x.op in ("expand", "detach", "barrier") and self.transparent(x):
            return self.at(x.inputs[0])
        if x.shape == self.shape:
            return self._whole(x, same=True)
        if self.shape and x.shape == (*self.shape[:-1], 1):
            return self._whole(x, same=False)
        return self._single(x) if x.size == 1 else self._elsewhere(x)

    def _is_number(self, x: Node) -> bool:
        """Whether an operand takes no memory access: a constant, or an inlined iota."""
        return x.op == "const" or (x.op == "iota" and self.transparent(x))

    def _single(self, x: Node) -> list[Reading] | None:
        """The readings of an operand of one element, which all elements read; None if unknown."""
        if not self.transparent(x):
            return [self._only(x)]
        if x.op == "reshape":
            return self._single(x.inputs[0])
        if x.op != "map":
            return [] if self._is_number(x) else None
        elsewhere = (r for r in self.known[x] if not r.same)
        if any(r.row for r in elsewhere):
            return None
        return [self._only(r.node) if r.same else r for r in self.known[x]]

    def _only(self, x: Node) -> Reading:
        """The reading of a stored node of one element."""
        return Reading(x, self.size == 1, bool(self.shape) and self.size == self.inner)

    def _elsewhere(self, x: Node) -> list[Reading] | None:
        """The readings behind views of nodes that are read elsewhere, by their sizes; or None."""
        if self._is_number(x):
            return []
        if not self.transparent(x):
            found = [Reading(x, same=False, row=False)]
        elif x.op == "map":
            found = [Reading(r.node, same=False, row=False) for r in self.known[x]]
        else:
            parts = [self._elsewhere(y) for y in x.inputs]
            if None in parts:
                return None
            table, *rest = [part or [] for part in parts]
            if x.op == "gather":
                table = [r._replace(picked=True) for r in table]
            return [*table, *(r for part in rest for r in part)]
        rows = hint(self.size) // max(hint(self.inner), 1)
        fits = any(hint(r.node.size) in (hint(self.size), rows) for r in found)
        return None if fits else found

    def _whole(self, x: Node, same: bool) -> list[Reading] | None:
        """Readings behind an operand with a value for every element, or for every row."""
        reshaped = False
        while x.op == "reshape" and self.transparent(x):
            (x,), reshaped = x.inputs, True
        if self._is_number(x):
            return []
        if not self.transparent(x):
            return [self._one(x, same)]
        if x.op != "map":
            return self._elsewhere(x)
        found: list[Reading] = []
        for reading in self.known[x]:
            if reading.same:
                found.append(self._one(reading.node, same))
            elif reshaped or not same:
                return None
            else:
                found.append(reading)
        return found

    def _one(self, x: Node, same: bool) -> Reading:
        """The reading of a node at the element (`same`), or at the row."""
        return Reading(x, same or self.narrow, not same or self.narrow)
