"""How long a profile of many events takes to be written as a trace, in each format.

Run by hand (python -m benchmarks.traces [events]) on an idle machine. The profile is of a made-up
step of 400 calls, each with an arrow from the run that launched it, and an allocation for every
eighth; the median of five counts, with the file on the disk.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gnomon.profiler.chrome import write_chrome
from gnomon.profiler.model import Buffer, Event, Line, Machine, Profile, Record
from gnomon.profiler.perfetto import write_perfetto

CALLS = 400


def made_up(count: int) -> Profile:
    """A profile of so many events."""
    size = Buffer("x", "input", "float32", (8, 512, 512), 8 << 20)
    records = {k: record(k, size) for k in range(CALLS)}
    events: list[Event] = []
    start = 0
    while len(events) < count:
        events.append(Event("span", "step", start, start + 1000 * CALLS + 500))
        for k in range(CALLS):
            begin = start + 1000 * k
            if k % 8 == 0:
                noted = {"buffer": len(events)}
                events.append(Event("alloc", "alloc", begin, begin, nbytes=4096 * k, args=noted))
            events.append(Event("kernel", records[k].name, begin + 10, begin + 900, record=k))
        start += 1000 * (CALLS + 1)
    return Profile(Machine("made up", 2, 1e11, 2e10), records, events[:count])


def record(k: int, size: Buffer) -> Record:
    """One call of two lines and three buffers."""
    module = f"layers.{k % 12}.attention.q_proj"
    lines = tuple(
        Line("project/train.py", n, "forward", module, "backward") for n in (k + 1, k + 2)
    )
    name = f"contract_map_add_{k}"
    return Record(k, name, f"k{k % 50}", "step", lines, (), (size,) * 3, 10**8, 3 * size.nbytes)


def seconds(write: Callable[[Profile, Path], None], profile: Profile, path: Path) -> float:
    """The median time of five."""
    times: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        write(profile, path)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print a line per format."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    profile = made_up(count)
    with tempfile.TemporaryDirectory() as folder:
        for write, name in ((write_chrome, "trace.json"), (write_perfetto, "trace.pftrace")):
            path = Path(folder) / name
            took = seconds(write, profile, path)
            print(f"{name}: {count} events in {took:.2f} s, {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
