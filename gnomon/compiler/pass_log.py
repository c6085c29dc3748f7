"""The log of passes: debug lines, events for listeners, and the check after each pass."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns, perf_counter

from gnomon.ir.node import Graph
from gnomon.ir.show import log, since
from gnomon.ir.verify import verify
from gnomon.runtime import events
from gnomon.settings import current

__all__ = ["passed", "run_pass"]


def run_pass(
    name: str, graph: Graph, step: Callable[[Graph], Graph], divides: bool = False
) -> Graph:
    """Run a pass on a graph, log it, and verify the result if the settings ask for it.

    divides: whether the result is one rank's program, whose inputs and outputs are parts.
    """
    start = perf_counter()
    made = step(graph)
    passed(f"{name}: {len(graph.nodes)} -> {len(made.nodes)} nodes", start)
    if current().verify:
        verify(name, graph, made, divides)
    log(3, lambda: f"{name}: {len(graph.nodes)} -> {len(made.nodes)} nodes{since(start)}", name)
    return made


def passed(name: str, start: float) -> None:
    """Announce the time that a part of a compilation took, if there are listeners."""
    if events.heard():
        spent, end = perf_counter() - start, monotonic_ns()
        events.announce("compile", name=name, start=end - round(1e9 * spent), end=end)
