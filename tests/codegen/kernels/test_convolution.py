"""Products over windows, read where they lie: the canonical order to the bit, on any machine."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.convolution import emit_convolution, is_convolution, overlaps, powers
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.machine import AVX2, AVX512, NEON, Machine
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import guarded

SHAPES = [(1, 1, 9, 7, 3, 1), (2, 3, 8, 19, 3, 1), (3, 5, 11, 16, 2, 2), (2, 70, 6, 33, 3, 1)]
"""(samples, channels, side, outputs, kernel, stride)"""


def spec_of(n: int, c: int, side: int, o: int, k: int, s: int, leaves: int = 1) -> MatmulSpec:
    """A convolution over squares, channels first."""
    places, inner = (side - k) // s + 1, c * k * k
    rows = (
        Axis(n, c * side * side, 0, o * places * places),
        Axis(places, s * side, 0, places),
        Axis(places, s, 0, 1),
    )
    steps = (
        Axis(c, side * side, k * k, leaves=leaves),
        Axis(k, side, k, leaves=0),
        Axis(k, 1, 1, leaves=0),
    )
    return MatmulSpec("float", (), rows, (Axis(o, 0, inner, places * places),), steps)


def windows(x: np.ndarray, k: int, s: int) -> np.ndarray:
    """Every window laid flat, a row each."""
    seen = np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))[:, :, ::s, ::s]
    return np.ascontiguousarray(seen.transpose(0, 2, 3, 1, 4, 5)).reshape(-1, x.shape[1] * k * k)


def convolve(
    spec: MatmulSpec, x: np.ndarray, w: np.ndarray, machine: Machine = AVX2, threads: int = 1
) -> np.ndarray:
    """The result, (samples, outputs, places); what is not stored stays NaN."""
    module = LLVMModule()
    scratch = emit_convolution(module, "convolution", spec, machine)
    y = np.full((spec.rows[0].size, w.shape[0], spec.rows[1].size ** 2), np.nan, np.float32)
    Kernel(module.text(), "convolution", scratch)([y, guarded(x), guarded(w)], threads)
    return y


def operands(rng, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An image, a kernel, and what the canonical order gives."""
    n, c, side, o, k, s = shape
    x = rng.standard_normal((n, c, side, side)).astype(np.float32)
    w = rng.standard_normal((o, c * k * k)).astype(np.float32)
    leaves = 2 if c % 2 == 0 else 1
    y = product(windows(x, k, s), w, [(c * k * k, leaves)])
    return x, w, y.reshape(n, -1, o).transpose(0, 2, 1)


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_machine_sums_a_window_in_one_chain_per_leaf(rng, shape, machine):
    x, w, expected = operands(rng, shape)
    spec = spec_of(*shape, leaves=2 if shape[1] % 2 == 0 else 1)

    assert same_bits(convolve(spec, x, w, machine), expected)


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_threads_and_small_caches_change_nothing(rng, shape, threads):
    x, w, expected = operands(rng, shape)
    spec = spec_of(*shape, leaves=2 if shape[1] % 2 == 0 else 1)
    small = Machine("small", 256, 16, 32 << 10, 16 << 10, 64 << 10)

    assert same_bits(convolve(spec, x, w, small, threads), expected)


def test_results_with_columns_side_by_side_are_stored_by_rows(rng):
    shape = (2, 3, 8, 19, 3, 1)
    x, w, expected = operands(rng, shape)
    spec = spec_of(*shape)
    turned = [
        Axis(r.size, r.a, 0, c) for r, c in zip(spec.rows, (36 * 19, 6 * 19, 19), strict=True)
    ]
    spec = MatmulSpec("float", (), tuple(turned), (Axis(19, 0, 27, 1),), spec.steps)
    module = LLVMModule()
    scratch = emit_convolution(module, "convolution", spec, AVX2)
    y = np.full((2, 36, 19), np.nan, np.float32)

    Kernel(module.text(), "convolution", scratch)([y, x, w], 1)

    assert same_bits(y.transpose(0, 2, 1), expected)


def test_windows_overlap_and_matrices_do_not():
    spec = spec_of(2, 3, 8, 19, 3, 1)

    assert overlaps(spec.rows, spec.steps, "a")
    assert not overlaps(spec.columns, spec.steps, "b")
    assert is_convolution(spec)
    assert not is_convolution(spec_of(2, 3, 8, 3, 3, 1)), "three columns do not fill a vector"
    assert not is_convolution(spec_of(2, 3, 8, 19, 1, 1)), "windows of one element do not overlap"


def test_runs_of_powers_of_two_cover_a_count():
    assert powers(7) == [(0, 4), (4, 2), (6, 1)]
    assert powers(8) == [(0, 8)]
