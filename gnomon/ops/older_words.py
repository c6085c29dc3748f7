"""Words that PyTorch's losses took before they took `reduction`, which old programs still say.

What a reduction computes is not here: see losses.py.
"""

from __future__ import annotations

from typing import Any

__all__ = ["OLDER", "in_one_word", "reduction_of"]

OLDER = ("size_average", "reduce")
"""Words for a reduction that losses took before they took `reduction`."""


def reduction_of(size_average: object, reduce: object, reduction: str) -> str:
    """The reduction that a loss is asked for, by its word or by PyTorch's two older ones.

    >>> reduction_of(None, None, "none"), reduction_of(False, None, "mean")
    ('none', 'sum')
    """
    if (size_average, reduce) == (None, None):
        return reduction
    summed = "mean" if size_average in (None, True) else "sum"
    return "none" if reduce is False else summed


def in_one_word(named: dict[str, Any]) -> dict[str, Any]:
    """Keywords of a loss with its reduction in one word, where the older ones ask for one.

    >>> in_one_word({"size_average": False}), in_one_word({"reduce": None})
    ({'reduction': 'sum'}, {})
    """
    kept = {word: value for word, value in named.items() if word not in OLDER}
    average, reduce = named.get("size_average"), named.get("reduce")
    if (average, reduce) != (None, None):
        kept["reduction"] = reduction_of(average, reduce, "mean")
    return kept
