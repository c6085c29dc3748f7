"""The first training step of strangers' scripts: seconds of processor and wall time, cold and warm.

Run by hand (python -m benchmarks.first_steps [--only NAME;...] [--json PATH] [--profile]). Each
script of tests/parity/scripts, and two deep ones written here, takes one step in a process of its
own: cold, with nothing on the disk, then warm, with what that left there. The import is not
counted; threads are two. `--profile` lists the functions that took longest, of all cold steps.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import gnomon as gn
from gnomon import nn
from gnomon.settings import override
from tests.parity.harness import filler, load, scripts

EAGER_ONLY = ("dqn", "moe_ragged", "seq2seq_lstm")
"""Scripts that look at values within a step."""
LATER = ("kmeans",)
"""Scripts that train after something else."""


class DenseLayer(nn.Module):
    """A layer of DenseNet: what it makes stands beside what it was given."""

    def __init__(self, channels: int, growth: int = 32) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(4 * growth)
        self.conv1 = nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """The channels of x, then `growth` new ones."""
        y = self.conv1(self.norm1(x).relu())
        return gn.cat([x, self.conv2(self.norm2(y).relu())], 1)


def densenet121(classes: int = 10) -> nn.Module:
    """DenseNet121 (arXiv:1608.06993, table 1)."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, stride=2, padding=3), nn.BatchNorm2d(64)]
    layers += [nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for depth in (6, 12, 24, 16):
        layers += [DenseLayer(channels + 32 * k) for k in range(depth)]
        channels += 32 * depth
        if depth != 16:
            layers += [nn.BatchNorm2d(channels), nn.ReLU()]
            layers += [nn.Conv2d(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(), *head)


def convolution(channels: int, made: int, size: int, **options: int) -> nn.Module:
    """A convolution, normed."""
    conv = nn.Conv2d(channels, made, size, padding=size // 2, bias=False, **options)
    return nn.Sequential(conv, nn.BatchNorm2d(made), nn.ReLU())


class Inception(nn.Module):
    """Four ways side by side: of 1, of 3, of 5, and pooled."""

    def __init__(self, channels: int, *made: int) -> None:
        super().__init__()
        one, reduced3, three, reduced5, five, pooled = made
        self.ways = nn.ModuleList(
            [
                convolution(channels, one, 1),
                nn.Sequential(convolution(channels, reduced3, 1), convolution(reduced3, three, 3)),
                nn.Sequential(convolution(channels, reduced5, 1), convolution(reduced5, five, 5)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), convolution(channels, pooled, 1)),
            ]
        )

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """The channels of all ways."""
        return gn.cat([way(x) for way in self.ways], 1)


MODULES = (
    *((192, 64, 96, 128, 16, 32, 32), (256, 128, 128, 192, 32, 96, 64), ()),
    *((480, 192, 96, 208, 16, 48, 64), (512, 160, 112, 224, 24, 64, 64)),
    *((512, 128, 128, 256, 24, 64, 64), (512, 112, 144, 288, 32, 64, 64)),
    *((528, 256, 160, 320, 32, 128, 128), ()),
    *((832, 256, 160, 320, 32, 128, 128), (832, 384, 192, 384, 48, 128, 128)),
)
"""The channels that each module is given and makes; pooling in between."""


def googlenet(classes: int = 10) -> nn.Module:
    """GoogLeNet (arXiv:1409.4842, table 1), with norms in place of those across channels."""
    layers = [convolution(3, 64, 7, stride=2), nn.MaxPool2d(3, 2, 1)]
    layers += [convolution(64, 64, 1), convolution(64, 192, 3), nn.MaxPool2d(3, 2, 1)]
    layers += [Inception(*sizes) if sizes else nn.MaxPool2d(3, 2, 1) for sizes in MODULES]
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, classes))
    return nn.Sequential(*layers, *head)


