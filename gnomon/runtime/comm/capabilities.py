"""Tables of what backends can do: for each operation, dtype and fold, how, or why not.

Backends move bytes; folds are ours, of what they move, so that their order is one for all backends.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from gnomon.dtypes import ALL, DType
from gnomon.ir.memo import memo
from gnomon.ops.group_folds import FOLDS, refusal_of

__all__ = ["FOLDING", "MOVING", "Support", "refusal", "table_of"]

MOVING = {
    "all_gather": "gather",
    "all_gather_single": "gather",
    "all_to_all": "messages",
    "all_to_all_single": "messages",
    "broadcast": "messages",
    "gather": "messages",
    "recv": "messages",
    "scatter": "messages",
    "send": "messages",
}
"""Operations that move whole tensors, and what transfers they come down to."""
FOLDING = {
    "all_reduce": "gather or exchange, a fold, and a gather",
    "reduce": "messages to one rank, and a fold there",
    "reduce_scatter": "exchange and a fold",
    "reduce_scatter_single": "exchange and a fold",
}
"""Operations that fold, and what they come down to."""


class Support(NamedTuple):
    """Whether a backend supports an operation: natively, by other operations, or not; by what."""

    how: str
    by: str


Table = Mapping[tuple[str, str, str], Support]
"""(operation, dtype, fold or nothing) -> how."""


@memo
@cache
def table_of(native: tuple[tuple[str, str], ...]) -> Table:
    """The table of a backend, given its native transfers and the name of what does each."""
    known = dict(native)
    found: dict[tuple[str, str, str], Support] = {}
    for dtype in ALL:
        for op, transfer in MOVING.items():
            found[op, dtype.name, ""] = support_of(known, transfer)
        for op, made_of in FOLDING.items():
            for name, fold in FOLDS.items():
                reason = refusal_of(fold, dtype)
                support = Support("emulated", made_of)
                found[op, dtype.name, name] = Support("unsupported", reason) if reason else support
    return found


def support_of(native: Mapping[str, str], transfer: str) -> Support:
    """The entry of a transfer: native if the backend has a function for it, else unsupported."""
    if transfer in native:
        return Support("native", native[transfer])
    return Support("unsupported", f"the backend has no {transfer}")


def refusal(table: Table, op: str, dtype: DType, fold: str = "") -> str:
    """The reason why a backend cannot do an operation; "" where it can."""
    how, by = table[op, dtype.name, fold]
    return by if how == "unsupported" else ""
