"""A fusion: nodes that one kernel could compute, the bytes that it moves, and the decision.

A fusion is a candidate, not a rewrite rule: bits are the same either way, so that bytes or a
measurement (gnomon/compiler/autotuning.py) may decide.
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
"""Kinds that spare a buffer, and are done in doubt: measurements do not see memory."""


@dataclass(frozen=True)
class FusionVerdict:
    """The seconds of a fusion's two forms, the seconds of measuring, and the source."""

    apart: float
    together: float
    seconds: float
    source: str = "measured"

    def pays(self, kind: str) -> bool:
        """Whether the fused form is clearly faster; for kinds that spare a buffer, not slower."""
        if kind in SPARING:
            return self.apart > FASTER * self.together
        return self.together <= FASTER * self.apart


@dataclass(frozen=True)
class Fusion:
    """A fusion decision: a node, the nodes to compute in its kernel, bytes without and with."""

    maker: Node
    nodes: tuple[Node, ...]
    apart: int
    together: int
    refused: str = ""
    """The reason against it; empty if it is done."""
    kind: str = "epilogue"
    """Or "prologue"; "join": the value is not stored; "share": it is read once; "recompute"."""
    measured: FusionVerdict | None = None
    modelled: str = ""
    """The reason against it by bytes alone, if it was measured."""

    @property
    def regret(self) -> float:
        """The extra time of the form that bytes would choose, relative to the chosen form."""
        apart, together = (self.measured.apart, self.measured.together) if self.measured else (1, 1)
        return (apart if self.modelled else together) / (apart if self.refused else together) - 1


class Weighed(NamedTuple):
    """A note on computing two nodes in one kernel, made while that is decided.

    value: the one that the fusion need not read from memory: the maker's result, or one that both
    read.
    """

    kind: str
    value: Node
    maker: Node
    reader: Node
    refused: str = ""
    judged: Fusion | None = None
    """The measured decision, if a judge was asked."""


Decision = Fusion | Weighed
"""A decision or a note of a step of a partition."""
Act = Callable[[Placed, Node, tuple[Node, ...]], object]
"""A function that performs a fusion in place, given its maker and its nodes."""
Judge = Callable[[Placed, Fusion, Act], Fusion]
"""A function that decides a fusion by measurements."""
