"""Columns of tiles: which rows are taken, and what sums begin with."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.kernels.attention_parts import SEEN_TOGETHER, score_tile
from gnomon.codegen.kernels.attention_tiles import CHAINS, WAYS, emit_columns
from gnomon.codegen.machine import AVX2, AVX512, NEON, Machine
from tests.codegen.kernels.exact import fma, same_bits
from tests.codegen.kernels.jit import Kernel, assembly
from tests.codegen.kernels.test_microkernel import CPUS, FUSED, hottest_loop


@cache
def compiled(machine: Machine, way: str, pitch: int = 0) -> Kernel:
    """A call of the tiles whose numbers are read when it runs: rows, bytes of a line, steps."""
    tile, module = score_tile(machine, "float"), LLVMModule()
    emit_columns(module, "some", tile, (way,), pitch)
    e = module.function("main", KERNEL)
    *places, numbers = (e.load(e.offset("%buffers", 8 * slot), "ptr", 8) for slot in range(5))
    a, b, into, factors = places
    rows, line, steps = (e.load(e.offset(numbers, 8 * k), "i64", 8) for k in range(3))
    e.call(
        "void", f"some.{way}", ("ptr", a), ("ptr", b), ("i64", rows),
        ("i64", line), ("i64", steps), ("ptr", into), ("ptr", factors),
    )  # fmt: skip
    e.ret()
    return Kernel(module.text(), "main", 64)


def laid_out(a: np.ndarray, way: str, columns: int) -> tuple[np.ndarray, int]:
    """A, which is (steps, rows), as a way reads it, and how many values its lines have."""
    steps, rows = a.shape
    if way == "score":
        return a.T.copy(), steps
    if way != "along":
        return a, rows
    padded = np.zeros((-(-steps // columns) * columns, rows), np.float32)
    padded[:steps] = a
    return padded.reshape(-1, columns, rows).swapaxes(1, 2).copy(), rows * columns


def run(machine: Machine, way: str, rows: int, x: dict[str, np.ndarray]) -> np.ndarray:
    """The sums after a call; `a` is (steps, rows of whole tiles), `b` (steps, columns)."""
    (a, line), sums = laid_out(x["a"], way, score_tile(machine, "float").columns), x["sums"].copy()
    numbers = np.array([rows, 4 * line, len(x["b"])])
    compiled(machine, way, sums.shape[1])([a, x["b"], sums, x["factors"], numbers])
    return sums


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("steps", [1, 4, 7, 37])
def test_every_number_of_rows_has_the_sums_of_its_way(rng, machine, way, steps):
    tile = score_tile(machine, "float")
    for rows in range(1, 2 * tile.rows + 1):
        high, width = -(-rows // tile.rows) * tile.rows, tile.columns + (5 if way == "along" else 0)
        shapes = {"a": (steps, high), "b": (steps, tile.columns), "sums": (high, width)}
        x = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
        x["factors"] = rng.standard_normal(tile.columns, np.float32)
        old = x["sums"][:, : tile.columns]
        begun = {"grow": old * x["factors"], "extend": old, "along": old}
        total = begun.get(way, np.full_like(old, -0.0))

        sums = run(machine, way, rows, x)

        for k in range(steps):
            total = fma(x["a"][k][:, None], x["b"][k], total)
        assert same_bits(sums[:rows, : tile.columns], total[:rows])
        assert same_bits(sums[:, tile.columns :], x["sums"][:, tile.columns :])


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("scalar", ["float", "double"])
def test_queries_that_meet_the_same_keys_are_taken_exactly(rng, machine, scalar):
    tile = score_tile(machine, scalar)
    few = -(-CHAINS // (tile.columns // tile.lanes))

    counts = [
        (whole, lower)
        for whole in range(SEEN_TOGETHER // tile.rows + 1)
        for lower in range(SEEN_TOGETHER // few + 1)
        if whole * tile.rows + lower * few == SEEN_TOGETHER
    ]

    assert counts


@pytest.mark.parametrize(("cpu", "triple", "machine"), CPUS, ids=[cpu for cpu, _, _ in CPUS])
@pytest.mark.parametrize("way", ["score", "begin", "grow", "along"])
def test_no_sum_leaves_its_register_inside_a_chain(cpu, triple, machine, way):
    emit_columns(module := LLVMModule(), "some", score_tile(machine, "float"), (way,))
    text = module.text().replace("define internal", "define")

    loop = hottest_loop(assembly(text, cpu, triple=triple))

    assert [line for line in loop if FUSED.search(line)]
    # where x86 keeps addresses is all the same
    assert not [line for line in loop if re.search(r"\(%rsp.*%[xyz]mm|%[xyz]mm.*\(%rsp|\[sp", line)]
