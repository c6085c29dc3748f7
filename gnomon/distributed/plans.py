"""Which axis of a parameter to split: the first that ranks can share in whole leaves.

An axis that ranks divide but leaves do not would have every sum over it gathered first: another
axis of the same parameter is better. How axes get names and mesh axes is not here.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.ir.node import Shape
from gnomon.ops.canonical import OTHERS, leaves
from gnomon.passes.layout import REPLICATED, Placement, Split


def shared_axis(shape: Shape, candidates: Sequence[int], ranks: int) -> Placement:
    """A split along the first candidate that cuts between leaves; else replicated.

    >>> shared_axis((1000, 512), (0, 1), 4), shared_axis((307, 512), (0, 1), 4)
    (S(0), S(1))
    """
    for axis in candidates:
        if leaves(shape[axis], OTHERS) % ranks == 0:
            return Split(axis)
    return REPLICATED
