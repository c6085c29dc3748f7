"""Index arithmetic in kernels: affine sums of integer scalars, with exact floor and modulo.

An index is an `affine` node: offset + sum of coefficient * atom. Atoms are ranges, quotients,
remainders, and integers read from memory. Simplification is exact for all integers within bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from gnomon.dtypes import DType, int64
from gnomon.ir.memo import kind_of, memo
from gnomon.ir.node import Arena, Node, Primitive, Shape, primitive
from gnomon.ir.sizes import divides, is_symbolic

FAR = 1 << 62
"""A bound for integers of unknown range."""

NEARER = {"minimum": min, "maximum": max}
"""Operations that clamp an index from memory to the range of an axis."""

Bounds = tuple[int, int]
NodeTerms = dict[Node, int]


class ScalarPrimitive(Primitive):
    """Base of the primitives in kernels, which have rank 0."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return (), params.get("dtype", int64)


@primitive("range")
class Range(ScalarPrimitive):
    """A loop index, 0 to size - 1."""


@primitive("affine")
class Affine(ScalarPrimitive):
    """offset + sum of coefs[k] * inputs[k]."""


def loop_range(arena: Arena, size: int, name: str) -> Node:
    """Create a loop index; the name distinguishes ranges of one kernel."""
    return arena.node("range", (), size=size, name=name)


@memo
@lru_cache(1 << 14)
def affine_kind(coefs: tuple[int, ...], offset: int) -> tuple[int, dict[str, Any]]:
    """The kind and parameters that all sums with these coefficients share."""
    params = {"coefs": coefs, "offset": offset}
    return kind_of("affine", params), params


def affine(arena: Arena, atoms: tuple[Node, ...], coefs: tuple[int, ...], offset: int) -> Node:
    """Create an affine sum."""
    kind, params = affine_kind(coefs, offset)
    return arena.intern(kind, "affine", atoms, params)


def number(arena: Arena, value: int) -> Node:
    """Create an integer constant."""
    return affine(arena, (), (), value)


def split(index: Node) -> tuple[NodeTerms, int]:
    """The terms and the offset of an index."""
    if index.op == "affine":
        return dict(zip(index.inputs, index.params["coefs"], strict=True)), index.params["offset"]
    return {index: 1}, 0


def join(arena: Arena, terms: NodeTerms, offset: int) -> Node:
    """The index with these terms, in order of creation; a single plain atom is returned itself."""
    # a coefficient that is nothing at some sizes alone stays
    own = {atom: k for atom, k in terms.items() if is_symbolic(k) or k}
    terms, offset = recombine(own, offset)
    if len(terms) == 1 and all(map(is_plain, (offset, *terms.values()), (0, 1))):
        return next(iter(terms))
    atoms = sorted(terms, key=lambda atom: atom.serial)
    return affine(arena, tuple(atoms), tuple([terms[atom] for atom in atoms]), offset)


def is_plain(x: int, value: int) -> bool:
    """Whether a number has this value at all sizes."""
    return not is_symbolic(x) and x == value


