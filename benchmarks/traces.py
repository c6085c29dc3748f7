"""How long a profile of many events takes to be written as a trace, in each format.

Run by hand (python -m benchmarks.traces [events]) on an idle machine. One profile is of a made-up
step of 400 calls, each with an arrow from the run that launched it, and an allocation for every
eighth; the other of eager evaluation, where each call has a run of its own. The median of five
counts, with the file on the disk.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gnomon.profiler.chrome import write_chrome
from gnomon.profiler.model import BufferRecord, Event, Line, MachineLimits, Profile, Record
from gnomon.profiler.perfetto import write_perfetto

CALLS = 400


def made_up(count: int, together: int = CALLS) -> Profile:
    """A profile of so many events, of runs of so many calls."""
    size = BufferRecord("x", "input", "float32", (8, 512, 512), 8 << 20)
    records = {k: record(k, size) for k in range(CALLS)}
    events: list[Event] = []
    call = 0
    while len(events) < count:
        begin, k = 1000 * call, call % CALLS
        if call % together == 0:
            run = {"run": call // together}
            events.append(Event("span", "run", begin, begin + 1000 * together - 50, args=run))
        if k % 8 == 0:
            noted = {"buffer": len(events)}
            events.append(Event("alloc", "alloc", begin, begin, nbytes=4096 * k, args=noted))
        name = records[k].name
        events.append(Event("kernel", name, begin + 10, begin + 900, record=k, args=run))
        call += 1
    return Profile(MachineLimits("made up", 2, 1e11, 2e10), records, events[:count])


def record(k: int, size: BufferRecord) -> Record:
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
    """Print a line per format and kind of profile."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    for what, together in (("compiled", CALLS), ("eager", 1)):
        profile = made_up(count, together)
        with tempfile.TemporaryDirectory() as folder:
            for write, name in ((write_chrome, "trace.json"), (write_perfetto, "trace.pftrace")):
                path = Path(folder) / name
                took = seconds(write, profile, path)
                size = path.stat().st_size / 1e6
                print(f"{name}, {what}: {count} events in {took:.2f} s, {size:.0f} MB")


if __name__ == "__main__":
    main()
