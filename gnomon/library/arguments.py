"""Arguments of custom operations as text, tensors aside, so that programs on disk can hold them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from operator import index
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.tensor import Tensor

__all__ = ["described", "restored"]

PLAIN = (bool, int, str, bytes, type(None))


def described(name: str, arguments: Sequence[Any]) -> str:
    """Arguments as text; each tensor is its number among them.

    >>> described("mylib::f", (2, [1.5, "a"]))
    "('tuple', 2, ('list', ('float', '0x1.8000000000000p+0'), 'a'))"
    """
    count = iter(range(1 << 30))

    def of(value: Any) -> Any:
        if isinstance(value, Tensor):
            return ("tensor", next(count))
        if isinstance(value, float):
            return ("float", value.hex())
        if isinstance(value, (list, tuple)):
            return ("list" if isinstance(value, list) else "tuple", *map(of, value))
        if type(value) in PLAIN:
            return value
        if hasattr(type(value), "_symint"):
            return index(value)  # text is of one number
        raise ArgumentError(
            f"{name}: an argument is a {type(value).__name__}. Pass tensors, numbers, booleans, "
            "text, None, and lists or tuples of these."
        )

    return repr(of(tuple(arguments)))


def restored(text: str, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    """Arguments from their text and their tensors.

    >>> restored(described("mylib::f", (2, [1.5, "a"])), [])
    (2, [1.5, 'a'])
    """

    def of(value: Any) -> Any:
        if not isinstance(value, tuple):
            return value
        kind, *parts = value
        if kind == "tensor":
            return tensors[parts[0]]
        if kind == "float":
            return float.fromhex(parts[0])
        return [*map(of, parts)] if kind == "list" else tuple(map(of, parts))

    made: tuple[Any, ...] = of(ast.literal_eval(text))
    return made
