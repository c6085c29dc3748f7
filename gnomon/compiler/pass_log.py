"""The log of passes: lines for the debug dial and for listeners, and the check after each pass."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns, perf_counter

from gnomon.ir.node import Graph
from gnomon.ir.show import log, since
from gnomon.ir.verify import verify
from gnomon.runtime import events
from gnomon.settings import current

__all__ = ["passed", "shown"]


def shown(name: str, graph: Graph, step: Callable[[Graph], Graph], divides: bool = False) -> Graph:
    """A graph after a pass, which the debug dial tells of, and which is checked if asked for.

    divides: the result is one rank's, whose inputs and outputs are parts.
    """
    start = perf_counter()
    made = step(graph)
    passed(f"{name}: {len(graph.nodes)} -> {len(made.nodes)} nodes", start)
    if current().verify:
        verify(name, graph, made, divides)
    log(3, lambda: f"{name}: {len(graph.nodes)} -> {len(made.nodes)} nodes{since(start)}", name)
    return made


def passed(name: str, start: float) -> None:
    """Tell whoever listens what a part of a compilation took."""
    if events.heard():
        spent, end = perf_counter() - start, monotonic_ns()
        events.announce("compile", name=name, start=end - round(1e9 * spent), end=end)
