"""Placements: how a value is stored over the ranks of one mesh axis.

A layout (layouts.py) has one for each mesh axis of a value. Equal placements are one object, which
is compared and hashed by its identity.
"""

from __future__ import annotations

from operator import index
from typing import Any, NoReturn, TypeVar

from gnomon.errors import LayoutError
from gnomon.ir.memo import exact

__all__ = ["Partial", "Placement", "REPLICATED", "Replicated", "Split", "VARYING", "Varying"]
__all__ += ["placement_of"]

P = TypeVar("P", bound="Placement")

FOLDS = {"sum": "add", "product": "mul"}
"""PyTorch's name of a fold -> the monoid, where they differ."""
_made: dict[tuple[type, object], Any] = {}


def single_placement(kind: type[P], name: str = "", value: object = None) -> P:
    """The single placement of a class for this value of its attribute, if it has one."""
    found = _made.get((kind, value))
    if found is None:
        made = object.__new__(kind)
        if name:
            object.__setattr__(made, name, value)
        found = _made.setdefault((kind, value), made)
    return found


class Placement:
    """The way a value is stored over the ranks of one mesh axis."""

    __slots__ = ()

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each rank has a part: along this axis, or along any if `dim` is None."""
        return isinstance(self, Split) and dim in (None, self.axis)

    def is_replicate(self) -> bool:
        """Whether each rank has the whole value."""
        return isinstance(self, Replicated)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether ranks have values still to be folded: by this fold, or by any."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name}: a placement never changes.")


@exact
class Replicated(Placement):
    """Each rank has the whole value."""

    __slots__ = ()

    def __new__(cls) -> Replicated:
        """The single object of this class."""
        return single_placement(cls)

    def __repr__(self) -> str:
        return "R"


@exact
class Varying(Replicated):
    """Each rank has a value of its own, of one shape, which other ranks cannot compute.

    It counts as replicated where it meets a split or pending value, and only there.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "V"


@exact
class Split(Placement):
    """Each rank has an equal part of one axis, in rank order."""

    __slots__ = ("axis",)
    __match_args__ = ("axis",)
    axis: int

    def __new__(cls, dim: int) -> Split:
        """The single object of this class for an axis."""
        return single_placement(cls, "axis", int(index(dim)))

    @property
    def dim(self) -> int:
        """The axis, by PyTorch's name."""
        return self.axis

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.axis,)

    def __repr__(self) -> str:
        return f"S({self.axis})"


@exact
class Partial(Placement):
    """Each rank has one node of the tree that folds the value."""

    __slots__ = ("monoid",)
    __match_args__ = ("monoid",)
    monoid: str

    def __new__(cls, reduce_op: str = "sum") -> Partial:
        """The single object of this class for a fold."""
        return single_placement(cls, "monoid", FOLDS.get(reduce_op, reduce_op))

    @property
    def reduce_op(self) -> str:
        """The fold, by PyTorch's name."""
        return next((word for word, fold in FOLDS.items() if fold == self.monoid), self.monoid)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.monoid,)

    def __repr__(self) -> str:
        return f"P({self.monoid})"


REPLICATED = Replicated()
VARYING = Varying()


def placement_of(value: object) -> Placement:
    """Return a placement; raises LayoutError for anything else, such as the number of an axis."""
    if not isinstance(value, Placement):
        raise LayoutError(
            f"placements: expected Shard, Replicate or Partial: got {value!r}. Say Shard(0) of the "
            "first axis, or Replicate()."
        )
    return value
