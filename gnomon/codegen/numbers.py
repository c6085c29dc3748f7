"""The numbers of a kernel, apart from all else: sizes, coefficients, counts of leaves, values.

Kernels that differ in nothing else have the same outline, and may share code that is given the
numbers when it runs (lifted.py). A kernel is a LoopKernel, or a description made of dataclasses.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from gnomon.codegen.lifted import is_lifted
from gnomon.codegen.machine import Machine
from gnomon.dtypes import DType, bool_, computed, float32, float64, int32, int64
from gnomon.ir.memo import digest, memo
from gnomon.ir.node import Node, row_of
from gnomon.ir.sizes import SymInt, agree, is_symbolic
from gnomon.ir.substitution import substituted
from gnomon.ir.symbolic import bounds, divisor_of, is_quotient
from gnomon.schedule.kernel import LoopKernel

NumberKey = tuple[Node, str, int]
"""A node, which of its numbers, and which part of that."""

NUMBERS = {"range": ("size",), "fold": ("leaves",), "checked": ("last",), "const": ("value",)}
"""Node -> its parameters that are numbers, beside those of affine ones."""


@dataclass(frozen=True)
class OpenKernel(LoopKernel):
    """A loop kernel with some numbers as runtime arguments, and the values of these."""

    lifted: Mapping[NumberKey, Any] | None = None

    @property
    def closed(self) -> LoopKernel:
        """The kernel with its own numbers."""
        return LoopKernel(**{f.name: getattr(self, f.name) for f in fields(LoopKernel)})


class KernelNumbers:
    """The numbers of a kernel, as its code reads them: constants or runtime arguments."""

    def __init__(self, kernel: LoopKernel) -> None:
        self.lifted = (kernel.lifted if isinstance(kernel, OpenKernel) else None) or {}

    def size(self, r: Node) -> Any:
        """The number of a range's iterations."""
        return self._of(r, "size")

    def leaves(self, fold: Node) -> Any:
        """The number of a fold's leaves."""
        return self._of(fold, "leaves")

    def last(self, checked: Node) -> Any:
        """The last position of a checked axis."""
        return self._of(checked, "last")

    def value(self, const: Node) -> Any:
        """A constant."""
        return self._of(const, "value")

    def offset(self, affine: Node) -> Any:
        """The constant term of an affine index."""
        return self._of(affine, "offset")

    def terms(self, index: Node) -> tuple[dict[Node, Any], Any]:
        """The terms and the offset of an index."""
        if index.op != "affine":
            return {index: 1}, 0
        coefs = enumerate(index.params["coefs"])
        found = (self.lifted.get((index, "coefs", k), coef) for k, coef in coefs)
        return dict(zip(index.inputs, found, strict=True)), self.offset(index)

    def shift(self, division: Node) -> Any:
        """The multiple of the divisor added to a dividend, which may be a runtime argument."""
        return self.lifted.get((division, "shift", 0), floor_shift(division))

    def _of(self, node: Node, name: str) -> Any:
        return self.lifted.get((node, name, 0), node.params[name])


