"""Invariants that every pass must keep, checked after each when the setting `verify` is on.

A mistake found here is ours, never the user's.
"""

from __future__ import annotations

from gnomon.ir.node import Graph

__all__ = ["verify"]


def verify(name: str, before: Graph, after: Graph) -> None:
    """Check that a pass gave a closed graph with the same inputs and outputs to look at."""
    for what in ("inputs", "outputs"):
        was, now = ([(x.shape, x.dtype) for x in getattr(g, what)] for g in (before, after))
        assert was == now, f"{name}: {what} were {was} and became {now}."
    arenas = {x.arena for x in (*after.inputs, *after.nodes)}
    assert len(arenas) <= 1, f"{name}: the graph mixes {len(arenas)} arenas."
    loose = [x for x in after.nodes if x.op == "input" and x not in after.inputs]
    assert not loose, f"{name}: {loose} are read and not given."
    silent = [x for x in after.nodes if not x.sites and x.op != "const"]
    assert not silent, f"{name}: {silent} lost their lines."
