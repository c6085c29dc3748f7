"""A transformer block's training step beside torch eager: forward, mean square, all gradients.

Run by hand (python -m benchmarks.block [threads]) on an idle machine. Both run alternately on the
same threads and the same numbers; the median counts, and the best says how quiet the machine was.
How far their results are apart is printed too. Writes runs/block.json.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch.nn import functional as F

from gnomon.compiler.build import build
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.threads import set_num_threads
from tests.blocks import block, block_shapes, inputs_of, step

SIZES = ((8, 256, 256, 4), (8, 256, 384, 6))
"""(batch, tokens, width, heads); the MLP is 8/3 as wide, in steps of 64."""
LIMIT = 3.0
"""A step may take so many times torch's."""


@dataclass(frozen=True)
class Row:
    """One size's figures: milliseconds, and how far results are from torch's."""

    batch: int
    tokens: int
    width: int
    heads: int
    gnomon_ms: float
    torch_ms: float
    gnomon_best_ms: float
    torch_best_ms: float
    ratio: float
    gflops: float
    compile_s: float
    kernels: int
    difference: float


def torch_step(heads: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """The same step as tests/blocks.py, in torch."""
    x_btd, norm1, wq, wk, wv, wo, norm2, gate, up, down = tensors
    b, t, d = x_btd.shape

    def split(z_btd: torch.Tensor) -> torch.Tensor:
        return z_btd.view(b, t, heads, d // heads).transpose(1, 2)

    y_btd = F.rms_norm(x_btd, (d,), norm1, 1e-5)
    q, k, v = (split(F.linear(y_btd, w)) for w in (wq, wk, wv))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    h_btd = x_btd + F.linear(mixed.transpose(1, 2).reshape(b, t, d), wo)
    y_btd = F.rms_norm(h_btd, (d,), norm2, 1e-5)
    out = h_btd + F.linear(F.silu(F.linear(y_btd, gate)) * F.linear(y_btd, up), down)
    loss = (out * out).sum() / out.numel()
    return [loss.detach(), *torch.autograd.grad(loss, tensors)]


def alternated(one: Callable, other: Callable, rounds: int, repeat: int) -> list[list[float]]:
    """The milliseconds of two functions that run alternately."""
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for f, kept in zip((one, other), times, strict=True):
            for _ in range(repeat):
                start = perf_counter()
                f()
                kept.append(1e3 * (perf_counter() - start))
    return times


def measure(b: int, t: int, d: int, heads: int, rounds: int = 6) -> Row:
    """One size."""
    f = -(-d * 8 // (3 * 64)) * 64
    shapes = block_shapes(b, t, d, f)
    arrays, graph = inputs_of(shapes), step(block(heads), shapes)
    start = perf_counter()
    executable = build(graph)
    compiled = perf_counter() - start
    buffers = [DeviceBuffer.of(x) for x in arrays]
    tensors = [torch.from_numpy(x.copy()).requires_grad_() for x in arrays]
    found, expected = executable.run(buffers), torch_step(heads, tensors)
    times = alternated(
        lambda: executable.run(buffers), lambda: torch_step(heads, tensors), rounds, 2
    )
    ours, theirs = map(statistics.median, times)
    flops = 3 * (2 * b * t * d * (4 * d + 3 * f) + 2 * b * t * t * d)
    return Row(
        **{"batch": b, "tokens": t, "width": d, "heads": heads},
        **{"gnomon_ms": ours, "torch_ms": theirs, "ratio": ours / theirs},
        **{"gnomon_best_ms": min(times[0]), "torch_best_ms": min(times[1])},
        **{"gflops": flops / ours / 1e6, "compile_s": compiled},
        kernels=len(executable.kernels),
        difference=largest_difference(graph.outputs, found, expected),
    )


def largest_difference(nodes, found: list[DeviceBuffer], expected: list[torch.Tensor]) -> float:
    """The largest distance from torch's results, in parts of each tensor's largest element."""
    worst = 0.0
    for node, ours, theirs in zip(nodes, found, expected, strict=True):
        reference = theirs.numpy()
        gap = np.abs(ours.numpy(node.dtype.numpy, node.shape) - reference).max()
        worst = max(worst, float(gap / np.abs(reference).max()))
    return worst


def blas() -> str:
    """What torch multiplies matrices with, and the instructions that it found."""
    config = torch.__config__.show()
    library = "MKL" if "BLAS_INFO=mkl" in config else "OpenBLAS" if "open" in config else "other"
    onednn = torch.backends.mkldnn.is_available()
    return f"{library}, {torch.backends.cpu.get_cpu_capability()}, oneDNN {onednn}"


def main() -> int:
    """Print a table, write it as JSON, and say whether the limit holds."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    set_num_threads(threads)
    torch.set_num_threads(threads)
    print(f"torch {torch.__version__} ({blas()}), {threads} of {os.cpu_count()} threads")
    print("   b    t    d   h  gnomon (best)     torch (best)     ratio  GFLOP/s", end="")
    print("  compile  kernels  difference")
    rows = []
    for size in SIZES:
        row = measure(*size)
        rows.append(row)
        print(
            f"{row.batch:4} {row.tokens:4} {row.width:4} {row.heads:3}"
            f"  {row.gnomon_ms:5.1f} ({row.gnomon_best_ms:5.1f}) ms"
            f"  {row.torch_ms:5.1f} ({row.torch_best_ms:5.1f}) ms {row.ratio:6.2f}"
            f" {row.gflops:8.0f} {row.compile_s:6.2f} s {row.kernels:8} {row.difference:11.1e}"
        )
    place = Path("runs/block.json")
    place.parent.mkdir(exist_ok=True)
    place.write_text(
        json.dumps(
            {"threads": threads, "blas": blas(), "rows": [asdict(r) for r in rows]}, indent=2
        ),
        encoding="utf-8",
    )
    return int(any(row.ratio > LIMIT for row in rows))


if __name__ == "__main__":
    sys.exit(main())
