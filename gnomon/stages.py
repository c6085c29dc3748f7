"""What a compilation tells of its parts: the debug dial, whoever listens; and the check after each.

Which parts there are is in compile.py.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns, perf_counter

from gnomon.ir.node import Graph
from gnomon.ir.show import log
from gnomon.ir.verify import verify
from gnomon.runtime import events
from gnomon.settings import current

__all__ = ["passed", "shown", "since"]


def shown(name: str, graph: Graph, step: Callable[[Graph], Graph]) -> Graph:
    """A graph after a pass, which the debug dial tells of, and which is checked if asked for."""
    start = perf_counter()
    made = step(graph)
    passed(f"{name}: {len(graph.nodes)} -> {len(made.nodes)} nodes", start)
    if current().verify:
        verify(name, graph, made)
    log(3, lambda: f"{name}: {len(graph.nodes)} -> {len(made.nodes)} nodes{since(start)}", name)
    return made


def passed(name: str, start: float) -> None:
    """Tell whoever listens what a part of a compilation took."""
    if events.heard():
        spent, end = perf_counter() - start, monotonic_ns()
        events.announce("compile", name=name, start=end - round(1e9 * spent), end=end)


def since(start: float) -> str:
    """The time that something took, as the end of a line."""
    return f", {1e3 * (perf_counter() - start):.3g} ms"
