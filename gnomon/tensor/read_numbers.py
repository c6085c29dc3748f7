"""Tensors of one number where an operation takes Python's: they are read, as PyTorch reads them.

`x.view(n, -1)` and `x.topk(n)` are calls with n = torch.tensor(3) too. Nobody looks for such
tensors before a call has been refused: one that works pays nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.ops.fitting import alternatives
from gnomon.ops.registry import Op
from gnomon.tensor.tensor import Tensor

__all__ = ["read_numbers"]

NUMBERS = {"int": ("int", "uint"), "float": ("int", "uint", "float")}
"""Kind of a parameter -> the kinds of dtypes whose one element it takes."""


def read_numbers(op: Op, args: Sequence, kwargs: dict[str, Any]) -> tuple[tuple, dict] | None:
    """A call's arguments with scalar tensors read as numbers; None if there are none."""
    kinds = op.function.__annotations__
    count = op.function.__code__.co_argcount
    rest = op.function.__code__.co_varnames[count + op.function.__code__.co_kwonlyargcount :][:1]
    words = [*op.words[:count], *rest * max(0, len(args) - count)]
    listed = tuple(read(kinds.get(word, ""), x) for word, x in zip(words, args, strict=False))
    listed = (*listed, *args[len(listed) :])
    named = {word: read(kinds.get(op.own_word(word) or "", ""), x) for word, x in kwargs.items()}
    changed = [*map(differs, listed, args), *(named[word] is not x for word, x in kwargs.items())]
    return (listed, named) if any(changed) else None


def differs(made: Any, given: Any) -> bool:
    """Whether an argument was replaced."""
    return made is not given


def read(kind: str, value: Any) -> Any:
    """An argument for a parameter; tensors are read as numbers if it takes no tensors."""
    if isinstance(value, (list, tuple)):
        made = [read(kind, part) for part in value]
        same = all(new is old for new, old in zip(made, value, strict=True))
        return value if same else type(value)(made) if type(value) in (list, tuple) else tuple(made)
    if not isinstance(value, Tensor) or value.ndim or value.requires_grad or "Node" in leaves(kind):
        return value
    wanted = [dtypes for name, dtypes in NUMBERS.items() if name in leaves(kind)]
    return value.item() if any(value.dtype.kind in dtypes for dtypes in wanted) else value


def leaves(kind: str) -> set[str]:
    """The kinds of single values that a kind allows, also within sequences.

    >>> sorted(leaves("Sizes"))
    ['None', 'int']
    """
    found: set[str] = set()
    for each in alternatives(kind):
        inner = each.removeprefix("Sequence[").removesuffix("]")
        found |= {each} if inner == each else leaves(inner)
    return found