def step_of(model: nn.Module, loss_of: Callable[[], gn.Tensor]) -> None:
    """One compiled step of SGD."""
    optimizer = gn.optim.SGD(model.parameters(), lr=0.01)

    @gn.compile
    def step() -> gn.Tensor:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    step().item()


def on_images(model: nn.Module) -> None:
    """Four images of 64 by 64."""
    x, y = gn.randn(4, 3, 64, 64), gn.tensor([0, 1, 2, 3])
    step_of(model, lambda: nn.functional.cross_entropy(model(x), y))


def lstm_loop() -> None:
    """An LSTM cell, 120 times."""
    cell, x = nn.LSTMCell(16, 32), gn.randn(120, 8, 16)

    def loss_of() -> gn.Tensor:
        h, c = gn.zeros(8, 32), gn.zeros(8, 32)
        for t in range(120):
            h, c = cell(x[t], (h, c))
        return (h * h).mean()

    step_of(cell, loss_of)


OWN = {
    "densenet121": lambda: on_images(densenet121()),
    "googlenet": lambda: on_images(googlenet()),
    "lstm_loop": lstm_loop,
}


def measured(name: str, profile: str) -> None:
    """Take a script's first step, and print what it took."""
    with override(num_threads=2):
        run = OWN.get(name) or first_step(name)
        profiler = cProfile.Profile()
        wall, busy = perf_counter(), process_time()
        if profile:
            profiler.runcall(run)
            profiler.dump_stats(profile)
        else:
            run()
        print(json.dumps([process_time() - busy, perf_counter() - wall]))


def first_step(name: str) -> Callable[[], object]:
    """A function that takes one step of a script of tests/parity."""
    main = load(name, "gnomon").main
    return lambda: main(1, gn.float32, name not in EAGER_ONLY, filler(gn))


def child(name: str, folder: str, profile: str = "") -> tuple[float, float]:
    """Processor and wall seconds of a first step in a process of its own."""
    words = ["--child", name, *(["--profile", profile] if profile else [])]
    busy, wall = measured_apart("benchmarks.first_steps", words, folder)
    return busy, wall


def measured_apart(module: str, words: list[str], folder: str) -> Any:
    """The last line that a benchmark prints in a process of its own, with this cache folder."""
    told = {"GNOMON_CACHE_DIR": folder, "GNOMON_KEEP_PROGRAMS": "1"}
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | told
    command = [sys.executable, "-m", module, *words]
    return json.loads(subprocess.check_output(command, env=env, text=True).splitlines()[-1])


def rows(names: list[str], profile: str) -> dict[str, list[float]]:
    """For each script: processor and wall seconds, cold, then warm."""
    found = {}
    print(f"{'script':<16} {'cold: busy':>10} {'wall s':>7} {'warm: busy':>11} {'wall s':>7}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            kept = str(Path(profile, name)) if profile else ""
            found[name] = [*child(name, folder, kept), *child(name, folder)]
        print(f"{name:<16} {'{:10.2f} {:7.2f} {:11.2f} {:7.2f}'.format(*found[name])}", flush=True)
    columns = list(zip(*found.values(), strict=True))
    for told, fold in (("median", statistics.median), ("worst", max)):
        print(f"{told:<16} {'{:10.2f} {:7.2f} {:11.2f} {:7.2f}'.format(*map(fold, columns))}")
    return found


def main() -> None:
    """Measure all, or some."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--only", default="")
    words.add_argument("--json", default="")
    words.add_argument("--profile", default="", help="a folder")
    words.add_argument("--child", default="")
    asked = words.parse_args()
    if asked.child:
        measured(asked.child, asked.profile)
        return
    chosen = (
        asked.only.split(";")
        if asked.only
        else [*(name for name in scripts() if name not in LATER), *OWN]
    )
    found = rows(chosen, asked.profile)
    if asked.profile:
        stats = pstats.Stats(*[str(Path(asked.profile, name)) for name in chosen])
        stats.sort_stats("tottime").print_stats(40)
    if asked.json:
        Path(asked.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
