"""How long `import gnomon` takes in a fresh process: the median of nine, beside numpy alone.

Run by hand (python benchmarks/import_time.py); the limit of the house is 150 ms.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

PROGRAM = "from time import perf_counter as now; t = now(); import {}; print(now() - t)"


def milliseconds(package: str, runs: int = 9) -> float:
    """The median time of importing one package, interpreter start-up left out."""
    command = [sys.executable, "-c", PROGRAM.format(package)]
    times = [float(subprocess.check_output(command, text=True)) for _ in range(runs)]
    return statistics.median(times) * 1000


def main() -> None:
    """Print one line per package."""
    for package in ("numpy", "gnomon"):
        print(f"import {package:8} {milliseconds(package):6.1f} ms")


if __name__ == "__main__":
    main()
