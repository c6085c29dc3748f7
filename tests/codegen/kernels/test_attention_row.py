"""Attention of one query: the bits of the promised order, and nothing read outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.attention_row import emit_row, is_row
from gnomon.codegen.machine import AVX2, AVX512, NEON
from gnomon.dtypes import bfloat16
from tests.codegen.kernels.attention_oracle import forward
from tests.codegen.kernels.exact import same_bits
from tests.codegen.kernels.heads import Sizes, arrays, masked, run_forward, spec_of
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import guarded

SIZES = [
    Sizes(1, 1, 1, 1, 1, 4, 4),
    Sizes(1, 2, 1, 1, 31, 8, 64),
    Sizes(2, 4, 2, 1, 129, 19, 33),
    Sizes(1, 2, 2, 1, 290, 64, 80),
    Sizes(1, 1, 1, 1, 128, 16, 16),
]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("mask", [False, True], ids=["plain", "masked"])
def test_one_query_has_the_promised_order(rng, sizes, machine, mask):
    spec, x, every = spec_of(sizes, True), arrays(rng, sizes), None
    if mask:
        spec, x = masked(spec, x, rng, (1, 1, 1, sizes.s))
        every = np.broadcast_to(x["mask"], (sizes.b, sizes.h, 1, sizes.s))

    out, lse = run_forward(spec, x, machine, threads=2)

    assert is_row(spec)
    for b, h in np.ndindex(sizes.b, sizes.h):
        key = h // spec.group
        given = x["q"][b, h], x["k"][b, key], x["v"][b, key]
        expected = forward(spec, *given, None if every is None else every[b, h])
        assert same_bits(out[b, h], expected[0])
        assert same_bits(lse[b, h], expected[1])


def test_nothing_outside_keys_and_values_is_read(rng):
    sizes = Sizes(1, 1, 1, 1, 37, 11, 13)
    spec, x = spec_of(sizes, True), arrays(rng, sizes)
    module, out, lse = LLVMModule(), np.empty((1, 1, 1, 13), np.float32), np.empty((1, 1, 1), "f4")
    scratch = emit_row(module, "row", spec, AVX2)

    Kernel(module.text(), "row", scratch)([out, lse, *(guarded(x[name]) for name in "qkv")])

    assert same_bits(out[0, 0], forward(spec, *(x[name][0, 0] for name in "qkv"))[0])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_narrow_keys_and_values_give_the_bits_of_wide_ones(rng, sizes):
    spec, x = masked(spec_of(sizes, True), arrays(rng, sizes), rng, (1, 1, 1, sizes.s))
    narrow = {name: x[name].astype(bfloat16.numpy) for name in "kv"}
    wide = {name: x[name].astype(np.float32) for name, x in zip("kv", [narrow] * 2, strict=True)}
    both = {name: replace(getattr(spec, name), narrow="bfloat") for name in "kv"}

    found = run_forward(replace(spec, **both), x | {n: guarded(v) for n, v in narrow.items()})

    assert all(map(same_bits, found, run_forward(spec, x | wide)))


def test_a_block_that_is_hidden_is_not_read(rng):
    sizes = Sizes(1, 2, 1, 1, 300, 8, 16)
    spec, x = masked(spec_of(sizes, True), arrays(rng, sizes), rng, (1, 1, 1, sizes.s))
    x["mask"][..., 128:256] = -np.inf
    expected = run_forward(spec, x)
    for name in "kv":
        x[name][:, :, 128:256] = np.nan

    assert all(map(same_bits, run_forward(spec, x), expected))


def test_doubles_have_the_promised_order(rng):
    sizes = Sizes(1, 1, 1, 1, 150, 20, 18)
    spec, x = spec_of(sizes, True, scalar="double"), arrays(rng, sizes, "double")

    out, _ = run_forward(spec, x)

    assert same_bits(out[0, 0], forward(spec, *(x[name][0, 0] for name in "qkv"))[0])


def test_values_that_are_no_neighbours_are_left_to_the_other_kernel(rng):
    spec = spec_of(SIZES[0], True)

    assert not is_row(replace(spec, v=replace(spec.v, column=2)))
    assert not is_row(spec_of(Sizes(t=2, s=2), True))
