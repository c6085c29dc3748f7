"""Columns of tiles: which rows are taken, and what sums begin with."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from gnomon.codegen.emitter import KERNEL, Module
from gnomon.codegen.kernels.attention_parts import choose_tile
from gnomon.codegen.kernels.attention_tiles import emit_columns
from gnomon.codegen.machine import AVX2, AVX512, NEON, Machine
from tests.codegen.kernels.exact import fma, same_bits
from tests.codegen.kernels.jit import Kernel, assembly
from tests.codegen.kernels.test_microkernel import CPUS, FUSED, hottest_loop


@cache
def compiled(machine: Machine, way: str) -> Kernel:
    """A call of the tiles whose numbers are read when it runs: rows, bytes of a panel, steps."""
    tile, module = choose_tile(machine, "float"), Module()
    emit_columns(module, "some", tile, (way,))
    e = module.function("main", KERNEL)
    *places, numbers = (e.load(e.offset("%buffers", 8 * slot), "ptr", 8) for slot in range(5))
    a, b, into, factors = places
    rows, panel, steps = (e.load(e.offset(numbers, 8 * k), "i64", 8) for k in range(3))
    e.call(
        "void", f"some.{way}", ("ptr", a), ("ptr", b), ("i64", rows),
        ("i64", panel), ("i64", steps), ("ptr", into), ("ptr", factors),
    )  # fmt: skip
    e.ret()
    return Kernel(module.text(), "main", 64)


def run(machine: Machine, way: str, rows: int, x: dict[str, np.ndarray]) -> np.ndarray:
    """The tiles after a call; `a` is (steps, rows of whole panels), `b` (steps, columns)."""
    tile, steps = choose_tile(machine, "float"), len(x["b"])
    panels = x["a"].reshape(steps, -1, tile.rows).swapaxes(0, 1).copy()
    sums, numbers = x["sums"].copy(), np.array([rows, steps * tile.rows * 4, steps])
    compiled(machine, way)([panels, x["b"], sums, x["factors"], numbers])
    return sums


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("way", ["begin", "extend", "grow"])
@pytest.mark.parametrize("steps", [1, 4, 7])
def test_every_number_of_rows_has_the_sums_of_its_way(rng, machine, way, steps):
    tile = choose_tile(machine, "float")
    for rows in range(1, 2 * tile.rows + 1):
        high = -(-rows // tile.rows) * tile.rows
        shapes = {"a": (steps, high), "b": (steps, tile.columns), "sums": (high, tile.columns)}
        x = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
        x["factors"] = rng.standard_normal(tile.columns, np.float32)
        begun = {"begin": np.full_like(x["sums"], -0.0), "extend": x["sums"]}
        total = begun.get(way, x["sums"] * x["factors"])

        sums = run(machine, way, rows, x)

        for k in range(steps):
            total = fma(x["a"][k][:, None], x["b"][k], total)
        assert same_bits(sums[:rows], total[:rows])


@pytest.mark.parametrize(("cpu", "triple", "machine"), CPUS, ids=[cpu for cpu, _, _ in CPUS])
@pytest.mark.parametrize("way", ["begin", "grow"])
def test_no_sum_leaves_its_register_inside_a_chain(cpu, triple, machine, way):
    emit_columns(module := Module(), "some", choose_tile(machine, "float"), (way,))
    text = module.text().replace("define internal", "define")

    loop = hottest_loop(assembly(text, cpu, triple=triple))

    assert [line for line in loop if FUSED.search(line)]
    assert not [line for line in loop if re.search(r"\(%r[sb]p|\[sp", line)]
