"""Every value that a program computes on the way to some tensors, named by operation and line.

For whoever compares two runs of a program: a captured function gives them back beside its results.
The values are whole ones, however they lie over ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gnomon.ir.node import Node, topological
from gnomon.ir.provenance import PACKAGE
from gnomon.ops.histories import has_other_history
from gnomon.ops.layouts import LAYOUTS
from gnomon.program.listing import label
from gnomon.program.records import WEIGHTLESS
from gnomon.tensor.tensor import Tensor, detached, node_of, wrap

__all__ = ["ValueName", "computed_values", "whole_values"]

AROUND = f"{Path(PACKAGE).parent}/"
MOVED = WEIGHTLESS | LAYOUTS
"""Nodes whose elements are another one's."""


class ValueName(NamedTuple):
    """The name of a value: its operation, and the module and line of its source location."""

    phase: str
    """forward, backward or, where no line computed it, what it is."""
    module: str
    op: str
    line: str = ""
    """file:line, the path relative to the folder of this package if it is there."""
    index: int = 0
    """The number of earlier values of the same phase, module and operation."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The name without the line, which changes when a file is edited."""
        return self.phase, self.module, self.op, self.index


def computed_values(loss: Tensor, gradients: Sequence[Tensor] = ()) -> dict[ValueName, Tensor]:
    """Every value behind a loss, in the order of dependence, then those behind gradients."""
    counts: Counter[tuple[str, str, str]] = Counter()
    found: dict[ValueName, Tensor] = {}
    forward = topological([node_of(loss)])
    both = topological(map(node_of, gradients), known=forward)
    for phase, nodes in (("forward", forward), ("backward", both)):
        for node in filter(is_computed, nodes):
            found[name_of(node, phase, counts)] = wrap(detached(node))
    return found


def whole_values(tensors: Iterable[Tensor]) -> list[Tensor]:
    """The present values of tensors, unaffected by later writes."""
    return [wrap(detached(node_of(x))) for x in tensors]


def is_computed(node: Node) -> bool:
    """Whether a node is computed, and no view."""
    return bool(node.inputs) and node.op not in MOVED and not has_other_history(node)


def name_of(node: Node, phase: str, counts: Counter[tuple[str, str, str]]) -> ValueName:
    """The name of a node's value, with its occurrence number."""
    site = node.sites[0] if node.sites else None
    at = (phase, site.module if site else "", label(node))
    counts[at] += 1
    line = f"{site.file.removeprefix(AROUND)}:{site.line}" if site else ""
    return ValueName(*at, line, counts[at] - 1)
