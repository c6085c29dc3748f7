"""A profile of benchmark steps: time by kernel, recorded by the runtime, summed by code.

For reports of the benchmark; it listens to gnomon/runtime/events.py while a few steps run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.program.kernel import Kernel, traffic
from gnomon.program.listing import shapes
from gnomon.runtime import events
from gnomon.runtime.program import Call

__all__ = ["profile"]


def profile(step: Callable[[], object], steps: int) -> list:
    """Per kernel code, the costliest first: name, calls, least seconds, flops, bytes, operands.

    Only the program of most calls counts: the one that a step is.
    """
    heard: list[Mapping[str, Any]] = []
    stop = events.subscribe(lambda kind, fields: heard.append(dict(fields)))
    try:
        for _ in range(steps):
            step()
    finally:
        stop()
    runs = [fields for fields in heard if "records" in fields and fields["caller"]]
    longest = max((len(calls_of(fields)) for fields in runs), default=0)
    runs = [fields for fields in runs if len(calls_of(fields)) == longest]
    if not runs:
        return []
    spent = [spans(fields["records"], calls_of(fields)) for fields in runs]
    seconds = [min(column) for column in zip(*spent, strict=True)]
    return summed(runs[-1]["caller"].kernels, seconds)


def calls_of(fields: Mapping[str, Any]) -> list[int]:
    """The steps of a program that are calls of kernels."""
    return [k for k, step in enumerate(fields["program"].steps) if isinstance(step, Call)]


def spans(records: list[np.ndarray], calls: list[int]) -> list[float]:
    """Seconds of each call of one run: the longest of its threads."""
    seconds = np.zeros((len(records), max(calls) + 1))
    for thread, rows in enumerate(records):
        np.add.at(seconds[thread], rows[:, 0], 1e-9 * (rows[:, 2] - rows[:, 1]))
    return seconds.max(0)[calls].tolist()


def summed(kernels: Sequence[Kernel], seconds: list[float]) -> list[dict]:
    """Calls of one code with operands of the same sizes as one row."""
    groups: dict[tuple, list[tuple[Kernel, float]]] = defaultdict(list)
    for kernel, taken in zip(kernels, seconds, strict=True):
        groups[kernel.code.symbol, kernel.size].append((kernel, taken))
    rows = [row([k for k, _ in g], sum(s for _, s in g)) for g in groups.values()]
    return sorted(rows, key=lambda row: -row["seconds"])


def row(kernels: list[Kernel], seconds: float) -> dict:
    """One row."""
    first = kernels[0]
    given, made = first.buffers[first.outputs :], first.buffers[: first.outputs]
    return {
        "name": first.name,
        "calls": len(kernels),
        "seconds": seconds,
        "flops": sum(k.flops for k in kernels),
        "bytes": sum(map(traffic, kernels)),
        "operands": f"{shapes(given)} -> {shapes(made)}".lstrip(),
        "line": str(first.sites[0]) if first.sites else "",
    }
