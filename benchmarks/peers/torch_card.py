"""The large programs of benchmarks/cuda/bundle.py by torch, eager, on a card: seconds of each."""

from __future__ import annotations

import json
from collections.abc import Callable

import torch
from torch.nn import functional as F


def seconds(work: Callable[[], object], times: int = 20) -> float:
    """The card's time of one call, the mean of `times`."""
    for _ in range(3):
        work()
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    began.record()
    for _ in range(times):
        work()
    ended.record()
    ended.synchronize()
    return began.elapsed_time(ended) / 1e3 / times


def main() -> None:
    """Print a line of JSON; products are float32 without TF32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    x, y = (torch.randn(4096, 4096, device="cuda") for _ in range(2))
    w, a, b = (torch.randn(n, device="cuda") for n in ((4096,), (1024, 1024), (1024, 1024)))
    works = {
        "large silu": lambda: F.silu(x) * y,
        "large softmax": lambda: F.softmax(x, -1),
        "large layer_norm": lambda: F.layer_norm(x, (4096,), w, w),
        "large sum of columns": lambda: x.sum(0),
        "large transpose": lambda: x.t().contiguous(),
        "large matmul": lambda: a @ b,
    }
    found = {name: seconds(work) for name, work in works.items()}
    print(json.dumps({"torch": torch.__version__} | found))


if __name__ == "__main__":
    main()
