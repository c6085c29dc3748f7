"""Derive the `Shapes:` line of an operation's documentation from its parameters.

Tensors broadcast; `keepdims` folds axes; `reduction` folds everything. Only other lines are written
by hand. Lines are tested against calls (tests/ops/shape_lines.py); only the library's own are
derived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TENSORS = ("Node", "Operand")
"""The beginnings of annotations of parameters that may be tensors."""


def with_shapes(function: Callable[..., Any]) -> str:
    """A function's documentation with a line of shapes added after the first paragraph."""
    said = function.__doc__ or ""
    if not said or "Shapes:" in said or not function.__module__.startswith("gnomon."):
        return said
    first, gap, rest = said.partition("\n\n")
    lead = "" if not rest else rest[: len(rest) - len(rest.lstrip(" "))]
    return f"{first.rstrip()}\n\n{lead}Shapes: {shapes(function)}{gap or chr(10)}{rest}"


def shapes(function: Callable[..., Any]) -> str:
    """The `Shapes:` line of an elementwise function, loss or reduction, from its parameters."""
    kinds = {word: str(kind) for word, kind in function.__annotations__.items() if word != "return"}
    tensors = [word for word, kind in kinds.items() if kind.startswith(TENSORS)]
    if "keepdims" in kinds:
        return f"{tensors[0]} (*s) -> (*s without axis)"
    given = ", ".join(f"{word} (...)" for word in tensors)
    return (
        f'{given} -> (...) if reduction == "none" else ()'
        if "reduction" in kinds
        else (f"{given} -> (...)")
    )


def illustrated(sentence: str, shows: str) -> str:
    """A docstring of a sentence and an example that is given as `call -> result`."""
    call, _, result = shows.partition(" -> ")
    return f"{sentence}\n\n>>> {call}\n{result}"
