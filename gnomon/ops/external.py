"""External operations: values are computed outside of programs, by a function of the user.

A node names its operation by a key, and holds the arguments that are no tensors as text. The
function is looked up when the node runs, so that programs can be kept on disk. Users declare one
through gnomon/library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError
from gnomon.ir.node import Arena, Node, Primitive, Shape, Signature, primitive

__all__ = [
    "EXTERNALS",
    "ExternalOp",
    "call_of",
    "external",
    "external_of",
    "letters_of",
    "results_of",
]

Kinds = tuple[tuple[Shape, DType], ...]
"""The shape and dtype of each result."""


class ExternalOp(NamedTuple):
    """An external operation: its name, its function, and its batching rule."""

    name: str
    compute: Callable[[str, Sequence[np.ndarray]], list[np.ndarray]]
    """The function from arguments as text, and arrays, to the arrays of all results."""
    batched: Callable[[Node, Sequence[Node], Sequence[bool], int], Node] | None = None
    """The batching rule: from a node, new inputs, their flags and a size to the batched result."""


EXTERNALS: dict[str, ExternalOp] = {}
"""Key -> operation; the key changes with everything that programs depend on."""


def external_of(key: str) -> ExternalOp:
    """The operation of a key; raises ArgumentError if this process has none."""
    found = EXTERNALS.get(key)
    if found is None:
        name = key.partition("@")[0]
        raise ArgumentError(
            f"{name}: this process has no such operation, or another of that name. Import the file "
            "that declares it by gn.library.custom_op before the program runs."
        )
    return found


@primitive("external")
class External(Primitive):
    """One result of a function of the user."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        kinds: Kinds = params["kinds"]
        index: int = params["index"]
        return kinds[index]

    def signature(self, node: Node) -> Signature:
        given, made = node.params["letters"] or ((), ())
        if not given:
            return Signature([[None] * x.rank for x in node.inputs], [None] * node.rank)
        return Signature(given, made[node.params["index"]])

    def value(self, node: Node, *inputs: Any, **_: Any) -> Any:
        index: int = node.params["index"]
        own = [np.array(x) for x in inputs]
        values: list[Any] = external_of(node.params["key"]).compute(node.params["said"], own)
        return values[index]


Letters = tuple[tuple[tuple[str | None, ...], ...], tuple[tuple[str | None, ...], ...]] | None
"""A letter for each axis of each input, and of each result: axes of one letter are split alike."""


def external(
    arena: Arena, inputs: Sequence[Node], key: str, said: str, kinds: Kinds, letters: Letters
) -> list[Node]:
    """Create all results of a call of an external operation."""
    params = {"key": key, "said": said, "kinds": kinds, "letters": letters}
    return [arena.node("external", tuple(inputs), **params, index=k) for k in range(len(kinds))]


def call_of(node: Node) -> object:
    """A key of a call, whose results are computed together."""
    return node.inputs, node.params["key"], node.params["said"]


def results_of(node: Node) -> list[Node]:
    """All results of a node's call, also those that are not read."""
    p = node.params
    return external(node.arena, node.inputs, p["key"], p["said"], p["kinds"], p["letters"])


def letters_of(text: str) -> Letters:
    """Parse letters of axes such as "bi,io->bo"; None for "".

    >>> letters_of("bi,io->bo")
    ((('b', 'i'), ('i', 'o')), (('b', 'o'),))
    """
    given, arrow, made = text.replace(" ", "").partition("->")
    if text and not arrow:
        raise ArgumentError(f'custom_op: sharding is like "bi,io->bo": got {text!r}.')
    sides = [tuple(map(tuple, side.split(","))) for side in (given, made)]
    return (sides[0], sides[1]) if text else None


def parts_of_results(node: Node, axis: int, ranks: int) -> Kinds:
    """The shapes and dtypes of a call's results on one rank, if an axis of this result is split."""
    p = node.params
    _, made = p["letters"]
    letter = made[p["index"]][axis]
    return tuple(
        (tuple(n // ranks if c == letter else n for n, c in zip(shape, names, strict=True)), dtype)
        for (shape, dtype), names in zip(p["kinds"], made, strict=True)
    )
