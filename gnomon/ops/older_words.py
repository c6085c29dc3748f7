"""Arguments by names or positions that PyTorch's functions took in older versions.

Losses had two keywords before `reduction`, and took their settings by position; sums such as
addcmul took their factors as numbers between tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["OLDER", "by_position", "factors_in_words", "in_one_word", "reduction_of"]

OLDER = ("size_average", "reduce")
"""The keywords for a reduction that losses took before `reduction`."""
FACTORS = ("alpha", "beta", "value")
"""The names of factors that older programs give as numbers after the first tensor."""


def reduction_of(size_average: object, reduce: object, reduction: str) -> str:
    """The reduction of a loss, from `reduction` or from PyTorch's two older keywords.

    >>> reduction_of(None, None, "none"), reduction_of(False, None, "mean")
    ('none', 'sum')
    """
    if (size_average, reduce) == (None, None):
        return reduction
    summed = "mean" if size_average is None or size_average else "sum"
    return summed if reduce is None or reduce else "none"


def in_one_word(named: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a loss, with `reduction` in place of the older two.

    >>> in_one_word({"size_average": False}), in_one_word({"reduce": None})
    ({'reduction': 'sum'}, {})
    """
    kept = {word: value for word, value in named.items() if word not in OLDER}
    average, reduce = named.get("size_average"), named.get("reduce")
    if (average, reduce) != (None, None):
        kept["reduction"] = reduction_of(average, reduce, "mean")
    return kept


def factors_in_words(
    words: Sequence[str], count: int, args: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The tensors of a sum, and its factors by name, if numbers are between tensors; else None.

    words: the names of its parameters, of which that many may be given by position.

    >>> factors_in_words(("x", "y", "z", "value"), 3, ("a", 0.5, "b", "c"))
    (('a', 'b', 'c'), {'value': 0.5})
    >>> factors_in_words(("x", "y", "z", "value"), 3, ("a", "b", "c"))
    """
    more = len(args) - count
    numbers, named = args[1 : 1 + more], [x for x in words[count:] if x in FACTORS]
    if not 0 < more <= len(named) or not all(isinstance(x, (int, float)) for x in numbers):
        return None
    return (args[0], *args[1 + more :]), dict(zip(named, numbers, strict=False))


def by_position(
    order: str, count: int, args: Sequence[Any], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments after the first `count`, by name in PyTorch's order; None if they do not fit.

    >>> by_position("size_average reduce reduction", 2, ("x", "y", None, None, "sum"), {})
    (('x', 'y'), {'size_average': None, 'reduce': None, 'reduction': 'sum'})
    >>> by_position("margin reduction", 2, ("x", "y", 0.5), {"margin": 1.0})
    """
    words, more = order.split(), args[count:]
    if not 0 < len(more) <= len(words) or not named.keys().isdisjoint(words[: len(more)]):
        return None
    return tuple(args[:count]), dict(zip(words, more, strict=False))
