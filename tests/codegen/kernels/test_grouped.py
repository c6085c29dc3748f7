"""Products of groups: their own bits, whatever the sizes of groups and the number of threads."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.group_bounds import GroupedSpec
from gnomon.codegen.kernels.grouped import emit_grouped
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.machine import AVX2, AVX512, NEON, Machine
from gnomon.ops.grouped import runs_of
from tests.codegen.kernels.exact import same_bits
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import guarded
from tests.oracle.folds import sum_of_products, tree

ENDS = {
    "several": [5, 12, 37, 40],
    "some empty": [0, 20, 20, 41],
    "one huge": [0, 0, 47, 47],
    "all empty": [0, 0, 0, 0],
    "not in order": [30, 10, 90, 20],
}
HERE = [AVX2, *(replace(machine, instructions=("mxcsr",)) for machine in (AVX512, NEON))]


def chain(a: np.ndarray, b: np.ndarray, leaves: int, paired: bool) -> np.ndarray:
    """A product (m, k) by (k, n) in canonical order, in float32."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    if not a.shape[1]:
        return np.full((len(a), b.shape[1]), -0.0, np.float32)
    return sum_of_products(a.T[:, :, None], b[:, None, :], (leaves,), paired)


def rows_spec(t: int, k: int, n: int, groups: int, scalar: str, leaves: int = 1) -> GroupedSpec:
    """Rows (t, k) by matrices (groups, k, n)."""
    product = MatmulSpec(
        scalar,
        batch=(Axis(groups, b=k * n),),
        rows=(Axis(t, a=k, c=n),),
        columns=(Axis(n, b=1, c=1),),
        steps=(Axis(k, a=1, b=n, leaves=leaves),),
    )
    return GroupedSpec(product, "rows", 1, 3)


def steps_spec(m: int, t: int, n: int, groups: int, runs: int, scalar: str) -> GroupedSpec:
    """A matrix (m, t) by one (t, n)."""
    product = MatmulSpec(
        scalar,
        batch=(Axis(groups, c=m * n),),
        rows=(Axis(m, a=t, c=n),),
        columns=(Axis(n, b=1, c=1),),
        steps=(Axis(t, a=1, b=n),),
    )
    return GroupedSpec(product, "steps", runs, 3)


def run(spec: GroupedSpec, arrays: list[np.ndarray], machine: Machine = AVX2, threads: int = 1):
    """Run a kernel; the first array is the result."""
    module = LLVMModule()
    scratch = emit_grouped(module, "grouped", spec, machine)
    Kernel(module.text(), "grouped", scratch)(arrays, threads)
    return arrays[0]


def values(rng: np.random.Generator, scalar: str, *shape: int) -> np.ndarray:
    """Random factors, before a page without access."""
    kind = ml_dtypes.bfloat16 if scalar == "bfloat" else np.float32
    return guarded(rng.normal(size=shape).astype(kind))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("scalar", ["float", "bfloat"])
def test_each_row_meets_the_matrix_of_its_group(rng, scalar, name, threads):
    t, k, n = 47, 20, 37
    ends = np.minimum(np.maximum.accumulate(ENDS[name]), t)
    x, mats = values(rng, scalar, t, k), values(rng, scalar, 4, k, n)
    y = guarded(np.full((t, n), np.nan, np.float32))

    run(rows_spec(t, k, n, 4, scalar), [y, x, mats, np.array(ENDS[name])], threads=threads)

    expected = np.zeros((t, n), np.float32)
    for group, (low, high) in enumerate(runs_of(ends)):
        if high > low:
            expected[low:high] = chain(x[low:high], mats[group], 1, scalar == "bfloat")
    assert same_bits(y, expected)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", [name for name in ENDS if name != "not in order"])
@pytest.mark.parametrize("runs", [1, 2, 4])
@pytest.mark.parametrize("scalar", ["float", "bfloat"])
def test_each_group_sums_its_runs_by_a_tree(rng, scalar, runs, name, threads):
    m, t, n, groups = 13, 47, 21, 4 // runs
    ends = np.array(ENDS[name])
    x, y = values(rng, scalar, m, t), values(rng, scalar, t, n)
    z = guarded(np.full((groups, m, n), np.nan, np.float32))

    run(steps_spec(m, t, n, groups, runs, scalar), [z, x, y, ends], threads=threads)

    parts = [
        chain(x[:, low:high], y[low:high], 1, scalar == "bfloat") for low, high in runs_of(ends)
    ]
    sums = [tree("add", parts[runs * k : runs * (k + 1)]) for k in range(groups)]
    assert same_bits(z, np.stack(sums) + np.float32(0))


@pytest.mark.parametrize("machine", HERE, ids=lambda machine: machine.name)
def test_long_runs_are_cut_in_time_only(rng, machine):
    m, t, n = 7, 1700, 18
    ends = np.array([3, 1203, 1204, 1700])
    x, y = values(rng, "float", m, t), values(rng, "float", t, n)
    z = np.full((2, m, n), np.nan, np.float32)

    run(steps_spec(m, t, n, 2, 2, "float"), [z, x, y, ends], machine)

    parts = [chain(x[:, low:high], y[low:high], 1, False) for low, high in runs_of(ends)]
    assert same_bits(z, np.stack([parts[0] + parts[1], parts[2] + parts[3]]) + np.float32(0))


@pytest.mark.parametrize("machine", HERE, ids=lambda machine: machine.name)
def test_many_steps_of_rows_keep_the_canonical_order(rng, machine):
    t, k, n = 50, 1280, 33
    ends = np.array([20, 43])
    x, mats = values(rng, "float", t, k), values(rng, "float", 2, k, n)
    y = np.full((t, n), np.nan, np.float32)

    run(rows_spec(t, k, n, 2, "float", 8), [y, x, mats, ends], machine)

    parts = [chain(x[:20], mats[0], 8, False), chain(x[20:43], mats[1], 8, False)]
    assert same_bits(y, np.concatenate([*parts, np.zeros((7, n), np.float32)]))


def test_nan_stays_in_its_group(rng):
    x, mats = values(rng, "float", 20, 9), values(rng, "float", 2, 9, 16)
    mats[1] = np.nan
    y = np.zeros((20, 16), np.float32)

    run(rows_spec(20, 9, 16, 2, "float"), [y, x, mats, np.array([11, 15])])

    assert np.isfinite(y[:11]).all()
    assert np.isnan(y[11:15]).all()
    assert not y[15:].any()
