"""Loops of a card: the CPU's bits by any number of threads, in any order; what they touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import gnomon as gn
from gnomon.compiler import target
from gnomon.nn import functional as F
from tests.cuda.cards import agrees, fake_card
from tests.cuda.fake_driver import FakeDriver
from tests.cuda.warps import Traffic

R = np.random.default_rng(3)


def numbers(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


LOOPS: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    "nothing": (lambda x: gn.exp(x) * 2 + 1, (numbers(0),)),
    "one": (lambda x: gn.exp(x) * 2 + 1, (numbers(1),)),
    "flat": (lambda x: gn.exp(x) * 2 + 1, (numbers(4999),)),
    "silu": (lambda x, y: F.silu(x) * y, (numbers(16, 512), numbers(16, 512))),
    "bias": (lambda x, b: F.gelu(x + b), (numbers(7, 300), numbers(300))),
    "long bias": (lambda x, b: (x + b[:, None]).half(), (numbers(2, 4200), numbers(2))),
    "bf16": (lambda x, y: x.bfloat16() * y.bfloat16(), (numbers(3, 129), numbers(3, 129))),
    "doubles": (lambda x: x.double().softmax(-1), (numbers(3, 1030),)),
    "softmax": (lambda x: F.softmax(x, -1), (numbers(5, 4096),)),
    "short softmax": (lambda x: F.softmax(x, -1), (numbers(5, 129),)),
    "odd softmax": (lambda x: F.softmax(x, -1), (numbers(5, 1101),)),
    "uneven softmax": (lambda x: F.softmax(x, -1), (numbers(5, 2056),)),
    "layer_norm": (lambda x, w: F.layer_norm(x, (1536,), w, w), (numbers(5, 1536), numbers(1536))),
    "rms_norm": (lambda x, w: F.rms_norm(x, (2048,), w), (numbers(5, 2048), numbers(2048))),
    "cross_entropy": (
        lambda x, t: F.cross_entropy(x, t),
        (numbers(9, 2048), R.integers(0, 2048, 9)),
    ),
    "spreads": (lambda x: (x.var(-1), x.amax(-1), x.argmax(-1)), (numbers(4, 2048),)),
    "counts": (lambda x: (x > 0).sum(-1), (numbers(3, 1100),)),
    "columns": (lambda x: x.sum(0), (numbers(1024, 64),)),
    "odd columns": (lambda x: x.sum(0), (numbers(1024, 70),)),
    "columns and more": (lambda x: (x * x).mean(0) + x[0], (numbers(1024, 17),)),
    "spread of columns": (lambda x: x.std(0), (numbers(1024, 19),)),
    "columns in place": (
        lambda x, b: b.cumsum(0) + x.sum(0) * 3,
        (numbers(1024, 40), numbers(40)),
    ),
    "short columns": (lambda x: (x.sum(0), x.amax(0)), (numbers(100, 65),)),
    "everything": (lambda x: x.sum(), (numbers(32, 70),)),
}
"""Programs of loops alone, with rows and columns that are short, long, even and odd."""
SHAPES = [(1, 16), (8, 16), (97, 16), (3, 128)]
"""Blocks and threads: 1, 8 and 97 vectors of threads, or as many teams; and blocks of several."""


there = pytest.fixture(fake_card, name="there")


@pytest.mark.parametrize("shape", SHAPES)
def test_everything_has_the_bits_of_the_cpu_by_any_number_of_threads(there, shape):
    there.shape = shape
    for name, (f, given) in LOOPS.items():
        assert agrees(f, given), name


def in_an_order(name: str, there: FakeDriver, order: int) -> bool:
    """Whether a program has the CPU's bits where threads run in an order drawn by a seed."""
    f, given = LOOPS[name]
    there.shape, there.order = (3, 128), np.random.default_rng(order)
    return agrees(f, given)


@pytest.mark.parametrize("name", LOOPS)
def test_no_order_of_threads_changes_a_bit(there, name):
    assert in_an_order(name, there, 0)


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_an_order_shows_where_nobody_waits(there, name):
    assert in_an_order(name, there, 0)
    waits = [b for kernel in there.kernels.values() for b in kernel.blocks if b.meets == ""]
    try:
        for block in waits:
            block.meets = None
        assert not all(in_an_order(name, there, order) for order in range(4))
    finally:
        for block in waits:
            block.meets = ""


def touched(name: str, there: FakeDriver) -> Traffic:
    """What a program's kernels touch, by a few blocks."""
    f, given = LOOPS[name]
    tensors = [gn.tensor(x, device="cuda") for x in given]
    gn.evaluate(tensors)
    there.shape, there.traffic = (4, 128), Traffic()
    gn.evaluate(gn.compile(f)(*tensors))
    return there.traffic


LEAST = {
    "silu": (0.97, 1.0),
    "softmax": (0.97, 1.0),
    "layer_norm": (0.97, 1.0),
    "rms_norm": (0.97, 1.0),
    "columns": (0.97, 0.9),
    "odd columns": (0.7, 0.9),
    "flat": (0.89, 0.99),
    "cross_entropy": (0.95, 0.9),
}
"""Of the bytes of all sectors that warps read and write, how much they ask for, at least."""


@pytest.mark.parametrize("name", LEAST)
def test_neighbours_read_and_write_neighbours(there, name):
    made = touched(name, there)

    assert made.share("read") >= LEAST[name][0]
    assert made.share("written") >= LEAST[name][1]


@pytest.mark.parametrize("name", ["silu", "softmax", "layer_norm", "short columns"])
def test_stretches_would_touch_four_times_as_many_sectors(there, name, monkeypatch):
    made = touched(name, there)
    monkeypatch.setattr(target, "CARD", replace(target.CARD, shares=()))

    stretches = touched(name, there)

    assert stretches.share("read") < 0.14
    assert sum(stretches.sectors.values()) > 4 * sum(made.sectors.values())
