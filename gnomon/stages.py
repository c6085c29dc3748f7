"""What a compilation tells of its parts: the debug dial, whoever listens; and the check after each.

Which parts there are is in compile.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic_ns, perf_counter
from typing import Any, Protocol

from gnomon.ir.node import Graph
from gnomon.ir.show import log
from gnomon.ir.verify import verify
from gnomon.listing import Kernel, aligned, scaled, traffic, where
from gnomon.runtime import events
from gnomon.runtime.program import Call, Program
from gnomon.settings import current

__all__ = ["passed", "shown", "since", "timed"]


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


class Made(Protocol):
    """A program that can run, and what is known of its kernels."""

    program: Program

    @property
    def kernels(self) -> Sequence[Kernel]:
        """In the order of the program's table."""
        raise NotImplementedError


@contextmanager
def timed(made: Made) -> Iterator[None]:
    """Print what each kernel took in the runs inside, if the dial asks for it."""
    heard: list[Mapping[str, Any]] = []

    def hear(kind: str, fields: Mapping[str, Any]) -> None:
        if kind == "run" and fields["caller"] is made:
            heard.append(fields)

    stop = events.subscribe(hear)
    try:
        yield
    finally:
        stop()
    for fields in heard:
        rows = times(made, fields["records"])
        if rows:
            log(2, lambda rows=rows: "\n".join(aligned(rows)))


def times(made: Made, records: Sequence[Any]) -> list[tuple[str, ...]]:
    """For each kernel its name, time, speed, traffic, line; the longest thread's time counts."""
    rows = [k for k, step in enumerate(made.program.steps) if isinstance(step, Call)]
    only, found = current().debug_only, []
    for row, kernel in zip(rows, made.kernels, strict=True):
        spent = [(own[own[:, 0] == row, 2] - own[own[:, 0] == row, 1]).sum() for own in records]
        seconds = 1e-9 * max([1, *spent])
        if any(spent) and only in kernel.name:
            many = kernel.times / seconds
            speed, flow = (
                scaled(kernel.flops * many, "flop/s"),
                scaled(traffic(kernel) * many, "B/s"),
            )
            time = f"{1e6 * seconds:.3g} us"
            found.append((kernel.name, time, speed, flow, where(kernel)))
    return found
