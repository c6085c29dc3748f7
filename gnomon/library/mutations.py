"""Mutations: changes that an operation of a user's makes of its arguments, and declares.

An argument's values may change ("data"), the shape in which it shows its storage ("metadata"), or
the storage itself ("storage"). What changes without being declared is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gnomon.errors import ArgumentError
from gnomon.settings import current
from gnomon.tensor.pytree import tensors_in
from gnomon.tensor.tensor import Tensor, array_of

__all__ = ["KINDS", "Stood", "declared", "refuse_undeclared_changes", "stood"]

KINDS = ("none", "data", "metadata", "storage")
DATA, METADATA, STORAGE = KINDS[1:]


def declared(name: str, given: Iterable[str] | Mapping[str, str], words: Iterable[str]) -> dict:
    """Argument -> what changes of it, from names (their data), or names and kinds."""
    if isinstance(given, str):
        raise ArgumentError(
            f"custom_op: mutates_args of {name} is {given!r}. Name the arguments: "
            'mutates_args=("x",), or {"x": "storage"}.'
        )
    kinds = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, DATA)
    wrong = [f"{word}: {kind}" for word, kind in kinds.items() if kind not in KINDS]
    wrong += [word for word in kinds if word not in set(words)]
    if wrong:
        raise ArgumentError(
            f"custom_op: mutates_args of {name} has {', '.join(wrong)}. Name arguments of the "
            f"function; kinds are {', '.join(KINDS)}."
        )
    return {word: kind for word, kind in kinds.items() if kind != "none"}


class Stood(NamedTuple):
    """A tensor as it stood before a call."""

    tensor: Tensor
    storage: Any
    view: Any
    version: int
    seen: bytes | None
    """Its bytes, where settings ask for checks that cost time."""


def stood(value: Any) -> list[Stood]:
    """The tensors in an argument, each with its present storage, version and bytes."""
    return [
        Stood(x, x._storage, x._view, x._storage.version, bytes_of(x) if current().debug else None)
        for x in tensors_in(value)
    ]


def bytes_of(x: Tensor) -> bytes:
    """A tensor's values."""
    return array_of(x).tobytes()


def changed(before: Stood) -> str:
    """The kind of what a call changed of a tensor."""
    x = before.tensor
    if x._storage is not before.storage:
        return STORAGE
    if x._view is not before.view:
        return METADATA
    touched = x._storage.version != before.version
    return DATA if touched or (before.seen is not None and bytes_of(x) != before.seen) else "none"


def refuse_undeclared_changes(name: str, word: str, before: Iterable[Stood], allowed: str) -> None:
    """Refuse changes of an argument that were not declared."""
    for each in before:
        found = changed(each)
        if KINDS.index(found) > KINDS.index(allowed):
            raise ArgumentError(
                f"{name}: the call changed the {found} of argument {word!r}, which is declared to "
                f'change {allowed}. Declare mutates_args={{"{word}": "{found}"}}, or clone() it.'
            )