def recombine(terms: NodeTerms, offset: int) -> tuple[NodeTerms, int]:
    """Replace (x // k) * (c k) + (x % k) * c by x * c."""
    for atom, coef in terms.items():
        if atom.op != "map" or not is_division(atom, "floor_divide"):
            continue
        x, k = atom.inputs[0], divisor_of(atom)
        rest = x.arena.node("map", atom.inputs, f="remainder")
        if divides(k, coef) and terms.get(rest) == coef // k:
            inner, shift = split(x)
            merged = {a: c for a, c in terms.items() if a not in (atom, rest)}
            for part, c in inner.items():
                merged[part] = merged.get(part, 0) + c * (coef // k)
            merged = {a: c for a, c in merged.items() if is_symbolic(c) or c}
            return recombine(merged, offset + shift * (coef // k))
    return terms, offset


def is_division(atom: Node, f: str) -> bool:
    """Whether an atom is a quotient, or a remainder if `f` says so, by a constant."""
    return atom.op == "map" and atom.params["f"] == f and atom.inputs[1].op == "affine"


def is_quotient(atom: Node) -> bool:
    """Whether an atom is a quotient or a remainder by a constant."""
    return is_division(atom, "floor_divide") or is_division(atom, "remainder")


def divisor_of(atom: Node) -> int:
    """The constant that a quotient or remainder divides by."""
    return atom.inputs[1].params["offset"]


def plus(a: Node, b: Node | int) -> Node:
    """The sum a + b."""
    if isinstance(b, int):
        b = number(a.arena, b)
    terms, offset = split(a)
    more, shift = split(b)
    for atom, k in more.items():
        terms[atom] = terms.get(atom, 0) + k
    return join(a.arena, terms, offset + shift)


def times(a: Node, k: int) -> Node:
    """The product a * k."""
    terms, offset = split(a)
    return join(a.arena, {atom: c * k for atom, c in terms.items()}, offset * k)


def bounds(index: Node) -> Bounds:
    """The least and greatest value that an index can take."""
    if index.op == "range":
        return 0, max(index.params["size"] - 1, 0)
    if index.op == "affine":
        return affine_bounds(*split(index))
    if is_division(index, "floor_divide"):
        low, high = bounds(index.inputs[0])
        return low // divisor_of(index), high // divisor_of(index)
    if is_division(index, "remainder"):
        return 0, divisor_of(index) - 1
    if index.op == "const":
        return index.params["value"], index.params["value"]
    if index.op == "map" and index.params["f"] in NEARER:
        lows, highs = zip(*map(bounds, index.inputs), strict=True)
        return NEARER[index.params["f"]](lows), NEARER[index.params["f"]](highs)
    if index.op == "checked":
        return 0, index.params["last"]
    return -FAR, FAR


def affine_bounds(terms: NodeTerms, offset: int) -> Bounds:
    """The least and greatest value of an affine sum."""
    low = high = offset
    for atom, k in terms.items():
        ends = [k * end for end in bounds(atom)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def divide(a: Node, k: int) -> Node:
    """The quotient a // k, for k > 0."""
    whole, rest, offset = by_divisibility(a, k)
    quotient, left = divmod(offset, k)
    low, high = affine_bounds(rest, left)
    if low // k == high // k:
        return join(a.arena, whole, quotient + low // k)
    over = join(a.arena, rest, left)
    atom = over.arena.node("map", (over, number(a.arena, k)), f="floor_divide")
    return join(a.arena, {**whole, atom: whole.get(atom, 0) + 1}, quotient)


def modulo(a: Node, k: int) -> Node:
    """The remainder a % k, for k > 0."""
    _, rest, offset = by_divisibility(a, k)
    left = offset % k
    low, high = affine_bounds(rest, left)
    if low // k == high // k:
        return join(a.arena, rest, left - low // k * k)
    over = join(a.arena, rest, left)
    return over.arena.node("map", (over, number(a.arena, k)), f="remainder")


def by_divisibility(a: Node, k: int) -> tuple[NodeTerms, NodeTerms, int]:
    """The terms that k divides (already divided), the others, and the offset."""
    assert k > 0, f"division by {k}"
    terms, offset = split(a)
    whole: NodeTerms = {}
    rest: NodeTerms = {}
    for atom, c in terms.items():
        if divides(k, c):
            whole[atom] = c // k
        else:
            rest[atom] = c
    return whole, rest, offset


def flatten(arena: Arena, index: Sequence[Node], shape: Sequence[int]) -> Node:
    """The row-major position of an index."""
    total: NodeTerms = {}
    place, stride = 0, 1
    for at, n in zip(reversed(index), reversed(shape), strict=True):
        terms, offset = split(at)
        place += offset * stride
        for atom, k in terms.items():
            total[atom] = total.get(atom, 0) + k * stride
        stride *= n
    return join(arena, total, place)


def unflatten(place: Node, shape: Sequence[int]) -> tuple[Node, ...]:
    """The index at a row-major position."""
    out: list[Node] = []
    for n in reversed(shape):
        # an empty axis has no index, and nobody asks: any number stands for it
        out.append(modulo(place, max(n, 1)))
        place = divide(place, max(n, 1))
    return tuple(reversed(out))


def has_division(nodes: Iterable[Node]) -> bool:
    """Whether any node is a quotient or a remainder by a constant."""
    return any(map(is_quotient, nodes))
