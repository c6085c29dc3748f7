"""Attention of one query: the bits of the promised order, and nothing read outside."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.attention_parts import AttentionSpec
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


def drawn(number: int) -> tuple[Sizes, int]:
    """Sizes, and the position of the query among the keys."""
    draw, position = Random(number), (0, 1, 15, 16, 17, 127, 128, 512)[number % 8]
    key_heads, group = draw.choice([(1, 8), (1, 5), (2, 3), (2, 4), (8, 1), (1, 7), (3, 2), (1, 6)])
    keys = position + draw.choice([1, 2, 40, 130])
    widths = draw.choices([1, 8, 64, 80, 128], k=2)
    return Sizes(draw.choice([1, 1, 3]), key_heads * group, key_heads, 1, keys, *widths), position


def seen_until(
    spec: AttentionSpec, x: dict, shape: tuple[int, int], position: int
) -> tuple[AttentionSpec, dict[str, np.ndarray]]:
    """With a mask of so many batches and heads, which shows keys up to a position."""
    spec, x = masked(spec, x, np.random.default_rng(0), (*shape, 1, spec.keys))
    x["mask"][...] = np.where(np.arange(spec.keys) <= position, 0, -np.inf)
    return spec, x


def expected(spec: AttentionSpec, x: dict[str, np.ndarray], b: int, h: int) -> tuple:
    """out and lse of a head, by the oracle."""
    key, mask = h // spec.group, None
    if "mask" in x:
        mask = np.broadcast_to(x["mask"], (spec.batch, spec.heads, 1, spec.keys))[b, h]
    return forward(spec, x["q"][b, h], x["k"][b, key], x["v"][b, key], mask)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("mask", [False, True], ids=["plain", "masked"])
def test_one_query_has_the_promised_order(rng, sizes, machine, mask):
    spec, x = spec_of(sizes, True), arrays(rng, sizes)
    if mask:
        spec, x = masked(spec, x, rng, (1, 1, 1, sizes.s))

    made = run_forward(spec, x, machine, threads=2)

    assert is_row(spec)
    for b, h in np.ndindex(sizes.b, sizes.h):
        assert all(map(same_bits, (y[b, h] for y in made), expected(spec, x, b, h)))


@pytest.mark.parametrize("number", range(24))
def test_any_position_and_group_has_the_promised_order(rng, number):
    sizes, position = drawn(number)
    machine, threads = (AVX2, AVX512, NEON)[number % 3], (1, 2, 5, 20)[number // 3 % 4]
    # one mask for all, for each batch, for each head: some of those see nothing
    shape = [(1, 1), (sizes.b, 1), (sizes.b, sizes.h)][number // 8]
    spec, x = seen_until(spec_of(sizes, False), arrays(rng, sizes), shape, position)
    if number >= 16:
        x["mask"][rng.random(x["mask"].shape) < 0.4] = -np.inf
        x["mask"][-1, -1] = -np.inf

    made = run_forward(spec, x, machine, threads)

    for b, h in [(0, 0), (sizes.b - 1, sizes.h - 1), (0, sizes.h // 2)]:
        assert all(map(same_bits, (y[b, h] for y in made), expected(spec, x, b, h)))
    assert all(map(same_bits, made, run_forward(spec, x, AVX2, 1)))


def test_one_query_has_the_bits_of_one_of_many(rng):
    many = Sizes(2, 6, 2, 3, 200, 19, 36)
    spec, x = masked(spec_of(many, False), arrays(rng, many), rng, (1, 1, 3, many.s))
    outs, lses = run_forward(spec, x)

    for place in range(3):
        one = replace(many, t=1)
        own = {name: x[name][:, :, [place]] for name in ("q", "dout", "mask")}
        own = x | {name: np.ascontiguousarray(value) for name, value in own.items()}
        spec, _ = masked(spec_of(one, False), own, rng, (1, 1, 1, many.s))
        out, lse = run_forward(spec, own)

        assert is_row(spec)
        assert same_bits(out[:, :, 0], outs[:, :, place])
        assert same_bits(lse[:, :, 0], lses[:, :, place])


def test_no_batch_is_no_work(rng):
    sizes = Sizes(0, 4, 2, 1, 20, 8, 8)

    out, _ = run_forward(spec_of(sizes, True), arrays(rng, sizes), threads=2)

    assert out.shape == (0, 4, 1, 8)


@pytest.mark.parametrize("width", [0, 12, 80])
def test_weights_are_added_whatever_the_width_of_values(rng, width):
    sizes = Sizes(1, 4, 1, 1, 70, 8, width)
    spec, x = spec_of(sizes, True), arrays(rng, sizes)

    _, lse = run_forward(spec, x)

    assert all(same_bits(lse[0, h], expected(spec, x, 0, h)[1]) for h in range(4))


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


def test_keys_behind_the_last_that_is_seen_are_not_read(rng):
    sizes = Sizes(1, 4, 2, 1, 300, 8, 16)
    spec, x = seen_until(spec_of(sizes, True), arrays(rng, sizes), (1, 1), 133)
    made = run_forward(spec, x)
    for name in "kv":
        x[name][:, :, 134:] = np.nan

    assert all(map(same_bits, run_forward(spec, x), made))


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
