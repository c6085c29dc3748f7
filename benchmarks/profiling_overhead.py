"""What profiling costs: a training step with and without a listener, alternately; and per event.

Run by hand (python -m benchmarks.profiling_overhead [pairs]). Everything is on one thread and in
the time of that thread, so that other work on the machine counts little. Each pair of steps is in
random order; the interval is a bootstrap's, at 95 %. The last figure is what lines cost while a
step is compiled: its capture and passes with lines looked up, and with one line for all.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import thread_time_ns

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.ir import memo, provenance
from gnomon.ir.provenance import Site, inherit
from gnomon.models.config import Qwen3Config
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.profiler.collect import Collector
from gnomon.runtime import threads
from gnomon.tensor import operators, tensor

NOWHERE = (Site("model.py", 1, "model"),)


def step_of(layers: int, width: int) -> Callable[[], object]:
    """A compiled training step of a small language model on 4 windows of 128 tokens."""
    model = DecoderForCausalLM(
        Qwen3Config(
            vocab_size=512,
            hidden_size=width,
            intermediate_size=3 * width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=width // 4,
        )
    )
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-3)
    window = gn.from_numpy(np.random.default_rng(0).integers(0, 512, (4, 129)))

    @gn.compile
    def step(window):
        optimizer.zero_grad()
        loss = model.losses(window).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return lambda: step(window)


def spent(work: Callable[[], object]) -> int:
    """Nanoseconds of this thread."""
    start = thread_time_ns()
    work()
    return thread_time_ns() - start


def recorded(work: Callable[[], object]) -> tuple[int, int]:
    """Nanoseconds of this thread while somebody listens, and how many calls were heard."""
    collector = Collector()
    collector.start()
    try:
        return spent(work), collector.calls
    finally:
        collector.stop()


def interval(ratios: np.ndarray, rng: np.random.Generator) -> tuple[float, float, float]:
    """The median, and between what it lies, in per cent over 1."""
    draws = np.median(rng.choice(ratios, (2000, len(ratios))), axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return tuple(100 * (x - 1) for x in (np.median(ratios), low, high))


def compare_steps(step: Callable[[], object], pairs: int, rng: np.random.Generator) -> None:
    """Print what listening adds to a step."""
    for _ in range(3):
        recorded(step)
    rows = []
    for first in rng.random(pairs) < 0.5:
        plain = spent(step) if first else 0
        heard, _ = recorded(step)
        rows.append((heard, plain or spent(step)))
    heard, plain = np.array(rows).T
    middle, low, high = interval(heard / plain, rng)
    collector = Collector()
    collector.start()
    step()
    collector.stop()
    count = len(collector.heard) + collector.calls
    print(f"step: {np.median(plain) / 1e6:.2f} ms, {collector.calls} kernels, {count} events")
    print(f"  listening adds {middle:+.2f} % ({low:+.2f} to {high:+.2f}), {pairs} pairs")


def price_of_a_call() -> None:
    """Print what a recorded run costs, and each call of a kernel in it."""
    x = gn.ones(16, 16)
    gn.evaluate(x)

    def extra(count: int) -> float:
        """What is added to a run of so many small products."""

        def chain(x):
            y = x
            for _ in range(count):
                y = y @ x
            return y

        program = gn.compile(chain)
        for _ in range(20):
            recorded(lambda: program(x))
        rows = [(recorded(lambda: program(x))[0], spent(lambda: program(x))) for _ in range(600)]
        return float(np.median([heard - plain for heard, plain in rows]))

    few, many = extra(10), extra(410)
    call = (many - few) / 400
    print(f"  {call:.0f} ns per recorded call, {(few - 10 * call) / 1e3:.1f} us per run")


def compare_captures(layers: int, pairs: int, rng: np.random.Generator) -> None:
    """Print what lines add to capture and passes."""

    def compiled(lines: AbstractContextManager) -> int:
        memo.clear()
        gc.collect()
        with lines:
            return spent(step_of(layers, 64))

    rows = []
    for first in rng.random(pairs) < 0.5:
        plain = compiled(inherit(NOWHERE)) if first else 0
        named = compiled(nullcontext())
        rows.append((named, plain or compiled(inherit(NOWHERE))))
    named, plain = np.array(rows[1:]).T
    middle, low, high = interval(named / plain, rng)
    print(f"compile: {np.median(plain) / 1e6:.0f} ms of passes")
    print(f"  lines add {middle:+.2f} % ({low:+.2f} to {high:+.2f}), {pairs - 1} pairs")
    count, nanoseconds = price_of_lines(layers)
    part = 100 * count * nanoseconds / np.median(plain)
    print(f"  {count} lines looked up, {nanoseconds:.0f} ns each: {part:.2f} %")


def price_of_lines(layers: int) -> tuple[int, float]:
    """How many lines a compilation looks up, and what one look costs from ten calls deep."""
    counted: list[int] = []

    def counting() -> tuple[Site, ...]:
        counted.append(1)
        return (provenance.user_site(),)

    before = [(module, module.sites_here) for module in (tensor, operators, provenance)]
    for module, _ in before:
        module.sites_here = counting
    try:
        step_of(layers, 64)()
    finally:
        for module, kept in before:
            module.sites_here = kept

    def deep(level: int) -> int:
        if level:
            return deep(level - 1)
        start = thread_time_ns()
        for _ in range(100_000):
            provenance.sites_here()
        return thread_time_ns() - start

    return len(counted), deep(10) / 100_000


def main() -> None:
    """Print the figures."""
    pairs, rng = int((sys.argv[1:] or ["200"])[0]), np.random.default_rng(0)
    threads.set_num_threads(1)
    compare_steps(step_of(4, 128), pairs, rng)
    price_of_a_call()
    compare_captures(2, max(pairs // 10, 4), rng)


if __name__ == "__main__":
    main()