def floor_shift(division: Node) -> int:
    """The multiple of the divisor that makes the dividend non-negative."""
    low = bounds(division.inputs[0])[0]
    return 0 if low >= 0 else -(low // divisor_of(division))


def is_narrow(division: Node) -> bool:
    """Whether the shifted dividend fits into 31 bits."""
    high = bounds(division.inputs[0])[1]
    return high + floor_shift(division) * divisor_of(division) < 1 << 31


def numbers_of(kernel: LoopKernel) -> dict[NumberKey, int]:
    """Every number of a kernel by its place, in an order that its outline determines."""
    found: dict[NumberKey, int] = {}
    for node in ordered(kernel):
        if (kernel.flat and node is kernel.inner) or is_flag(node):
            continue
        if node.op == "affine":
            found.update({(node, "coefs", k): c for k, c in enumerate(node.params["coefs"])})
            found[node, "offset", 0] = node.params["offset"]
        elif is_quotient(node):
            found[node, "shift", 0] = floor_shift(node)
        for name in NUMBERS.get(node.op, ()):
            found[node, name, 0] = word(node) if name == "value" else node.params[name]
    return found


def ordered(kernel: LoopKernel) -> list[Node]:
    """The ranges of rows, the inner one, then all other scalars, in a fixed order."""
    return list(dict.fromkeys((*kernel.rows, kernel.inner, *kernel.nodes())))


def is_flag(node: Node) -> bool:
    """Whether a node is a boolean, which is part of the text."""
    return node.op == "const" and node.dtype is bool_


def word(const: Node) -> int:
    """The bits of a constant in a register."""
    kept = const.params["value"]
    if is_symbolic(kept) and const.dtype in (int32, int64):
        return kept
    if is_symbolic(kept) and const.dtype in (float32, float64):
        return kept.word(const.dtype.itemsize)
    value = np.asarray(kept, computed(const.dtype).numpy)
    return int(value.view(f"i{value.itemsize}"))


def outline(kernel: LoopKernel) -> str:
    """A content hash of all that a kernel's code depends on except its numbers."""
    nodes = ordered(kernel)
    place = {node: k for k, node in enumerate(nodes)}
    rows = tuple(outline_of(node, place) for node in nodes)
    stores = tuple((s.buffer, place[s.place], place[s.value], s.dtype.name) for s in kernel.stores)
    dtypes = tuple(d.name for d in kernel.dtypes)
    ranges = tuple(place[r] for r in kernel.rows), place[kernel.inner]
    return digest((rows, stores, ranges, dtypes, kernel.flat, kernel.streams, agreeing(nodes)))


def outline_of(node: Node, place: Mapping[Node, int]) -> tuple[object, ...]:
    """The outline of a node: all of it except its numbers."""
    blank = ("coefs", "offset", "name", *(() if is_flag(node) else NUMBERS.get(node.op, ())))
    return (row_of(node, place, blank), node.dtype.name, is_quotient(node) and is_narrow(node))


def agreeing(nodes: list[Node]) -> tuple[int, ...]:
    """The pass of each fold: folds over one range with equal leaves share one."""
    folds = [node for node in nodes if node.op == "fold"]
    return tuple(next(k for k, x in enumerate(folds) if share(x, node)) for node in folds)


def share(one: Node, other: Node) -> bool:
    """Whether two folds run over one range with the same number of leaves."""
    return one.inputs[0] is other.inputs[0] and agree(one.params["leaves"], other.params["leaves"])


# descriptions

WHOLE = (str, bytes, bool, float, type(None), DType, Machine)
"""Types without numbers that vary; a processor's numbers are constants."""


@dataclass(frozen=True)
class Dissected:
    """A description without its numbers, the numbers, and which of them follow from which other.

    A number of leaves follows from a size: it varies with the size, if not between any two sizes.
    """

    outline: Hashable
    numbers: tuple[int, ...]
    follows: Mapping[int, int]


def dissected(x: object) -> Dissected:
    """Separate a description from its numbers.

    >>> dissected(("scan", 3, (4, True)))
    Dissected(outline=('tuple', 'scan', 'int', ('tuple', 'int', True)), numbers=(3, 4), follows={})
    """
    numbers: list[int] = []
    follows: dict[int, int] = {}
    outline = extract_numbers(x, numbers, follows)
    return Dissected(outline, tuple(numbers), follows)


def extract_numbers(x: object, numbers: list[int], follows: dict[int, int]) -> Hashable:
    """A description without its numbers, which are appended to the list."""
    if isinstance(x, WHOLE):
        return x
    if isinstance(x, int):
        numbers.append(x)
        return "int"
    if isinstance(x, LoopKernel):
        follows |= leaves_follow(x, len(numbers))
        numbers.extend(numbers_of(x).values())
        return outline(x)
    made: list[Hashable] = [type(x).__name__]
    begins: dict[str, int] = {}
    for name, part, leader in parts_of(x):
        begins[name] = len(numbers)
        made.append(extract_numbers(part, numbers, follows))
        if leader is not None:
            follows |= dict.fromkeys(range(begins[name], len(numbers)), begins[leader])
    return tuple(made)


def leaves_follow(kernel: LoopKernel, first: int) -> dict[int, int]:
    """The place of each number of leaves, and of the size that determines it."""
    places = {place: first + k for k, place in enumerate(numbers_of(kernel))}
    folds = [node for node, name, _ in places if name == "leaves"]
    sizes = ((fold, (fold.inputs[0], "size", 0)) for fold in folds)
    return {places[fold, "leaves", 0]: places[size] for fold, size in sizes if size in places}


def parts_of(x: object) -> list[tuple[str, object, str | None]]:
    """The parts of a tuple or a dataclass: name, value, and the field that determines it."""
    if not is_dataclass(x):
        return [("", part, None) for part in x]
    return [(name, getattr(x, name), leader) for name, leader in leaders_of(type(x))]


@memo
@cache
def leaders_of(kind: type) -> list[tuple[str, str | None]]:
    """The fields of a dataclass, each with the one that determines it."""
    return [(f.name, f.metadata.get("follows")) for f in fields(kind)]


VARYING = ("size", "leaves", "coefs", "offset")
"""Numbers of a loop kernel that come from sizes."""


def may_vary(x: object) -> list[bool]:
    """Whether each number of a description may be a runtime argument at no cost.

    Strides of 0 and 1 may not, as they select code; nor may fields that a class lists in `in_text`.
    """
    if isinstance(x, WHOLE):
        return []
    if isinstance(x, int):
        return [is_symbolic(x) or x not in (0, 1)]
    if isinstance(x, LoopKernel):
        numbers = numbers_of(x).items()
        return [name in VARYING and may_vary(n)[0] for (_, name, _), n in numbers]
    if not is_dataclass(x):
        return [varies for part in x for varies in may_vary(part)]
    kept, found = getattr(x, "in_text", ()), []
    for f in fields(x):
        own = may_vary(getattr(x, f.name))
        found += [False] * len(own) if f.name in kept else own
    return found


def restored(x: Any, numbers: Iterator[Any]) -> Any:
    """A description with other numbers in place of its own."""

    def opened(kernel: LoopKernel) -> OpenKernel:
        given = {place: next(numbers) for place in numbers_of(kernel)}
        own = {f.name: getattr(kernel, f.name) for f in fields(LoopKernel)}
        return OpenKernel(**own, lifted={k: n for k, n in given.items() if is_lifted(n)})

    numbered = dict.fromkeys((int, SymInt), lambda _: next(numbers))
    return substituted(x, {**numbered, LoopKernel: opened, Machine: lambda machine: machine})
