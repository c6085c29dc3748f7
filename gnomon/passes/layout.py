"""The costs of changing the placement of a value over the ranks of one mesh axis.

The choice of a mesh, and of a layout for each parameter, is policy: gnomon/distributed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from gnomon.ir.node import Node, Shape
from gnomon.ops.placements import Partial, Placement, Replicated, Split, Varying


class Prices(NamedTuple):
    """The prices of moving, per byte of the whole value."""

    all_gather: float
    all_to_all: float
    all_reduce: float
    reduce_scatter: float


NETWORK = Prices(all_gather=1.0, all_to_all=0.5, all_reduce=2.0, reduce_scatter=1.0)
"""Costs as bytes on the wire, up to a factor (ranks - 1) / ranks."""
TIME = Prices(all_gather=1.0, all_to_all=1.0, all_reduce=0.0, reduce_scatter=1.0)
"""Between microbatches of one rank a sum costs nothing; keeping each one's part costs memory."""


@dataclass(frozen=True)
class MeshAxis:
    """The mesh axis that a program is divided over: its name, its ranks, and rules."""

    name: str
    ranks: int
    prices: Prices = NETWORK
    ordered: bool = True
    """Whether sums keep canonical order: cut at subtrees only, and combined as a tree."""
    beside: frozenset[str] = frozenset()
    """The program's other mesh axes, whose collectives give the same to all ranks of this one."""
    own: bool = False
    """Whether sums over rows are cut where a rank's own rows end, wherever that is in the tree."""


def move_price(have: Placement, want: Placement, x: Node, across: MeshAxis) -> float:
    """The cost of changing the placement of x; infinite when that makes no sense."""
    size, prices = x.size * x.dtype.itemsize, across.prices
    match have, want:
        case _ if have == want:
            return 0.0
        case Varying(), Replicated():
            return 0.0
        case Replicated(), Split():
            return 0.0
        case Split(), Replicated():
            return size * prices.all_gather
        case Split(), Split():
            return size * prices.all_to_all
        case Partial(), Replicated():
            return size * prices.all_reduce
        case Partial(), Split():
            return size * prices.reduce_scatter
        case _:
            return math.inf


def is_whole(placement: Placement) -> bool:
    """Whether a placement is replicated: each rank has the whole value, and no sum is pending."""
    return isinstance(placement, Replicated)


def local_shape(shape: Shape, placement: Placement, ranks: int) -> Shape:
    """The shape of one rank's part.

    >>> local_shape((8, 6), Split(0), 2), local_shape((8, 6), Partial("add"), 2)
    ((4, 6), (8, 6))
    """
    if not isinstance(placement, Split):
        return shape
    k = placement.axis
    return (*shape[:k], shape[k] // ranks, *shape[k + 1 :])


def can_be_split(shape: Shape, placement: Placement, ranks: int) -> bool:
    """Whether a value of this shape can be sharded so over that many ranks."""
    if not isinstance(placement, Split):
        return True
    return placement.axis < len(shape) and shape[placement.axis] % ranks == 0
