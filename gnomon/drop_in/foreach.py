"""torch._foreach_*: apply an operation to each tensor of a list.

Each is the tensors' method of its name; evaluation computes the results together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError, ShapeError
from gnomon.tensor.tensor import Tensor

__all__ = ["foreach", "group_tensors"]

PREFIX = "_foreach_"


def powers_sum(x: Tensor, ord: float = 2, dtype: object = None) -> Tensor:
    """The sum of the powers of absolute values."""
    return (abs(x) ** ord).sum(dtype=dtype)


def group_tensors(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]:
    """Group columns of lists of tensors by the device and dtype of those of the first list."""
    first = tensorlistlist[0]
    groups: dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]] = {}
    for number, x in enumerate(first):
        if x is None:
            raise ArgumentError("foreach: the first list has a tensor at each place: got None.")
        lists, numbers = groups.setdefault((x.device, x.dtype), ([[] for _ in tensorlistlist], []))
        for column, each in zip(lists, tensorlistlist, strict=True):
            if each:
                column.append(each[number])
        if with_indices:
            numbers.append(number)
    return groups


def norm(x: Tensor, ord: float = 2, dtype: object = None) -> Tensor:
    """The norm of all elements."""
    return x.norm(ord, dtype=dtype)


OWN = {"norm": norm, "powsum": powers_sum}
"""Operations that are not methods of tensors."""


def foreach(name: str) -> Callable[..., Any] | None:
    """The _foreach_ function of a name; None if tensors have no such method."""
    stem = name.removeprefix(PREFIX)
    one = OWN.get(stem) or getattr(Tensor, stem, None)
    if not stem or stem.startswith("_") or not callable(one):
        return None
    writes = stem.endswith("_")

    def call(self: Any, *args: Any, **named: Any) -> Any:
        results = [one(*each, **more, **named) for each, more in calls(name, self, args)]
        return list(self) if writes else tuple(results)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{stem.strip('_')} of each tensor of a list{', stored in it' * writes}."
    return call


def calls(name: str, first: Any, args: Sequence[Any]) -> list[tuple[tuple, dict[str, Any]]]:
    """The arguments of each tensor's call: lists have one value each, others are shared.

    A fourth argument is the keyword `value`; a tensor there has one for each.
    """
    given = [first, *args]
    given[3:] = [x.tolist() if isinstance(x, Tensor) else x for x in given[3:]]
    counts = {len(x) for x in given if isinstance(x, (list, tuple))}
    if len(counts) != 1:
        raise ShapeError(f"{name}: needs lists of one length: got {sorted(counts)}.")
    (count,) = counts
    columns = [x if isinstance(x, (list, tuple)) else [x] * count for x in given]
    rows = zip(*columns, strict=True)
    return [(row[:3], dict(zip(("value",), row[3:], strict=False))) for row in rows]
