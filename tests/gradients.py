"""Gradients of one node, for tests of graphs that no tensors are behind. Not a test."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.ir.node import Node
from gnomon.passes.grad import pull_back


def gradients(root: Node, seed: Node, wanted: Sequence[Node]) -> list[Node | None]:
    """The gradient of <seed, root> by each wanted node; None where root does not depend on it."""
    return pull_back({root: seed}, wanted)
