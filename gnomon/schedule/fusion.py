"""A fusion: nodes that one kernel could compute, what it moves, and what was decided about it.

A fusion is a candidate, never a rewrite: bits are the same either way, so that bytes may decide, or
a stopwatch (gnomon/compiler/autotuning.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gnomon.ir.node import Node
from gnomon.schedule.placed import Placed

FASTER = 0.97
"""The largest share of the other's time at which a measured form counts as faster."""
SPARING = ("join", "recompute")
"""Kinds that spare a buffer, so that they are done in doubt: who measures sees no memory."""


@dataclass(frozen=True)
class FusionVerdict:
    """The seconds of a fusion's two forms, what finding out took, and whence it is known."""

    apart: float
    together: float
    seconds: float
    source: str = "measured"

    def pays(self, kind: str) -> bool:
        """Whether computing together is clearly faster; of what spares a buffer, not slower."""
        if kind in SPARING:
            return self.apart > FASTER * self.together
        return self.together <= FASTER * self.apart


@dataclass(frozen=True)
class Fusion:
    """A decision: a node, what could be computed in its kernel, the bytes without and with."""

    maker: Node
    nodes: tuple[Node, ...]
    apart: int
    together: int
    refused: str = ""
    """Why not; empty where it is done."""
    kind: str = "epilogue"
    """Or "prologue"; "join": what is read is not stored; "share": it is read once; "recompute":
    made again."""
    measured: FusionVerdict | None = None
    modelled: str = ""
    """Why not by bytes alone, where it was measured."""

    @property
    def regret(self) -> float:
        """The regret of bytes: the extra time of the form that they would choose, as a part."""
        apart, together = (self.measured.apart, self.measured.together) if self.measured else (1, 1)
        return (apart if self.modelled else together) / (apart if self.refused else together) - 1


class Weighed(NamedTuple):
    """A note on computing two nodes in one kernel, made while it is decided.

    value: what they would not have to read from memory; that of the maker, except where both read.
    """

    kind: str
    value: Node
    maker: Node
    reader: Node
    refused: str = ""
    judged: Fusion | None = None
    """The decision, where somebody was asked who knows more than bytes."""


Decision = Fusion | Weighed
"""The result of a step of a partition."""
Act = Callable[[Placed, Node, tuple[Node, ...]], object]
"""What makes the one form of a fusion from the other, in place: given its maker and its nodes."""
Judge = Callable[[Placed, Fusion, Act], Fusion]
"""What knows more of a fusion than its bytes."""
