"""Placements: how a value is stored over the ranks of one mesh axis.

A layout (layouts.py) has one for each mesh axis of a value.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from msgspec.structs import force_setattr

from gnomon.ir.memo import exact, memo

__all__ = [
    "REPLICATED",
    "VARYING",
    "Partial",
    "Placement",
    "Replicated",
    "Split",
    "Varying",
    "pending",
    "split_along",
]


class Placement(Struct, frozen=True, cache_hash=True):
    """The way a value is stored over the ranks of one mesh axis."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether every rank holds a stretch: of this axis, or of any."""
        return isinstance(self, Split) and dim in (None, self.axis)

    def is_replicate(self) -> bool:
        """Whether every rank holds all of it."""
        return isinstance(self, Replicated)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether what ranks hold is still to be folded: by this operation, or by any."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@exact
class Replicated(Placement, frozen=True):
    """Every rank holds all of it."""

    def __repr__(self) -> str:
        return "R"


@exact
class Varying(Replicated, frozen=True):
    """Every rank holds a value of its own, of one shape: no rank may compute another's.

    It counts as replicated where it meets what is split or pending, and only there.
    """

    def __repr__(self) -> str:
        return "V"


@exact
class Split(Placement, frozen=True):
    """Every rank holds an equal stretch of one axis, in rank order."""

    axis: int

    @property
    def dim(self) -> int:
        """The axis, as PyTorch calls it."""
        return self.axis

    def __repr__(self) -> str:
        return f"S({self.axis})"


@exact
class Partial(Placement, frozen=True):
    """Every rank holds one node of the tree that folds the value."""

    monoid: str = "add"

    def __post_init__(self) -> None:
        force_setattr(self, "monoid", FOLDS.get(self.monoid, self.monoid))

    @property
    def reduce_op(self) -> str:
        """The fold, as PyTorch calls it."""
        return next((word for word, fold in FOLDS.items() if fold == self.monoid), self.monoid)

    def __repr__(self) -> str:
        return f"P({self.monoid})"


FOLDS = {"sum": "add", "product": "mul"}
"""PyTorch's names of folds that have others here."""
REPLICATED = Replicated()
VARYING = Varying()


@memo
@cache
def split_along(axis: int) -> Split:
    """Stretches of an axis; mostly the same object, at which whoever compares looks first."""
    return Split(axis)


@memo
@cache
def pending(monoid: str = "add") -> Partial:
    """A fold that is pending; mostly the same object."""
    return Partial(monoid)
