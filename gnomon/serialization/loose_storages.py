"""Replace storages that are values themselves in a loaded file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["with_storages"]

DEEPEST_TUPLE = 64
"""The deepest nesting of tuples that is searched."""


def with_storages(value: Any, kind: type, made: Callable[[Any], Any]) -> Any:
    """Replace all storages of a class in a value by `made` of them.

    Lists and dicts are changed in place; each part is visited once, shared or not.
    """
    known: dict[int, Any] = {}
    waiting: list[Any] = []

    def of(part: Any, level: int = 0) -> Any:
        if isinstance(part, kind):
            return made(part)
        if isinstance(part, (list, dict)):
            waiting.append(part)
            return part
        if type(part) is not tuple or level > DEEPEST_TUPLE:
            return part
        if id(part) not in known:
            parts = [of(x, level + 1) for x in part]
            same = all(x is y for x, y in zip(parts, part, strict=True))
            known[id(part)] = part if same else tuple(parts)
        return known[id(part)]

    result, seen = of(value), set[int]()
    while waiting:
        holder = waiting.pop()
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        for place, part in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if (new := of(part)) is not part:
                holder[place] = new
    return result
