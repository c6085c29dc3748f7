"""How good the model's choice of a register tile is: every candidate, over a table of products.

Run by hand (python -m benchmarks.selection [--json FILE]) on an idle machine. Candidates alternate
over operands that are more than L2 holds, as `mode="max-autotune"` measures them. The last column
is the model's time beside the second best: above 1.05 is a wrong choice, which the end counts.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import cyclopts
from rich.console import Console
from rich.table import Table

from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.compiler import autotuning as tuning
from gnomon.compiler.target import machine
from gnomon.runtime.threads import set_num_threads

SHAPES = [
    *((kind, n, n, n) for kind in ("NN", "NT", "TN") for n in (128, 256, 512, 1024)),
    *(("NT", 4096, n, 384) for n in (384, 1152, 1536)),
    *(("NN", 4096, 384, n) for n in (384, 1152, 1536)),
    *(("TN", 384, n, 4096) for n in (384, 1152, 1536)),
    *(("NT", 128, n, 64) for n in (64, 192, 256)),
    *(("NT", 4096, n, 384) for n in (1, 7, 16, 24, 31, 65, 100)),
    *(("NN", m, 768, 768) for m in (2, 5, 13, 17, 33, 100)),
    ("NN", 655360, 10, 10),
    ("TN", 10, 10, 65536),
]
"""Layout of A and B (T: stored transposed), rows, columns, steps: square, wide, thin, ragged."""
SECONDS, SLOW = 2.0, 1.05


def product(kind: str, m: int, n: int, k: int) -> MatmulSpec:
    """C = A B, contiguous as stored."""
    a = (k, 1) if kind[0] == "N" else (1, m)
    b = (n, 1) if kind[1] == "N" else (1, k)
    steps = (Axis(k, a=a[1], b=b[0]),)
    return MatmulSpec("float", (), (Axis(m, a=a[0], c=n),), (Axis(n, b=b[1], c=1),), steps)


def measured(kind: str, m: int, n: int, k: int) -> dict[str, object] | None:
    """One row of the table; None where a kernel of another kind leaves nothing to choose."""
    spec = product(kind, m, n, k)
    if len(tuning.candidates(spec, machine())) < 2:
        return None
    end = time.perf_counter() + SECONDS
    found = tuning.measure(spec, machine(), time.perf_counter, end)
    times = [seconds for _, seconds in found.timings]
    return {
        "product": f"{kind} {tuning.by((m, n, k))}",
        "tiles": [tuning.by(tile) for tile, _ in found.timings],
        "milliseconds": [1e3 * seconds for seconds in times],
        "model over best": times[0] / min(times),
        "model over second": times[0] / sorted(times)[1],
    }


def main(
    threads: int = 2, json_: Annotated[Path | None, cyclopts.Parameter("--json")] = None
) -> None:
    """Measure every product of the table, print it, and write it where asked."""
    set_num_threads(threads)
    rows = [row for shape in SHAPES if (row := measured(*shape))]
    table = Table("product", "tiles, the model's first", "ms", "model ÷ best", "÷ second best")
    for row in rows:
        times = ", ".join(f"{x:.3g}" for x in row["milliseconds"])
        ratios = (f"{row[name]:.3f}" for name in ("model over best", "model over second"))
        table.add_row(row["product"], ", ".join(row["tiles"]), times, *ratios)
    console, worst = Console(), max(row["model over best"] for row in rows)
    console.print(table)
    slow = sum(row["model over second"] > SLOW for row in rows)
    told = f"{slow} of {len(rows)} choices take 5 % longer than the second best"
    console.print(f"{told}; the worst takes {worst:.3f} of the best")
    if json_ is not None:
        json_.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    cyclopts.run(main)
