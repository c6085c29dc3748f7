"""Run times of kernels, printed where the debug dial asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from gnomon.ir.show import log
from gnomon.program.kernel import Kernel, traffic
from gnomon.program.listing import where
from gnomon.program.units import align_columns, metric
from gnomon.runtime import events
from gnomon.runtime.program import Call, Program
from gnomon.settings import current

__all__ = ["timed"]


class Made(Protocol):
    """A runnable program, and the descriptions of its kernels."""

    program: Program

    @property
    def kernels(self) -> Sequence[Kernel]:
        """The kernels, in the order of the program's table."""
        raise NotImplementedError


@contextmanager
def timed(made: Made) -> Iterator[None]:
    """A context that prints each kernel's time in runs inside, if the debug level asks for it."""
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
            log(2, lambda rows=rows: "\n".join(align_columns(rows)))


def times(made: Made, records: Sequence[Any]) -> list[tuple[str, ...]]:
    """Rows of each kernel: name, time of its slowest thread, speed, traffic, line."""
    rows = [k for k, step in enumerate(made.program.steps) if isinstance(step, Call)]
    only, found = current().debug_only, []
    for row, kernel in zip(rows, made.kernels, strict=True):
        spent = [(own[own[:, 0] == row, 2] - own[own[:, 0] == row, 1]).sum() for own in records]
        seconds = 1e-9 * max([1, *spent])
        if any(spent) and only in kernel.name:
            many = kernel.times / seconds
            speed, flow = (
                metric(kernel.flops * many, "flop/s"),
                metric(traffic(kernel) * many, "B/s"),
            )
            time = f"{1e6 * seconds:.3g} us"
            found.append((kernel.name, time, speed, flow, where(kernel)))
    return found
