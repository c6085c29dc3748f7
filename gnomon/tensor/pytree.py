"""A pytree: a nested value as a structure and the tensors in it, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from functools import cache
from operator import is_, itemgetter
from typing import Any, NamedTuple

from gnomon.ir.memo import memo, typed
from gnomon.tensor.tensor import Paired, Tensor
from gnomon.tensor.traced_numbers import TracedNumber, varies

__all__ = [
    "Constant",
    "LONGEST",
    "PLACES",
    "TreeLeaf",
    "TreeSpec",
    "dense_parts",
    "flatten",
    "leaf_of",
    "leaves_in",
    "nothing",
    "tensors_in",
    "unflatten",
    "with_leaves",
]

LONGEST = 256
"""Tensors of a call whose places are made once for all."""


class TreeLeaf(NamedTuple):
    """A reference to the k-th tensor of a nested value."""

    number: int


PLACES = tuple(map(TreeLeaf, range(LONGEST)))


class TreeSpec(NamedTuple):
    """The structure of a container: its kind, its names, its parts."""

    kind: Any
    names: tuple
    parts: tuple


SAME = object.__eq__
"""The comparison of classes that define none: by identity."""


def dense_parts(tensor: Any) -> tuple[tuple[Any, ...], Callable]:
    """The dense real tensors behind any tensor, and the function that makes it of them again."""
    plain = tensor is None or issubclass(type(tensor), Tensor)
    return ((tensor,), itemgetter(0)) if plain else tensor._dense_parts()


def has_tensors(value: Any, depth: int = 3) -> bool:
    """Whether an object has tensors among its attributes, so that == gives no bool."""
    found = getattr(value, "__dict__", None)
    if type(found) is not dict or not depth or isinstance(value, type):
        return False
    return any(isinstance(x, Tensor) or has_tensors(x, depth - 1) for x in found.values())


class Constant:
    """A plain value in a structure, compared with its type and its sign of zero."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self.key: Hashable = typed(value)
            hash(self.key)
            if type(self.key) is tuple and type(value).__eq__ is not SAME and has_tensors(value):
                raise TypeError
        except TypeError:
            self.key = ("object", id(value))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key


def leaves_in(value: Any) -> Iterator[Any]:
    """The leaves of nested lists, tuples and dictionaries, in order."""
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves_in(part)
    else:
        yield value


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in nested lists, tuples and dictionaries, with repetitions."""
    return [x for x in leaves_in(value) if isinstance(x, Tensor)]


def with_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """A nested value with its leaves changed; containers without changes are the same objects."""
    if not isinstance(value, (list, tuple, dict)):
        return change(value)
    before = list(value.values()) if isinstance(value, dict) else value
    parts = [with_leaves(part, change) for part in before]
    if all(map(is_, parts, before)):
        return value
    if isinstance(value, dict):
        made = copy(value)
        made.update(zip(value, parts, strict=True))
        return made
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def flatten(value: Any, found: list[Tensor]) -> Any:
    """The structure of a nested value; its tensors are added to the list."""
    return structure_of(value, found, {id(t): k for k, t in enumerate(found)})


def leaf_of(tensor: Tensor, found: list[Tensor], places: dict[int, int]) -> TreeLeaf:
    """The leaf of a tensor, which is added to the list on its first occurrence."""
    place = places.setdefault(id(tensor), len(found))
    if place == len(found):
        found.append(tensor)
    return PLACES[place] if place < LONGEST else TreeLeaf(place)


def structure_of(value: Any, found: list[Tensor], places: dict[int, int]) -> Any:
    """The structure of a nested value, given the positions of tensors in the list."""
    if isinstance(value, Paired):
        return TreeSpec(value.plain, (), (leaf_of(value._pair, found, places),))
    if issubclass(type(value), Tensor):
        return leaf_of(value, found, places)
    if isinstance(value, (dict, list, tuple)) and not isinstance(value, (TreeLeaf, TreeSpec)):
        if not value:
            return nothing(type(value))
        if not isinstance(value, dict):
            return TreeSpec(type(value), (), tuple([structure_of(v, found, places) for v in value]))
        parts = tuple([structure_of(v, found, places) for v in value.values()])
        return TreeSpec(type(value), tuple(map(Constant, value)), parts)
    if varies(value) and value.settled is None:
        return TreeSpec(type(value), (), (structure_of(value.tensor, found, places),))
    return Constant(value)


@memo
@cache
def nothing(kind: Any) -> TreeSpec:
    """The structure of an empty container."""
    return TreeSpec(kind, (), ())


def unflatten(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """A nested value from its structure."""
    if isinstance(tree, TreeLeaf):
        return tensors[tree.number]
    if isinstance(tree, Constant):
        return tree.value
    parts = [unflatten(part, tensors) for part in tree.parts]
    if issubclass(tree.kind, dict):
        return tree.kind(zip((name.value for name in tree.names), parts, strict=True))
    return tree.kind(*parts) if hasattr(tree.kind, "_fields") else tree.kind(parts)


def is_number(tree: TreeSpec) -> bool:
    """Whether a part of a structure is a traced number."""
    return isinstance(tree.kind, type) and issubclass(tree.kind, TracedNumber)
