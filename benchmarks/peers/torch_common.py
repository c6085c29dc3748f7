"""What torch's workloads share: threads, optimizer, and what torch says of itself."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from typing import Any

import torch


def prepared(problem: Any, variant_of_compile: str = "compile") -> bool:
    """Set threads; gives whether the program is to be compiled."""
    torch.set_num_threads(problem.threads)
    return problem.variant == variant_of_compile


def about() -> dict[str, str]:
    """Version, library of products and the path that it takes."""
    tuned = "tuned" in os.environ.get("LD_PRELOAD", "")
    found = re.search(r"Math Kernel Library Version ([\d.]+)", torch.__config__.show())
    library = f"MKL {found[1]}{', its best path' if tuned else ', stock'}" if found else "no MKL"
    onednn = "oneDNN" if torch.backends.mkldnn.is_available() else "no oneDNN"
    core = torch.backends.cpu.get_cpu_capability()
    return {"version": torch.__version__, "products": f"{library}; {onednn}; {core}"}


def groups(parameters: list[torch.Tensor], decay: float) -> list[dict]:
    """Matrices decay, vectors do not."""
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def training(
    problem: Any, loss_of: Callable, optimizer: torch.optim.Optimizer, batches: list[torch.Tensor]
) -> dict:
    """A step: loss, backward, optimizer, on the next batch."""
    turn = itertools.count()

    def step() -> float:
        place = next(turn) % len(batches[0])
        loss = loss_of(*(batch[place] for batch in batches))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return {"step": step, "about": about()}
