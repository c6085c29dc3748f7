"""One training step of `gnomon train`, timed; beside it the same source under torch, if installed.

Run by hand on an idle machine (python benchmarks/train_step.py [--compile]): every side takes a
few steps, and the median counts. The model's file is read as text and only its imports are changed,
so both sides run the same lines. A cold start compiles with an empty cache, a warm one with a full.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import gnomon as gn
from gnomon import settings
from gnomon.models import decoder
from gnomon.models.initialization import initialize
from gnomon.train.config import Config
from gnomon.train.recipes import python
from gnomon.train.step import TrainStep, make_optimizer

STEPS = 12
SWAPS = {
    "import gnomon as gn": "import torch as gn",
    "from gnomon import nn": "from torch import nn",
    "from gnomon.nn import functional as F": "from torch.nn import functional as F",
}

Takes = Callable[[np.ndarray], Any]


def windows(config: Config) -> np.ndarray:
    """Tokens for one step."""
    shape = (config.train.batch_size, config.train.sequence_length + 1)
    return np.random.default_rng(0).integers(0, config.model.vocab_size, shape)


def ours(config: Config) -> tuple[Takes, TrainStep]:
    """A step of Gnomon."""
    model = decoder.DecoderForCausalLM(config.model)
    initialize(model, 0)
    step = TrainStep(model, make_optimizer(model, config), config)
    return lambda window: step(window, 1e-3), step


def swapped() -> ModuleType:
    """The model's module with torch in place of Gnomon."""
    text = Path(decoder.__file__).read_text(encoding="utf-8")
    for old, new in SWAPS.items():
        assert text.count(f"\n{old}\n") == 1, f"the model no longer says {old!r}."
        text = text.replace(f"\n{old}\n", f"\n{new}\n")
    module = ModuleType("qwen3_under_torch")
    exec(compile(text, decoder.__file__, "exec"), vars(module))
    return module


def theirs(config: Config, compiled: bool) -> Takes:
    """A step of torch."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(gn.get_num_threads())
    model = swapped().DecoderForCausalLM(config.model)
    initialize_torch(torch, model, config)
    losses = torch.compile(model.losses) if compiled else model.losses
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step(window: np.ndarray) -> float:
        optimizer.zero_grad()
        loss = losses(torch.from_numpy(window)).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.optimizer.clip_norm)
        optimizer.step()
        return loss.item()

    return step


def initialize_torch(torch: Any, model: Any, config: Config) -> None:
    """Give torch's model the first weights of ours."""
    first = decoder.DecoderForCausalLM(config.model)
    initialize(first, 0)
    values = {name: torch.from_numpy(p.detach().numpy()) for name, p in first.named_parameters()}
    model.load_state_dict(values)


def timed(step: Takes, window: np.ndarray) -> tuple[float, float]:
    """Seconds of the two steps that compile, beyond computing, and of a later one."""
    times = []
    for _ in range(2 + STEPS):
        began = time.perf_counter()
        step(window)
        times.append(time.perf_counter() - began)
    usual = statistics.median(times[2:])
    return sum(times[:2]) - 2 * usual, usual


def line(name: str, config: Config, first: float, usual: float) -> str:
    """One side's figures."""
    tokens = config.train.batch_size * config.train.sequence_length / usual
    return f"{name:20} {usual * 1e3:8.1f} ms  {tokens:8,.0f} tokens/s  {first:6.2f} s to compile"


def main() -> None:
    """Print a line for each side."""
    config = python()
    window = windows(config)
    with tempfile.TemporaryDirectory() as folder, settings.override(cache_dir=folder):
        takes, step = ours(config)
        print(line("gnomon, cold", config, *timed(takes, window)))
        takes, step = ours(config)
        print(line("gnomon, warm", config, *timed(takes, window)), f" {step.kernels} kernels")
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed: pip install -e '.[parity]'")
        return
    print(line("torch, eager", config, *timed(theirs(config, False), window)))
    if "--compile" in sys.argv:
        print(line("torch, compiled", config, *timed(theirs(config, True), window)))


if __name__ == "__main__":
    main()
