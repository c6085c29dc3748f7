"""Whether the machine does anything else: other processes' time, and the peak that is left.

On systems without /proc only the peak is checked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["QuietWatch", "others_share", "spent_by", "wait_for_quiet"]

OTHERS = 0.06
"""The part of one core that other processes may take."""
WINDOW = 0.1
"""Seconds over which they are watched before a sample."""


def spent_by_all() -> float | None:
    """Seconds that all processors together have been busy; None if the system does not say."""
    try:
        line = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    except OSError:
        return None
    user, nice, system, _, _, irq, soft, steal = map(int, line.split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def spent_by(processes: Sequence[int]) -> float:
    """Seconds of processor time of some processes and of the children that they waited for."""
    total = 0
    for process in processes:
        try:
            text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        except OSError:
            continue
        total += sum(map(int, text.rpartition(")")[2].split()[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


class QuietWatch:
    """Inside `with QuietWatch(processes) as watch:`, others' share of a core, to be read later."""

    def __init__(self, processes: Sequence[int]) -> None:
        self.processes = processes
        self.others = 0.0
        self.seconds = 0.0

    def __enter__(self) -> QuietWatch:
        self.began = time.perf_counter()
        self.all, self.own = spent_by_all(), spent_by(self.processes)
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self.began
        after = spent_by_all()
        if after is not None and self.all is not None:
            own = spent_by(self.processes) - self.own
            self.others = max(0.0, (after - self.all - own) / max(self.seconds, 1e-3))

    @property
    def clean(self) -> bool:
        """Whether the sample had the machine to itself; ticks are too coarse for short samples."""
        allowed = OTHERS + 2 / os.sysconf("SC_CLK_TCK") / max(self.seconds, 1e-3)
        return self.others <= allowed


def others_share(processes: Sequence[int], seconds: float = WINDOW) -> float:
    """The part of a core that other processes take now."""
    with QuietWatch(processes) as watch:
        time.sleep(seconds)
    return watch.others


def wait_for_quiet(
    processes: Sequence[int], patience: float, peak: Callable[[], bool] = lambda: True
) -> bool:
    """Wait until other processes are idle and the peak is reached, up to `patience` seconds."""
    until = time.monotonic() + patience
    while True:
        if others_share(processes) <= 2 * OTHERS and peak():
            return True
        if time.monotonic() > until:
            return False
