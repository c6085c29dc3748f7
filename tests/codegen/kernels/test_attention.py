"""Attention forward: right within rounding, and its promised order to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.attention_oracle import forward
from tests.codegen.kernels.exact import same_bits
from tests.codegen.kernels.heads import Sizes, arrays, masked, run_forward, spec_of

CASES = [
    (Sizes(1, 1, 1, 5, 5, 4, 4), False),
    (Sizes(2, 4, 2, 70, 70, 16, 16), True),
    (Sizes(1, 2, 1, 1, 200, 8, 24), True),
    (Sizes(1, 1, 1, 90, 150, 20, 33), True),
    (Sizes(1, 1, 1, 90, 150, 20, 33), False),
    (Sizes(1, 1, 1, 150, 60, 16, 17), True),
]


def plain(x: dict[str, np.ndarray], spec) -> np.ndarray:
    """Attention by its definition, in float64."""
    q, k, v = (x[name].astype(np.float64) for name in ("q", "k", "v"))
    k, v = np.repeat(k, spec.group, 1), np.repeat(v, spec.group, 1)
    scores = q @ k.swapaxes(-1, -2) * spec.scale
    if spec.causal:
        seen = np.tri(spec.queries, spec.keys, spec.keys - spec.queries, dtype=bool)
        scores = np.where(seen, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


@pytest.mark.parametrize(("sizes", "causal"), CASES, ids=str)
def test_attention_is_right_within_rounding(rng, sizes, causal):
    spec, x = spec_of(sizes, causal), arrays(rng, sizes)

    out, _ = run_forward(spec, x)

    assert np.abs(out - plain(x, spec)).max() < 2e-6


@pytest.mark.parametrize(("sizes", "causal"), CASES[1:5], ids=str)
@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
def test_every_machine_gives_the_bits_of_the_promised_order(rng, sizes, causal, machine):
    spec, x = spec_of(sizes, causal), arrays(rng, sizes)

    out, lse = run_forward(spec, x, machine)

    head, last = sizes.h - 1, sizes.b - 1
    key = head // spec.group
    expected = forward(spec, x["q"][last, head], x["k"][last, key], x["v"][last, key])
    assert same_bits(out[last, head], expected[0])
    assert same_bits(lse[last, head], expected[1])


def test_doubles_are_right_too(rng):
    sizes = Sizes(1, 2, 2, 70, 70, 8, 8)
    spec, x = spec_of(sizes, True, scalar="double"), arrays(rng, sizes, "double")

    out, _ = run_forward(spec, x)

    assert np.abs(out - plain(x, spec)).max() < 1e-14


@pytest.mark.parametrize("threads", [2, 3, 11])
def test_the_number_of_threads_changes_nothing(rng, threads):
    sizes = Sizes(2, 4, 2, 130, 130, 16, 16)
    spec, x = spec_of(sizes, True), arrays(rng, sizes)

    alone, shared = run_forward(spec, x), run_forward(spec, x, threads=threads)

    assert same_bits(alone[0], shared[0])
    assert same_bits(alone[1], shared[1])


def test_operands_may_lie_as_a_projection_left_them(rng):
    # one buffer (batch, tokens, [q heads | k heads | v heads], width) holds all three
    sizes = Sizes(2, 4, 2, 50, 50, 16, 16)
    spec, x = spec_of(sizes, True), arrays(rng, sizes)
    joined = np.concatenate([x[name].transpose(0, 2, 1, 3) for name in ("q", "k", "v")], 2).copy()
    row = 8 * 16
    strides = {"batch": 50 * row, "head": 16, "row": row, "column": 1}
    views = {
        "q": replace(spec.q, start=0, **strides),
        "k": replace(spec.k, start=4 * 16, **strides),
        "v": replace(spec.v, start=6 * 16, **strides),
        "out": replace(spec.out, batch=50 * 64, head=16, row=64, column=1),
    }
    spread = dict(x, q=joined, k=joined, v=joined, dout=np.zeros((2, 50, 4, 16), np.float32))

    out = run_forward(replace(spec, **views), spread)[0]

    assert same_bits(out.transpose(0, 2, 1, 3).copy(), run_forward(spec, x)[0])


MASKS = [
    (Sizes(2, 4, 2, 70, 150, 16, 20), (2, 1, 1, 150), False),
    (Sizes(1, 2, 1, 90, 90, 16, 16), (90, 90), True),
    (Sizes(1, 2, 2, 40, 33, 8, 8), (1, 2, 40, 33), False),
    (Sizes(1, 2, 2, 40, 33, 8, 8), (1, 2, 40, 1), False),
]


@pytest.mark.parametrize(("sizes", "shape", "causal"), MASKS, ids=str)
@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=lambda machine: machine.name)
def test_a_mask_is_added_to_the_scores(rng, sizes, shape, causal, machine):
    shape = (1,) * (4 - len(shape)) + shape
    spec, x = masked(spec_of(sizes, causal), arrays(rng, sizes), rng, shape)

    out, lse = run_forward(spec, x, machine)

    every = np.broadcast_to(x["mask"], (sizes.b, sizes.h, sizes.t, sizes.s))
    for b, h in np.ndindex(sizes.b, sizes.h):
        key = h // spec.group
        expected = forward(spec, x["q"][b, h], x["k"][b, key], x["v"][b, key], every[b, h])
        assert same_bits(out[b, h], expected[0])
        assert same_bits(lse[b, h], expected[1])
    assert np.isfinite(out).all()


def test_a_query_that_sees_nothing_gives_zero(rng):
    sizes = Sizes(1, 1, 1, 7, 3, 4, 4)
    spec, x = spec_of(sizes, True), arrays(rng, sizes)

    out, lse = run_forward(spec, x)

    assert not out[0, 0, :4].any()
    assert np.all(lse[0, 0, :4] == -np.inf)
    assert np.isfinite(lse[0, 0, 4:]).all()


def test_nan_reaches_the_queries_that_see_it(rng):
    sizes = Sizes(1, 1, 1, 20, 20, 4, 4)
    spec, x = spec_of(sizes, True), arrays(rng, sizes)
    x["k"][0, 0, 10] = np.nan

    out, _ = run_forward(spec, x)

    assert np.isfinite(out[0, 0, :10]).all()
    assert np.isnan(out[0, 0, 10:]).all()


def test_cutting_batches_and_heads_apart_changes_nothing(rng):
    sizes = Sizes(2, 4, 2, 70, 70, 8, 8)
    x = arrays(rng, sizes)
    part = {
        name: value[1:, 2:] if name in ("q", "dout") else value[1:, 1:] for name, value in x.items()
    }
    part = {name: value.copy() for name, value in part.items()}

    whole = run_forward(spec_of(sizes, True), x)[0]
    alone = run_forward(spec_of(Sizes(1, 2, 1, 70, 70, 8, 8), True), part)[0]

    assert same_bits(whole[1:, 2:].copy(), alone)
