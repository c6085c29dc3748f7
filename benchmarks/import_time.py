"""How long `import gnomon` takes in a fresh process: the median of nine, beside numpy alone.

Run by hand (python benchmarks/import_time.py) on an idle machine; the limit of the house is 150 ms.
The first run is not counted: it may have to compile byte code.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

PROGRAM = "from time import perf_counter as now; t = now(); import {}; print(now() - t)"


def milliseconds(package: str, runs: int = 9) -> float:
    """The median time of importing one package, interpreter start-up left out."""
    command = [sys.executable, "-c", PROGRAM.format(package)]
    keeps = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = [float(subprocess.check_output(command, text=True, env=keeps)) for _ in range(runs + 1)]
    return statistics.median(times[1:]) * 1000


def main() -> None:
    """Print one line per package."""
    for package in ("numpy", "gnomon"):
        print(f"import {package:8} {milliseconds(package):6.1f} ms")


if __name__ == "__main__":
    main()
